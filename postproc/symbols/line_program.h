/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the line number programs of .debug_line (DWARF 5 standard, 6.2; versions 2 to 5). libdwarf
 * has a reader too, but the version in use starts the file register at 0 in DWARF 5, where the
 * standard says 1: it gives the wrong file to sequences that begin in file 1.
 */
#ifndef REUSE_POSTPROC_LINE_PROGRAM_H
#define REUSE_POSTPROC_LINE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line_row {
    uint64_t address;
    uint32_t file, line, column;
    bool end_sequence;
};

/*
 * Calls visit for each row of the program at an offset of the section, in its order. Ends early,
 * with false, at the first byte that makes no sense. Little endian.
 */
typedef void (*line_row_visitor)(void *context, const struct line_row *);
bool line_program_run(const unsigned char *section, size_t size, uint64_t offset,
                      line_row_visitor visit, void *context);

#endif
