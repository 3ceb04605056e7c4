/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules lie side by side in the order in which they were met, and a hash table of their numbers
 * leads to them: a program that ends after some milliseconds meets a thousand addresses or two, and
 * touches a dozen pages. (A hash table of the rules themselves had cc1 touch all of its 192 pages.)
 *
 * An entry is three words, of which the first is the exclusive or of the key and the others, so
 * that a torn entry, written by two threads at once, does not match (R. Hyatt, T. Mann: A lockless
 * transposition table). Entries are written anew in turn once all are in use; numbers that led to
 * what was there before then lead to what does not match.
 */
#include "unwinding/rule_cache.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "large_table.h"

#include "signal_safe.h"

enum {
    ENTRIES_LOG2 = 15,
    SMALL_LOG2 = 13, /* slots of the table that is asked first: four pages */
    LARGE_LOG2 = 16,
    WINDOW = 4, /* slots that an address may take in each */
    EPOCH_SHIFT = 48,
};

struct rule_entry {
    _Atomic uint64_t check; /* key ^ low ^ high */
    _Atomic uint64_t low, high;
};

/* All are written by any thread at any time. */
static LARGE_TABLE struct rule_entry entries[1 << ENTRIES_LOG2];
static _Atomic uint32_t written; /* entries, so far */

/* Numbers of entries, from 1 on; 0: free. */
static LARGE_TABLE _Atomic uint16_t small[1 << SMALL_LOG2], large[1 << LARGE_LOG2];
static _Atomic bool is_large_used;

/* Part of every key, above the bits of addresses; changed by whoever unloads an object. */
static _Atomic uint64_t epoch;

uint64_t rule_cache_epoch(void)
{
    return atomic_load_explicit(&epoch, memory_order_relaxed);
}

void rule_cache_forget(void)
{
    atomic_fetch_add_explicit(&epoch, UINT64_C(1) << EPOCH_SHIFT, memory_order_relaxed);
}

static uint64_t rule_key(uint64_t ip)
{
    return ip ^ rule_cache_epoch();
}

static uint64_t hash_of(uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15) >> 32; /* golden ratio */
}

static _Atomic uint16_t *window_in(_Atomic uint16_t *slots, unsigned slots_log2, uint64_t hash)
{
    return &slots[hash & ((1u << slots_log2) - 1) & ~(uint64_t)(WINDOW - 1)];
}

/* The entry that the slot leads to, or NULL. */
static struct rule_entry *entry_of(_Atomic uint16_t *slot)
{
    const unsigned number = atomic_load_explicit(slot, memory_order_acquire);
    return number == 0 ? NULL : &entries[number - 1];
}

static bool read_entry(const struct rule_entry *entry, uint64_t key, struct call_frame_rule *rule)
{
    _Static_assert(sizeof *rule == 16, "a rule is two words");
    const uint64_t words[2] = {atomic_load_explicit(&entry->low, memory_order_relaxed),
                               atomic_load_explicit(&entry->high, memory_order_relaxed)};
    if (atomic_load_explicit(&entry->check, memory_order_relaxed) != (key ^ words[0] ^ words[1]))
        return false;
    memcpy(rule, words, sizeof *rule);
    return true;
}

/* Numbers are put into the first free slot, so that those behind it are free as well; or were left
 * by two threads at once, and are found no more. */
static bool find_in(_Atomic uint16_t *window, uint64_t key, struct call_frame_rule *rule)
{
    for (unsigned i = 0; i < WINDOW; i++) {
        const struct rule_entry *entry = entry_of(&window[i]);
        if (entry == NULL)
            return false;
        if (read_entry(entry, key, rule))
            return true;
    }
    return false;
}

bool rule_cache_find(uint64_t ip, struct call_frame_rule *rule)
{
    const uint64_t key = rule_key(ip), hash = hash_of(key);
    return find_in(window_in(small, SMALL_LOG2, hash), key, rule) ||
           (atomic_load_explicit(&is_large_used, memory_order_relaxed) &&
            find_in(window_in(large, LARGE_LOG2, hash), key, rule));
}

/* Never written; or what it led to is another's by now, or was of code that went. */
static bool is_free(_Atomic uint16_t *slot, uint64_t hash)
{
    const struct rule_entry *entry = entry_of(slot);
    if (entry == NULL)
        return true;
    const uint64_t key = atomic_load_explicit(&entry->check, memory_order_relaxed) ^
                         atomic_load_explicit(&entry->low, memory_order_relaxed) ^
                         atomic_load_explicit(&entry->high, memory_order_relaxed);
    return key >> EPOCH_SHIFT != rule_cache_epoch() >> EPOCH_SHIFT ||
           ((hash_of(key) ^ hash) & ((1u << SMALL_LOG2) - WINDOW)) != 0;
}

static bool put_into(_Atomic uint16_t *window, uint64_t hash, uint16_t number)
{
    for (unsigned i = 0; i < WINDOW; i++) {
        if (is_free(&window[i], hash)) {
            atomic_store_explicit(&window[i], number, memory_order_release);
            return true;
        }
    }
    return false;
}

void rule_cache_add(uint64_t ip, const struct call_frame_rule *rule)
{
    const uint64_t key = rule_key(ip), hash = hash_of(key);
    const uint32_t index =
        atomic_fetch_add_explicit(&written, 1, memory_order_relaxed) % (1u << ENTRIES_LOG2);
    struct rule_entry *entry = &entries[index];
    uint64_t words[2];
    memcpy(words, rule, sizeof words);
    atomic_store_explicit(&entry->low, words[0], memory_order_relaxed);
    atomic_store_explicit(&entry->high, words[1], memory_order_relaxed);
    atomic_store_explicit(&entry->check, key ^ words[0] ^ words[1], memory_order_relaxed);
    const uint16_t number = (uint16_t)(index + 1);
    if (put_into(window_in(small, SMALL_LOG2, hash), hash, number))
        return;
    _Atomic uint16_t *window = window_in(large, LARGE_LOG2, hash);
    if (!put_into(window, hash, number))
        atomic_store_explicit(&window[hash >> LARGE_LOG2 & (WINDOW - 1)], number,
                              memory_order_release);
    atomic_store_explicit(&is_large_used, true, memory_order_relaxed);
}
