/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the options share. Nobody else includes it. Signal-safe. */
#ifndef REUSE_OPTIONS_INTERNAL_H
#define REUSE_OPTIONS_INTERNAL_H

#include "options.h"

/* Text under construction in a caller's buffer; always terminated, `full` once something did not
 * fit. */
struct option_text {
    char *start;
    size_t size, length;
    bool full;
};

struct option_text option_text_begin(char *start, size_t size);
void option_text_append_character(struct option_text *text, char character);
void option_text_append(struct option_text *text, const char *addition);
/* As option_text_append, for what must stay one line and one path component. */
void option_text_append_component(struct option_text *text, const char *addition);
void option_text_append_number(struct option_text *text, uint64_t number);
/* A user's value within a message: on one line, and short enough to leave room for the rest. */
void option_text_append_quoted(struct option_text *text, const char *value);
/* That the value is none of the option, and what would be. */
void option_explain(struct option_text *text, enum option_id id, const char *value);

/*
 * Values from text; false if it is none. Whole: decimal digits only, no sign, no blank, no
 * overflow. Decimal: digits with at most one point among or around them, whatever the locale. Name:
 * its index among names, or -1. Snapshot: at most one signal and one time. Line sizes: distinct
 * ones. What the latter two store is undefined on failure.
 */
bool option_parse_whole(const char *text, uint64_t *number);
bool option_parse_decimal(const char *text, double *number);
/* The same, with or without a percent sign behind it. */
bool option_parse_percentage(const char *text, double *number);
int option_parse_name(const char *text, const char *const *names, int count);
bool option_parse_switch(const char *text, bool *value);
bool option_parse_follow(const char *text, unsigned *follow);
bool option_parse_snapshot(const char *text, int *signal, double *every);
bool option_parse_line_sizes(const char *text, uint32_t sizes[OPTIONS_LINE_SIZES_MAX],
                             unsigned *count);
bool option_parse_text(const char *text, char *value, size_t size);

/* Whether a pattern of an output file has known conversions alone. */
bool option_pattern_is_valid(const char *pattern);
/* A folder as the output, one that is there or whose name ends with '/', gets a file's name. */
void option_output_in_folder(char output[], const char *name);

#endif
