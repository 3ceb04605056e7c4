/* SPDX-License-Identifier: BSD-3-Clause */
/* Byte strings to small numbers. */
#include "profile/key_map.h"

#include <stdlib.h>
#include <string.h>

#include "profile/checksum.h"
#include "support/memory.h"

enum { FIRST_CAPACITY = 64 };

static bool holds_key(const struct key_map *map, uint32_t number, const void *key, size_t size)
{
    const unsigned char *stored = map->keys[number - 1];
    uint64_t stored_size;
    memcpy(&stored_size, stored, sizeof(stored_size));
    return stored_size == size && memcmp(stored + sizeof(stored_size), key, size) == 0;
}

static void grow_slots(struct key_map *map)
{
    size_t capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
    struct key_map_slot *slots = allocate_zeroed(capacity, sizeof(*slots));
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].number == 0)
            continue;
        size_t at = map->slots[i].hash & (capacity - 1);
        while (slots[at].number)
            at = (at + 1) & (capacity - 1);
        slots[at] = map->slots[i];
    }
    free(map->slots);
    map->slots = slots;
    map->capacity = capacity;
}

static void store_key(struct key_map *map, const void *key, size_t size)
{
    if (map->count == map->key_capacity) {
        map->key_capacity = map->key_capacity ? map->key_capacity * 2 : FIRST_CAPACITY;
        map->keys = reallocate(map->keys, map->key_capacity, sizeof(*map->keys));
    }
    uint64_t stored_size = size;
    unsigned char *stored = allocate(sizeof(stored_size) + size, 1);
    memcpy(stored, &stored_size, sizeof(stored_size));
    memcpy(stored + sizeof(stored_size), key, size);
    map->keys[map->count++] = stored;
}

uint32_t key_map_intern(struct key_map *map, const void *key, size_t size, bool *added)
{
    *added = false;
    if ((size_t)map->count * 4 >= map->capacity * 3)
        grow_slots(map);
    uint32_t hash = checksum_crc32c(0, key, size);
    size_t at = hash & (map->capacity - 1);
    for (; map->slots[at].number; at = (at + 1) & (map->capacity - 1)) {
        if (map->slots[at].hash == hash && holds_key(map, map->slots[at].number, key, size))
            return map->slots[at].number;
    }
    store_key(map, key, size);
    *added = true;
    map->slots[at] = (struct key_map_slot){hash, map->count};
    return map->count;
}

void key_map_clear(struct key_map *map)
{
    for (uint32_t i = 0; i < map->count; i++)
        free(map->keys[i]);
    free(map->keys);
    free(map->slots);
    *map = (struct key_map){0};
}
