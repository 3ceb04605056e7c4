/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table from byte strings to small consecutive numbers; also the pool of shared strings. */
#ifndef REUSE_POSTPROC_KEY_MAP_H
#define REUSE_POSTPROC_KEY_MAP_H

#include <stddef.h>
#include <stdint.h>

struct key_map; /* keys are copied */

enum { KEY_MAP_NONE = 0xffffffffu };

struct key_map *key_map_create(void);
void key_map_free(struct key_map *);

/* The number of a key: 0, 1, 2 ... in order of first insertion. */
uint32_t key_map_insert(struct key_map *, const void *key, size_t size);

/* The number of a key that was inserted before, or KEY_MAP_NONE. */
uint32_t key_map_find(const struct key_map *, const void *key, size_t size);

uint32_t key_map_count(const struct key_map *);

/* The one copy of a text that lives as long as the map. */
const char *key_map_string(struct key_map *, const char *text);

#endif
