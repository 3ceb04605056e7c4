/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of the calls of a source line an address belongs to, where a name does not tell. */
#ifndef REUSE_POSTPROC_SITE_NUMBER_H
#define REUSE_POSTPROC_SITE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/symbols.h"

/* A call among those of its line. */
struct site_number {
    size_t of_line, line_sites;           /* 0 sites: not known */
    size_t of_statement, statement_sites; /* those that have the column as well */
};

/*
 * address: link-time, inside the call instruction; frame: one of its frames. written: how many
 * such calls the text of the line has, 0 unknown. Not known where the frame is not the innermost
 * one, or the call is not direct.
 */
struct site_number site_number_find(struct symbol_module *, uint64_t address,
                                    const struct source_frame *frame, size_t written);

#endif
