/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table from byte strings to small consecutive numbers; also the pool of shared strings. */
#ifndef REUSE_POSTPROC_INTERN_TABLE_H
#define REUSE_POSTPROC_INTERN_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct intern_table; /* keys are copied */

enum { INTERN_TABLE_NONE = 0xffffffffu };

struct intern_table *intern_table_create(void);
void intern_table_free(struct intern_table *);

/* The number of a key: 0, 1, 2 ... in order of first insertion. */
uint32_t intern_table_insert(struct intern_table *, const void *key, size_t size);

/* The number of a key that was inserted before, or INTERN_TABLE_NONE. */
uint32_t intern_table_find(const struct intern_table *, const void *key, size_t size);

uint32_t intern_table_count(const struct intern_table *);

/* The one copy of a text that lives as long as the map. */
const char *intern_table_string(struct intern_table *, const char *text);

#endif
