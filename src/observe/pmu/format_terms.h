/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The language in which the kernel describes events: terms ("event=0xcd,umask=0x1,ldlat=3") and, in
 * format files, the bits that a term means ("config:0-7", "config1:0-15", "config:0-7,32-35").
 *
 * Pure; signal-safe.
 */
#ifndef REUSE_PMU_FORMAT_TERMS_H
#define REUSE_PMU_FORMAT_TERMS_H

#include <stdbool.h>
#include <stdint.h>

enum { FORMAT_NAME_MAX = 48 };

struct format_term {
    char name[FORMAT_NAME_MAX];
    uint64_t value; /* 1 for a term without one */
    bool bad;       /* the text is no list of terms: there is no next one */
};

/* The words that terms set. */
struct format_target {
    uint64_t *config, *config1, *config2;
};

/* The next term of *text, which moves behind it. False at the end, or with term->bad. */
bool format_next_term(const char **text, struct format_term *);

/* Sets the bits that `format`, the content of a format file, names to `value`. False when it is not
 * understood or the value has more bits. */
bool format_set(const char *format, uint64_t value, const struct format_target *);

/* Terms that need no format file: config, config1, config2. False for others. */
bool format_set_direct(const struct format_term *, const struct format_target *);

/* A whole text as a number: decimal or 0x; hexadecimal without prefix. */
bool format_number(const char *text, uint64_t *value);
bool format_hexadecimal(const char *text, uint64_t *value);

#endif
