/* SPDX-License-Identifier: BSD-3-Clause */
/* The page that text is written on: how wide it is, whether it has colours, and what fits a line.
 * Widths are columns of a terminal; a character of UTF-8 takes one. */
#ifndef REUSE_POSTPROC_TEXT_PAGE_H
#define REUSE_POSTPROC_TEXT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "document/document.h"
#include "document/render.h"

/* Sentences are filled to so many columns on every page: longer lines are hard to read. */
enum { PROSE = 80 };

struct text_page {
    struct text_style style;
    FILE *stream;
};

size_t text_width(const char *text);
/* Bytes of text that take at most `width` columns. */
size_t bytes_of_width(const char *text, size_t width);

/* What a terminal would obey becomes a question mark: names of the target can hold anything. */
void put_safely(const char *text, size_t bytes, FILE *);
void put_spaces(size_t count, FILE *);

/* At most `width` columns: the middle of a longer text becomes "...". */
void put_shortened(const char *text, size_t width, FILE *);

/* The same of a name: the module in brackets behind it loses its folder and version first, then
 * goes altogether: what the function is called tells more. */
void put_name_shortened(const char *text, size_t width, FILE *);

/* The same, cut between the functions of a path ("f < g < h") if it has some in the right places,
 * else between words, else anywhere. */
void put_words_shortened(const char *text, size_t width, FILE *);

/* Words on lines of PROSE columns, all indented. A longer word has a line of its own; if even the
 * page is too narrow for it, it is shortened. */
void put_wrapped(const struct text_page *, const char *text, size_t indent);
/* The same without the end of the last line. */
void put_filled(const struct text_page *, const char *text, size_t indent);

/* What is written between the two has the tone, where the page has colours. */
void tone_begin(const struct text_page *, enum tone);
void tone_end(const struct text_page *, enum tone);

#endif
