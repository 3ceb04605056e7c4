/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One statement of C or C++ source text, in tokens, and finding one's way about in it. No parser:
 * it knows brackets, words and what a postfix expression looks like. Pure.
 */
#ifndef REUSE_STATEMENT_H
#define REUSE_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/memory.h"
#include "symbols/source_text.h"

#define STATEMENT_NONE SIZE_MAX /* no such token */

struct token {
    size_t start, length; /* in the source's code */
};

struct statement {
    const char *code;           /* of the source, which must outlive it */
    size_t from, to;            /* extent in the code */
    ARRAY(struct token) tokens; /* the caller frees the items */
};

/* Of an identifier or a number. */
bool statement_is_word_char(char);

/* Fills code, from and to: from after the ; { or } before the position to the ; or { after it. */
void statement_find(const struct source_text *, size_t position, struct statement *);

/* Appends the tokens of the extent. */
void statement_split(struct statement *);

/* i: number of a token; has_token: of one that may be beyond the end. */
bool statement_token_is(const struct statement *, size_t i, const char *text);
bool statement_has_token(const struct statement *, size_t i, const char *text);
/* texts: ends with NULL. */
bool statement_token_in(const struct statement *, size_t i, const char *const *texts);
bool statement_is_word(const struct statement *, size_t i);
bool statement_is_keyword(const struct statement *, size_t i);

/* The token that opens the bracket closed at `close`, or STATEMENT_NONE. */
size_t statement_opening(const struct statement *, size_t close);
/* The token that closes the parenthesis opened at `open`, or the last one. */
size_t statement_closing(const struct statement *, size_t open);

/* Whether what stands in these parentheses can be a cast: (double *), (struct node **), (T<int>
 * const &). */
bool statement_is_cast(const struct statement *, size_t open, size_t close);

/* First token of the postfix expression (a.b[i]->c, A::b) that ends at token `last`, or
 * STATEMENT_NONE. */
size_t statement_start_of_postfix(const struct statement *, size_t last);

/* The tokens from first to last without spaces; the caller frees it. */
char *statement_text(const struct statement *, size_t first, size_t last);

#endif
