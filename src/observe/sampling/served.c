/* SPDX-License-Identifier: BSD-3-Clause */
/* See served.h. Signal-safe. */
#include "sampling/served.h"

#include <string.h>

#include "signal_safe.h"

enum {
    EXACT_LATENCIES = 8, /* below it each value is its own class */
    CLASSES_PER_OCTAVE_LOG2 = 2,
};

unsigned served_latency_class(uint32_t cycles)
{
    unsigned octave;

    if (cycles < EXACT_LATENCIES)
        return 1 + cycles;
    octave = 31 - (unsigned)__builtin_clz(cycles);
    /* The two bits below the leading one choose the quarter. */
    return 1 + EXACT_LATENCIES + ((octave - 3) << CLASSES_PER_OCTAVE_LOG2) +
           (cycles >> (octave - CLASSES_PER_OCTAVE_LOG2) & 3);
}

void served_clear(struct served_table *table)
{
    memset(table->place, 0, sizeof table->place);
    table->used = 0;
}

/* The cell that the access belongs to, with nothing in it. */
static struct record_served key_of(const struct access_record *access, struct served_object object)
{
    struct record_served key;

    memset(&key, 0, sizeof key);
    key.ip = access->flags & PMU_HAS_IP ? access->ip : 0;
    key.object_kind = object.kind;
    key.object_reference = object.reference;
    if (object.kind == OBJECT_GLOBAL)
        key.address_low = key.address_high = access->address;
    key.level = access->level;
    key.translation = access->translation;
    key.kind = access->kinds;
    if (access->flags & PMU_HAS_LATENCY) {
        key.flags |= SERVED_LATENCY;
        key.latency_class = (uint8_t)served_latency_class(access->latency);
    }
    if (access->flags & PMU_REMOTE)
        key.flags |= SERVED_REMOTE;
    if (access->flags & PMU_MODIFIED_ELSEWHERE)
        key.flags |= SERVED_MODIFIED_ELSEWHERE;
    return key;
}

static uint64_t piece(const struct record_served *cell)
{
    return cell->address_low / SERVED_GLOBAL_BYTES;
}

static bool is_alike(const struct record_served *a, const struct record_served *b)
{
    return a->ip == b->ip && a->object_kind == b->object_kind &&
           a->object_reference == b->object_reference && piece(a) == piece(b) &&
           a->level == b->level && a->translation == b->translation && a->kind == b->kind &&
           a->latency_class == b->latency_class && a->flags == b->flags;
}

static uint32_t hash(const struct record_served *key)
{
    static const uint64_t factor = 0x9E3779B97F4A7C15u;
    uint64_t small = (uint64_t)key->level | (uint64_t)key->translation << 8 |
                     (uint64_t)key->kind << 16 | (uint64_t)key->latency_class << 24 |
                     (uint64_t)key->flags << 32 | (uint64_t)key->object_kind << 40;
    uint64_t mixed = key->ip * factor;

    mixed = (mixed ^ mixed >> 29 ^ key->object_reference) * factor;
    mixed = (mixed ^ mixed >> 31 ^ piece(key)) * factor;
    mixed = (mixed ^ mixed >> 30 ^ small) * factor;
    return (uint32_t)(mixed >> 40);
}

/* The cell of a key, if need be a new one; NULL: none is free. Some place is always free, for there
 * are more of them than cells. */
static struct record_served *find(struct served_table *table, const struct record_served *key)
{
    uint32_t at = hash(key) % SERVED_PLACES;

    for (; table->place[at] != 0; at = (at + 1) % SERVED_PLACES) {
        struct record_served *cell = &table->cell[table->place[at] - 1];

        if (is_alike(cell, key))
            return cell;
    }
    if (table->used == SERVED_CELLS)
        return NULL;
    table->cell[table->used] = *key;
    table->place[at] = (uint16_t)++table->used;
    return &table->cell[table->used - 1];
}

bool served_add(struct served_table *table, const struct access_record *access,
                struct served_object object, uint64_t weight)
{
    struct record_served key = key_of(access, object);
    struct record_served *cell = find(table, &key);

    if (!cell)
        return false;
    if (key.address_low < cell->address_low)
        cell->address_low = key.address_low;
    if (key.address_high > cell->address_high)
        cell->address_high = key.address_high;
    cell->samples++;
    cell->weight += weight;
    if (key.flags & SERVED_LATENCY)
        cell->latency += access->latency;
    return true;
}
