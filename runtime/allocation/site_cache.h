/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recognises an allocation call that a thread has made before in the same calling context, by
 * looking at the stack words that decided the context then (struct unwind_trace): exact, and much
 * cheaper than to walk the stack again. One cache per thread, used by that thread alone.
 * Signal-safe.
 */
#ifndef REUSE_RUNTIME_SITE_CACHE_H
#define REUSE_RUNTIME_SITE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwinding/unwind.h"

enum {
    SITE_CACHE_ENTRIES = 512,
    SITE_CACHE_TELLER_SETS = 512,
    SITE_CACHE_TELLER_WAYS = 4,
    SITE_CACHE_LEVELS = 12,
    SITE_CACHE_RECENT = 1024,
};

/*
 * A word on the stack by its distance from the stack pointer in units of 8 bytes. If it is the
 * address of a frame, its value is relative to the stack pointer, too.
 */
enum { STACK_WORD_DISTANCE = 0x7fffffff, STACK_WORD_IS_ADDRESS = -0x7fffffff - 1 };

/*
 * A call seen before. It is the same again when ip and allocator, the frame pointer if it was used,
 * and all words are the same: then so is the calling context, at whatever depth of the stack.
 */
struct site_cache_entry {
    uint64_t ip;            /* 0: empty */
    uint64_t frame_pointer; /* relative to the stack pointer */
    uint32_t site;
    uint16_t allocator;
    uint8_t words;
    bool uses_frame_pointer;
    uint64_t reach; /* end of the words, relative to the stack pointer */
    uint32_t
        word[UNWIND_TRACE_MAX]; /* distance | STACK_WORD_IS_ADDRESS, in the order of the walk */
    uint64_t value[UNWIND_TRACE_MAX];
};

/*
 * One call can have many histories. Where its entry lies is decided step by step: a teller names
 * one word that told two histories apart, whose value then leads to the next teller or, if there is
 * none, to the entry. Tellers are learned from entries that were found to differ.
 */
struct site_cache_teller {
    uint32_t tag; /* of the hash that leads here; 0: none */
    uint32_t word;
    uint8_t index;            /* of the word in the order of the walk */
    bool tells_frame_pointer; /* instead of a word */
};

struct site_cache {
    uint16_t recent[SITE_CACHE_RECENT]; /* by ip and stack pointer: the entry found last */
    struct site_cache_teller tellers[SITE_CACHE_TELLER_SETS][SITE_CACHE_TELLER_WAYS];
    struct site_cache_entry entries[SITE_CACHE_ENTRIES];
};

/*
 * True, and the site, if the call is known. stack_bytes: how many bytes from the stack pointer on
 * are known to be readable (unwind_known_stack).
 */
bool site_cache_find(struct site_cache *cache, const struct unwind_start *caller,
                     unsigned allocator, uint64_t stack_bytes, uint32_t *site);

/* Remembers a call that was not found, after the walk that gave `trace`. */
void site_cache_fill(struct site_cache *cache, const struct unwind_start *caller,
                     unsigned allocator, uint64_t stack_bytes, const struct unwind_trace *trace,
                     uint32_t site);

#endif
