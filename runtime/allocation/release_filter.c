/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of the release filter. Signal-safe.
 *
 * Counts change first, bits follow: who makes a count 0 clears what belongs to it, looks again, and
 * sets what somebody has added in between.
 */
#include "allocation/release_filter.h"

#include "signal_safe.h"

enum {
    COUNT_END = 255,
    WORDS = RELEASE_FILTER_BITS / 64,
    WORD_BYTES = 64 * 16, /* of the heap, but for the places that are skipped */
    WATCHED_WORDS = RELEASE_FILTER_REACH / WORD_BYTES + 2,
    LOOKED_AT_MAX = 64, /* words, when a large block is released */
};

static void count_up(_Atomic uint8_t *count)
{
    uint8_t old = atomic_load_explicit(count, memory_order_relaxed);
    while (old != COUNT_END && !atomic_compare_exchange_weak(count, &old, (uint8_t)(old + 1)))
        ;
}

/* True when it has become 0. */
static bool count_down(_Atomic uint8_t *count)
{
    uint8_t old = atomic_load_explicit(count, memory_order_relaxed);
    do {
        if (old == COUNT_END || old == 0)
            return false;
    } while (!atomic_compare_exchange_weak(count, &old, (uint8_t)(old - 1)));
    return old == 1;
}

static uint64_t bit_of(uint64_t place)
{
    return UINT64_C(1) << place % 64;
}

static void set_bits(struct release_filter *filter, uint64_t word, uint64_t bits)
{
    if ((~atomic_load_explicit(&filter->bits[word], memory_order_relaxed) & bits) != 0)
        atomic_fetch_or(&filter->bits[word], bits);
}

void release_filter_add(struct release_filter *filter, uint64_t base)
{
    const uint64_t place = release_filter_place(base);
    count_up(&filter->starts[place]);
    set_bits(filter, place / 64, bit_of(place));
}

void release_filter_remove(struct release_filter *filter, uint64_t base)
{
    const uint64_t place = release_filter_place(base);
    if (!count_down(&filter->starts[place]) || atomic_load(&filter->watches[place / 64]) != 0)
        return;
    atomic_fetch_and(&filter->bits[place / 64], ~bit_of(place));
    if (atomic_load(&filter->starts[place]) != 0 || atomic_load(&filter->watches[place / 64]) != 0)
        set_bits(filter, place / 64, bit_of(place));
}

void release_filter_keep(struct release_filter *filter, uint64_t base)
{
    const uint64_t place = release_filter_place(base);
    atomic_store(&filter->starts[place], COUNT_END);
    set_bits(filter, place / 64, bit_of(place));
}

/* The last of the words in which a small block that contains the address may start. */
static uint64_t last_word(uint64_t address)
{
    return release_filter_place(address) / 64;
}

/* Keeps the address, if there is room. */
static void keep_watched(struct release_filter *filter, uint64_t address)
{
    for (uint32_t i = 0; i < RELEASE_FILTER_WATCHED; i++) {
        uint64_t none = 0;
        uint32_t used = atomic_load(&filter->used);
        if (address == 0 || !atomic_compare_exchange_strong(&filter->watched[i], &none, address))
            continue;
        while (used <= i && !atomic_compare_exchange_weak(&filter->used, &used, i + 1))
            ;
        return;
    }
    atomic_fetch_add(&filter->beyond, 1);
}

static void drop_watched(struct release_filter *filter, uint64_t address)
{
    const uint32_t used = atomic_load(&filter->used);
    for (uint32_t i = 0; i < used && address != 0; i++) {
        uint64_t kept = address;
        if (atomic_compare_exchange_strong(&filter->watched[i], &kept, 0))
            return;
    }
    atomic_fetch_sub(&filter->beyond, 1);
}

void release_filter_watch(struct release_filter *filter, uint64_t address)
{
    keep_watched(filter, address);
    for (uint64_t i = 0; i < WATCHED_WORDS; i++) {
        const uint64_t word = (last_word(address) - i) % WORDS;
        count_up(&filter->watches[word]);
        set_bits(filter, word, UINT64_MAX);
    }
}

static uint64_t tracked_bits(const struct release_filter *filter, uint64_t word)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < 64; i++)
        bits |= (uint64_t)(atomic_load(&filter->starts[word * 64 + i]) != 0) << i;
    return bits;
}

void release_filter_unwatch(struct release_filter *filter, uint64_t address)
{
    drop_watched(filter, address);
    for (uint64_t i = 0; i < WATCHED_WORDS; i++) {
        const uint64_t word = (last_word(address) - i) % WORDS;
        if (!count_down(&filter->watches[word]))
            continue;
        atomic_fetch_and(&filter->bits[word], tracked_bits(filter, word));
        set_bits(filter, word,
                 atomic_load(&filter->watches[word]) != 0 ? UINT64_MAX
                                                          : tracked_bits(filter, word));
    }
}

/* Of those in counts alone. */
static bool counts_may_hold(const struct release_filter *filter, uint64_t base, uint64_t size)
{
    const uint64_t first = last_word(base);
    const uint64_t words = (last_word(base + size - 1) - first) % WORDS + 1;
    if (words > LOOKED_AT_MAX || size >= (uint64_t)LOOKED_AT_MAX * WORD_BYTES)
        return true;
    for (uint64_t i = 0; i < words; i++) {
        if (atomic_load_explicit(&filter->watches[(first + i) % WORDS], memory_order_relaxed) != 0)
            return true;
    }
    return false;
}

bool release_filter_may_hold(const struct release_filter *filter, uint64_t base, uint64_t size)
{
    const uint32_t used = atomic_load_explicit(&filter->used, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++) {
        if (atomic_load_explicit(&filter->watched[i], memory_order_relaxed) - base < size)
            return true;
    }
    return atomic_load_explicit(&filter->beyond, memory_order_acquire) != 0 &&
           counts_may_hold(filter, base, size);
}
