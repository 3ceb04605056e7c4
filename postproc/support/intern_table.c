/* SPDX-License-Identifier: BSD-3-Clause */
/* Open addressing with linear probing; the table is at most half full. */
#include "support/intern_table.h"

#include <stdlib.h>
#include <string.h>

#include "support/memory.h"

struct key {
    uint64_t hash;
    void *bytes; /* NUL-terminated copy */
    size_t size;
};

struct intern_table {
    ARRAY(struct key) keys;
    uint32_t *slots;   /* number of the key + 1; 0: free */
    size_t slot_count; /* a power of two */
};

/* Numbers and pointers by words, the rest like FNV-1a; with a mix after each word and at the end,
 * because the low bits select the slot. */
static uint64_t hash_of(const void *key, size_t size)
{
    const unsigned char *bytes = key;
    uint64_t hash = 0xcbf29ce484222325u, word;

    for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

/* The slot that holds the key, or the free slot where it belongs. */
static size_t slot_of(const struct intern_table *map, uint64_t hash, const void *key, size_t size)
{
    size_t slot = hash & (map->slot_count - 1);

    while (map->slots[slot] != 0) {
        const struct key *other = &map->keys.items[map->slots[slot] - 1];

        if (other->hash == hash && other->size == size && memcmp(other->bytes, key, size) == 0)
            break;
        slot = (slot + 1) & (map->slot_count - 1);
    }
    return slot;
}

static void set_slot_count(struct intern_table *map, size_t slot_count)
{
    free(map->slots);
    map->slots = allocate_zeroed(slot_count, sizeof(*map->slots));
    map->slot_count = slot_count;
    for (size_t i = 0; i < map->keys.count; i++) {
        const struct key *key = &map->keys.items[i];

        map->slots[slot_of(map, key->hash, key->bytes, key->size)] = (uint32_t)i + 1;
    }
}

struct intern_table *intern_table_create(void)
{
    struct intern_table *map = allocate_zeroed(1, sizeof(*map));

    set_slot_count(map, 64);
    return map;
}

void intern_table_free(struct intern_table *map)
{
    if (map == NULL)
        return;
    for (size_t i = 0; i < map->keys.count; i++)
        free(map->keys.items[i].bytes);
    free(map->keys.items);
    free(map->slots);
    free(map);
}

uint32_t intern_table_insert(struct intern_table *map, const void *key, size_t size)
{
    uint64_t hash = hash_of(key, size);
    size_t slot = slot_of(map, hash, key, size);
    struct key copy = {.hash = hash, .size = size};
    uint32_t number;

    if (map->slots[slot] != 0)
        return map->slots[slot] - 1;
    copy.bytes = allocate_zeroed(size + 1, 1);
    if (size > 0)
        memcpy(copy.bytes, key, size);
    ARRAY_PUSH(&map->keys, copy);
    number = (uint32_t)map->keys.count - 1;
    map->slots[slot] = number + 1;
    if (2 * map->keys.count > map->slot_count)
        set_slot_count(map, 2 * map->slot_count);
    return number;
}

uint32_t intern_table_find(const struct intern_table *map, const void *key, size_t size)
{
    size_t slot = slot_of(map, hash_of(key, size), key, size);

    return map->slots[slot] != 0 ? map->slots[slot] - 1 : INTERN_TABLE_NONE;
}

uint32_t intern_table_count(const struct intern_table *map)
{
    return (uint32_t)map->keys.count;
}

const char *intern_table_string(struct intern_table *map, const char *text)
{
    uint32_t number = intern_table_insert(map, text, strlen(text)); /* may move the keys */

    return map->keys.items[number].bytes;
}
