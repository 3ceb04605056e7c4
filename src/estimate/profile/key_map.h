/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gives equal byte strings equal numbers: 1, 2, 3 ... in the order of their first appearance. For
 * interning what merged profiles have in common. Not signal-safe, not thread-safe.
 */
#ifndef REUSE_PROFILE_KEY_MAP_H
#define REUSE_PROFILE_KEY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct key_map_slot {
    uint32_t hash;
    uint32_t number; /* 0: free */
};

/* Empty when zeroed. Fields are private, but for count: the numbers given so far. */
struct key_map {
    uint32_t count;
    struct key_map_slot *slots; /* open addressing; capacity is a power of two */
    size_t capacity;
    unsigned char **keys; /* by number - 1: size (8 bytes) and bytes */
    size_t key_capacity;
};

/* The number of a key; *added tells whether it is a new one. */
uint32_t key_map_intern(struct key_map *, const void *key, size_t size, bool *added);

/* Frees all; the map is empty again. */
void key_map_clear(struct key_map *);

#endif
