/* SPDX-License-Identifier: BSD-3-Clause */
/* Source files as text, with everything that is not code blanked out, position by position. */
#ifndef REUSE_POSTPROC_SOURCE_TEXT_H
#define REUSE_POSTPROC_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum source_language { SOURCE_C, SOURCE_FORTRAN, SOURCE_RUST }; /* C++ as well */

struct source_text {
    char *code; /* comments, literals and preprocessor lines are blanks; newlines are kept */
    size_t size;
    size_t *lines; /* offset of line i + 1 */
    size_t line_count;
    int64_t modified;              /* seconds since the epoch */
    enum source_language language; /* by the file's name; of Fortran, code is the text as it is */
    bool fixed_form;               /* Fortran by columns, as .f files have it */
};

/* Files larger than this are generated, and not worth reading for a name. */
enum { SOURCE_BYTES_MAX = 16 << 20 };

/* By the file's name. */
enum source_language source_language_of(const char *path);

/* False if the file cannot be read. */
bool source_text_load(struct source_text *, const char *path);
void source_text_free(struct source_text *);

/* For tests: takes a copy of the text. */
void source_text_from_memory(struct source_text *, const char *text, enum source_language);

#endif
