/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cache of allocation calls. Signal-safe.
 *
 * The words of a walk depend on each other: where word i lies follows from the words before it. So
 * the first word in which two histories of a call differ lies at the same place in both, and can
 * tell them apart; in a third history, which differs earlier, there may be anything at that place.
 * A teller that is found to look at such a place is moved to an earlier word.
 */
#include "allocation/site_cache.h"

#include "isa/guarded_memory.h"

#include "signal_safe.h"

static uint64_t mix(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29); /* golden ratio */
}

static uint64_t word_end(uint32_t word)
{
    return ((uint64_t)(word & STACK_WORD_DISTANCE) + 1) * 8;
}

/* The word's present value, relative as it should be. False when it cannot be read: the stack that
 * was here is gone, and another, smaller one in its place. */
UNWIND_READS_FRAMES static inline bool stack_word(uint64_t stack_pointer, uint32_t word,
                                                  uint64_t *value)
{
    const uint64_t address = stack_pointer + 8 * (uint64_t)(word & STACK_WORD_DISTANCE);
    if (!guarded_load_64(address, value)) {
        unwind_forget_stacks(address, address + 8);
        return false;
    }
    /* The top bit, spread: the stack pointer or 0, without a branch. */
    *value -= stack_pointer & -(uint64_t)(word >> 31);
    return true;
}

static uint64_t relative_frame_pointer(const struct unwind_start *caller)
{
    return caller->frame_pointer - caller->stack_pointer;
}

static uint64_t first_hash(const struct unwind_start *caller, unsigned allocator)
{
    return mix(allocator, caller->ip);
}

static uint16_t *recent_at(struct site_cache *cache, const struct unwind_start *caller)
{
    return &cache->recent[mix(caller->ip, caller->stack_pointer) >> 40 & (SITE_CACHE_RECENT - 1)];
}

static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 8) | 1; /* never 0 */
}

static struct site_cache_teller *teller_set(struct site_cache *cache, uint64_t hash)
{
    return cache->tellers[hash >> 40 & (SITE_CACHE_TELLER_SETS - 1)];
}

/* The teller that the hash leads to, or NULL. */
static inline struct site_cache_teller *teller_at(struct site_cache *cache, uint64_t hash)
{
    struct site_cache_teller *set = teller_set(cache, hash);
    for (unsigned i = 0; i < SITE_CACHE_TELLER_WAYS; i++) {
        if (set[i].tag == tag_of(hash))
            return &set[i];
    }
    return NULL;
}

/* Where a teller for the hash is to be put: for as long as there is room, it displaces none. Two
 * that displaced each other, in turns, would have every call walked. */
static struct site_cache_teller *teller_room(struct site_cache *cache, uint64_t hash)
{
    struct site_cache_teller *set = teller_set(cache, hash);
    for (unsigned i = 0; i < SITE_CACHE_TELLER_WAYS; i++) {
        if (set[i].tag == tag_of(hash) || set[i].tag == 0)
            return &set[i];
    }
    return &set[hash >> 60 & (SITE_CACHE_TELLER_WAYS - 1)];
}

/* The tellers that a call meets, and the hash at which they end. */
struct path {
    struct site_cache_teller *tellers[SITE_CACHE_LEVELS];
    unsigned levels;
    uint64_t hash;
};

static inline void follow(struct site_cache *cache, const struct unwind_start *caller,
                          unsigned allocator, uint64_t stack_bytes, struct path *path)
{
    uint64_t hash = first_hash(caller, allocator);
    unsigned levels = 0;
    while (levels < SITE_CACHE_LEVELS) {
        struct site_cache_teller *teller = teller_at(cache, hash);
        if (teller == NULL || word_end(teller->word) > stack_bytes)
            break;
        uint64_t told = relative_frame_pointer(caller);
        if (!teller->tells_frame_pointer && !stack_word(caller->stack_pointer, teller->word, &told))
            break;
        path->tellers[levels++] = teller;
        hash = mix(hash, told);
    }
    path->levels = levels;
    path->hash = hash;
}

static struct site_cache_entry *entry_at(struct site_cache *cache, uint64_t hash)
{
    return &cache->entries[hash >> 40 & (SITE_CACHE_ENTRIES - 1)];
}

/* Makes the word, or the frame pointer, tell apart what has so far ended at the same hash. */
static void learn(struct site_cache *cache, const struct path *path,
                  const struct site_cache_teller *news)
{
    if (path->levels == SITE_CACHE_LEVELS)
        return;
    struct site_cache_teller *teller = teller_room(cache, path->hash);
    *teller = *news;
    teller->tag = tag_of(path->hash);
}

/* Whether all words are as the entry remembers them. */
UNWIND_READS_FRAMES static inline bool same_words(const struct site_cache_entry *entry,
                                                  uint64_t stack_pointer)
{
    uint64_t difference = 0;
    /* Hardly ever is a word different here: no branch for each of them. */
    for (unsigned i = 0; i < entry->words; i++) {
        uint64_t value;
        if (!stack_word(stack_pointer, entry->word[i], &value))
            return false;
        difference |= value ^ entry->value[i];
    }
    return difference == 0;
}

static inline bool same_call(const struct site_cache_entry *entry,
                             const struct unwind_start *caller, unsigned allocator,
                             uint64_t stack_bytes)
{
    return entry->ip == caller->ip && entry->allocator == allocator && entry->reach <= stack_bytes;
}

static inline bool same_frame_pointer(const struct site_cache_entry *entry,
                                      const struct unwind_start *caller)
{
    return !entry->uses_frame_pointer || entry->frame_pointer == relative_frame_pointer(caller);
}

bool site_cache_find(struct site_cache *cache, const struct unwind_start *caller,
                     unsigned allocator, uint64_t stack_bytes, uint32_t *site)
{
    /* A call at the same depth of the stack most often has the same history. */
    uint16_t *recent = recent_at(cache, caller);
    const struct site_cache_entry *entry = &cache->entries[*recent];
    if (same_call(entry, caller, allocator, stack_bytes) && same_frame_pointer(entry, caller) &&
        same_words(entry, caller->stack_pointer)) {
        *site = entry->site;
        return true;
    }
    struct path path;
    follow(cache, caller, allocator, stack_bytes, &path);
    entry = entry_at(cache, path.hash);
    if (!same_call(entry, caller, allocator, stack_bytes))
        return false;
    if (!same_frame_pointer(entry, caller)) {
        learn(cache, &path, &(struct site_cache_teller){.tells_frame_pointer = true});
        return false;
    }
    for (unsigned i = 0; i < entry->words; i++) {
        uint64_t value;
        if (!stack_word(caller->stack_pointer, entry->word[i], &value))
            return false;
        if (value != entry->value[i]) {
            learn(cache, &path,
                  &(struct site_cache_teller){.word = entry->word[i], .index = (uint8_t)i});
            return false;
        }
    }
    *recent = (uint16_t)(entry - cache->entries);
    *site = entry->site;
    return true;
}

/* Word i of the trace as an entry holds it; false when it does not lie on the caller's stack. */
static bool encode(const struct unwind_start *caller, const struct unwind_trace *trace, unsigned i,
                   uint64_t stack_bytes, uint32_t *word, uint64_t *value)
{
    const uint64_t distance = trace->address[i] - caller->stack_pointer;
    if (distance % 8 != 0 || distance >= stack_bytes || distance / 8 > STACK_WORD_DISTANCE)
        return false;
    const bool is_address = (trace->is_address >> i & 1) != 0;
    *word = (uint32_t)(distance / 8) | (is_address ? (uint32_t)STACK_WORD_IS_ADDRESS : 0);
    *value = is_address ? trace->value[i] - caller->stack_pointer : trace->value[i];
    return true;
}

/* Moves the first teller that looks at a place which means nothing in this history; a history
 * without words, of a context of one frame, needs none. */
static void correct(const struct path *path, const struct site_cache_entry *entry)
{
    if (entry->words == 0 && path->levels != 0) {
        path->tellers[0]->tag = 0;
        return;
    }
    for (unsigned level = 0; level < path->levels; level++) {
        struct site_cache_teller *teller = path->tellers[level];
        if (teller->tells_frame_pointer ||
            (teller->index < entry->words && entry->word[teller->index] == teller->word))
            continue;
        const unsigned words = teller->index < entry->words ? teller->index : entry->words;
        teller->index = (uint8_t)(words / 2);
        teller->word = entry->word[teller->index];
        /* Nothing comes before the first word but the frame pointer. */
        teller->tells_frame_pointer = words == 0;
        return;
    }
}

void site_cache_fill(struct site_cache *cache, const struct unwind_start *caller,
                     unsigned allocator, uint64_t stack_bytes, const struct unwind_trace *trace,
                     uint32_t site)
{
    struct path path;
    follow(cache, caller, allocator, stack_bytes, &path);
    struct site_cache_entry *entry = entry_at(cache, path.hash);
    entry->ip = 0;
    if (!trace->complete)
        return;
    entry->reach = 0;
    for (unsigned i = 0; i < trace->count; i++) {
        /* Words on another stack, beyond a signal frame, are not remembered. */
        if (!encode(caller, trace, i, stack_bytes, &entry->word[i], &entry->value[i]))
            return;
        if (word_end(entry->word[i]) > entry->reach)
            entry->reach = word_end(entry->word[i]);
    }
    entry->words = (uint8_t)trace->count;
    entry->frame_pointer = relative_frame_pointer(caller);
    entry->uses_frame_pointer = trace->uses_frame_pointer;
    entry->allocator = (uint16_t)allocator;
    entry->site = site;
    entry->ip = caller->ip;
    *recent_at(cache, caller) = (uint16_t)(entry - cache->entries);
    correct(&path, entry);
}
