/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether source lines, variables and functions of an ELF file can be named. */
#ifndef REUSE_DOCTOR_DEBUG_INFO_H
#define REUSE_DOCTOR_DEBUG_INFO_H

#include <limits.h>
#include <stdbool.h>

struct debug_info {
    bool readable;           /* an ELF file that could be read; else all below is unset */
    bool dwarf;              /* .debug_info in the file itself */
    bool symbols;            /* .symtab in the file itself */
    char build_id[41];       /* hexadecimal, empty if there is none */
    char separate[PATH_MAX]; /* file below /usr/lib/debug that holds its DWARF, or empty */
};

void debug_info_read(const char *path, struct debug_info *);

#endif
