/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the allocation wrappers report, from threads and with made-up blocks: totals add up, lookups
 * find the right site, contexts are shortened only when they cost too much; the guard against
 * re-entry and the filter of watched addresses.
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "allocation/allocation_objects.h"
#include "allocation/allocation_thread.h"
#include "allocation/release_filter.h"

static struct context_tree *contexts;
static _Atomic uint32_t announced;

static void on_new_site(void *user, uint32_t site_id, uint32_t context_id, enum allocator allocator,
                        const char *name)
{
    (void)allocator;
    (void)name;
    assert_ptr_equal(user, &announced);
    assert_true(site_id == ALLOCATION_SITE_OTHER ? context_id == 0 : context_id != 0);
    atomic_fetch_add(&announced, 1);
}

static int begin(void **state)
{
    (void)state;
    enum { CONTEXTS = 100000 };
    void *memory = mmap(NULL, context_tree_size(CONTEXTS), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    contexts = context_tree_create(memory, CONTEXTS, NULL, NULL);
    return allocation_begin(
               &(struct allocation_options){.contexts = contexts,
                                            .every_block = true,
                                            .hooks = {.user = &announced, .new_site = on_new_site}})
               ? 0
               : -1;
}

static struct record_site_totals totals_of_site;

static void pick_totals(void *user, const struct record_site_totals *totals)
{
    if (totals->site_id == *(uint32_t *)user)
        totals_of_site = *totals;
}

static const struct record_site_totals *totals_of(uint32_t site)
{
    totals_of_site = (struct record_site_totals){.site_id = site};
    allocation_site_totals(pick_totals, &site);
    return &totals_of_site;
}

__attribute__((noinline)) static void come(uint64_t address, size_t size)
{
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    assert_true(allocation_enter(caller.stack_pointer));
    allocation_came((const void *)address, size, ALLOCATOR_MALLOC, &caller);
    allocation_leave();
}

static void go(uint64_t address)
{
    assert_true(allocation_enter((uint64_t)(uintptr_t)__builtin_frame_address(0)));
    assert_true(allocation_is_followed((void *)address));
    const struct allocation_going going = allocation_goes((void *)address, NULL);
    assert_true(going.tracked);
    allocation_gone(&going);
    allocation_leave();
}

enum { THREADS = 4, ROUNDS = 20000, LIVE = 64 };
static uint32_t thread_site[THREADS];
static _Atomic unsigned wrong;

static void *churn(void *argument)
{
    const uintptr_t index = (uintptr_t)argument;
    const uint64_t base = UINT64_C(0x7f0000000000) + index * 48; /* interleaved with the others' */
    struct block block;
    enum object_kind kind;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const uint64_t address = base + (uint64_t)(i % LIVE) * THREADS * 48;
        if (i >= LIVE)
            go(address);
        come(address, 1 + i % 40);
        if (!allocation_find(address, &block, &kind) || kind != OBJECT_HEAP ||
            block.base != address || block.size != 1 + i % 40)
            atomic_fetch_add(&wrong, 1);
    }
    thread_site[index] = block.site;
    for (unsigned i = 0; i < LIVE; i++)
        go(base + (uint64_t)i * THREADS * 48);
    allocation_thread_end();
    return NULL;
}

static void threads_add_up(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
    for (unsigned i = 0; i < 200; i++)
        totals_of(2); /* a reader in between */
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&wrong), 0);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < ROUNDS; i++)
        bytes += 1 + i % 40;
    /* All threads allocate at the same place on the same way: one site. */
    for (unsigned i = 1; i < THREADS; i++)
        assert_int_equal(thread_site[i], thread_site[0]);
    const struct record_site_totals *totals = totals_of(thread_site[0]);
    assert_int_equal(totals->blocks, THREADS * ROUNDS);
    assert_int_equal(totals->bytes, THREADS * bytes);
    assert_int_equal(totals->largest_bytes, 40);
    assert_true(totals->live_bytes_peak <= THREADS * (LIVE * 40 + BATCH_BYTES_MAX));
    assert_true(totals->live_bytes_peak > 0);
}

/* Recursion through a choice at each level: ever new contexts. */
typedef void wanderer(uint64_t way, unsigned depth, uint64_t address);
static wanderer go_left, go_right;
static wanderer *const volatile ways[] = {go_left, go_right};

#define WANDER(name)                                                                               \
    __attribute__((noinline)) static void name(uint64_t way, unsigned depth, uint64_t address)     \
    {                                                                                              \
        if (depth == 0)                                                                            \
            come(address, 8);                                                                      \
        else                                                                                       \
            ways[way % 2](way / 2, depth - 1, address);                                            \
        __asm__ volatile("# " #name ::: "memory"); /* no tail calls, and no two alike */           \
    }

WANDER(go_left)
WANDER(go_right)

static void endless_contexts_are_bounded(void **state)
{
    (void)state;
    struct allocation_statistics before, after;
    allocation_statistics(&before);
    uint64_t way = 88172645463325252u;
    for (unsigned i = 0; i < 100000; i++) {
        way ^= way << 13, way ^= way >> 7, way ^= way << 17;
        go_left(way, 20, 0x600000);
        go(0x600000);
    }
    allocation_statistics(&after);
    assert_true(after.contexts_shortened > before.contexts_shortened);
    /* 22 frames each to begin with, then one. */
    assert_true(after.frames_walked - before.frames_walked <= 1000000);
    assert_int_equal(context_tree_overflows(contexts), 0);
    struct block block;
    enum object_kind kind;
    come(0x600000, 8);
    assert_true(allocation_find(0x600000, &block, &kind));
    assert_int_not_equal(block.site, ALLOCATION_SITE_OTHER);
    go(0x600000);
}

/* Frames that are found through frame pointers, at ever other depths: those of the call before are
 * not walked again. */
__attribute__((noinline)) static void sink_down(unsigned depth, uint64_t address, unsigned times)
{
    volatile char *memory = alloca(16 + times);
    memory[0] = 1;
    if (depth > 0) {
        sink_down(depth - 1, address, times);
    } else {
        for (unsigned i = 0; i < times; i++) {
            come(address, 8);
            go(address);
        }
    }
    memory[1] = 1;
}

static void frames_before_are_known(void **state)
{
    (void)state;
    struct allocation_statistics before, after;
    allocation_statistics(&before);
    for (unsigned depth = 40; depth < 300; depth++)
        sink_down(depth, 0x700000, 10);
    allocation_statistics(&after);
    /* Its own frame for each of 2600 blocks; what lies around the loop, at each of 260 depths; all
     * of the first. */
    assert_in_range(after.frames_walked - before.frames_walked, 2600, 2600 + 260 * 4 + 40);
}

/* A jump out of a wrapper leaves the mark; it must not switch tracking off for good. */
static void guard_recovers_from_jumps(void **state)
{
    (void)state;
    const uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    assert_true(allocation_enter(here));
    assert_false(allocation_enter(here - 512)); /* called from within */
    assert_true(allocation_enter(here));        /* the same caller again: the first call is gone */
    assert_true(allocation_enter(here + 4096)); /* a caller further out */
    allocation_leave();
    assert_true(allocation_enter(here - 512));
    allocation_leave();
    assert_true(allocation_enter(here));
    assert_false(allocation_enter(here + ((uint64_t)1 << 40))); /* another stack: a handler */
    allocation_leave();
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

static struct release_filter filter;

static void assert_filter_is_empty(void)
{
    for (uint64_t word = 0; word < RELEASE_FILTER_BITS / 64; word++)
        assert_int_equal(atomic_load(&filter.bits[word]), 0);
}

static void watches_are_found(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    uint64_t watched[100];
    unsigned alarms = 0;
    for (unsigned i = 0; i < 100; i++) {
        watched[i] = next_random(&random) >> 17;
        release_filter_watch(&filter, watched[i]);
    }
    for (unsigned i = 0; i < 100000; i++) {
        const uint64_t size = 1 + (next_random(&random) & ((UINT64_C(1) << random % 22) - 1));
        const uint64_t base = watched[i % 100] - random % size;
        assert_true(release_filter_may_hold(&filter, base, size));
        if (size <= RELEASE_FILTER_REACH) {
            assert_true(release_filter_has(&filter, base));
            assert_true(release_filter_may_hold(&filter, base, 1));
        }
        alarms += release_filter_may_hold(&filter, next_random(&random) >> 17, 100);
    }
    assert_in_range(alarms, 1, 2000); /* 700 of 131072 words */
    for (unsigned i = 0; i < 100; i++)
        release_filter_unwatch(&filter, watched[i]);
    assert_filter_is_empty();
}

/* As many as are kept are told exactly, whatever their counts say. */
static void few_watches_are_told_exactly(void **state)
{
    (void)state;
    enum { FEW = RELEASE_FILTER_WATCHED };
    uint64_t random = 88172645463325252u;
    uint64_t watched[FEW];
    const uint64_t low = UINT64_C(0x7f1234560000);
    unsigned held = 0;
    for (unsigned round = 0; round < 50; round++) {
        for (unsigned i = 0; i < FEW; i++) {
            watched[i] = low + next_random(&random) % 8192;
            release_filter_watch(&filter, watched[i]);
        }
        for (unsigned i = 0; i < 1000; i++) {
            const uint64_t base = low + next_random(&random) % 8192, size = 1 + random % 200;
            bool truth = false;
            for (unsigned k = 0; k < FEW; k++)
                truth = truth || (watched[k] >= base && watched[k] < base + size);
            assert_int_equal(release_filter_may_hold(&filter, base, size), truth);
            held += truth;
        }
        for (unsigned i = 0; i < FEW; i++)
            release_filter_unwatch(&filter, watched[i]);
    }
    assert_in_range(held, 1000, 49000);
    assert_filter_is_empty();
}

/* Starts and watches in one place, in all orders: the filter has what one of them still needs. */
static void starts_and_watches_share_words(void **state)
{
    (void)state;
    enum { PLACES = 40 }; /* few enough for no count to reach its end */
    uint64_t random = 88172645463325252u;
    unsigned starts[PLACES] = {0}, watches[PLACES] = {0};
    const uint64_t low = UINT64_C(0x7f1234560000);
    for (unsigned step = 0; step < 20000; step++) {
        const unsigned i = next_random(&random) % PLACES;
        const uint64_t base = low + 48 * i;
        switch (random >> 20 & 3) {
        case 0:
            if (starts[i] < 3 && starts[i]++ < 3)
                release_filter_add(&filter, base);
            break;
        case 1:
            if (watches[i] < 3 && watches[i]++ < 3)
                release_filter_watch(&filter, base + 5);
            break;
        case 2:
            if (starts[i] > 0 && starts[i]-- > 0)
                release_filter_remove(&filter, base);
            break;
        default:
            if (watches[i] > 0 && watches[i]-- > 0)
                release_filter_unwatch(&filter, base + 5);
        }
        const unsigned asked = next_random(&random) % PLACES;
        if (starts[asked] > 0 || watches[asked] > 0)
            assert_true(release_filter_has(&filter, low + 48 * asked));
    }
    for (unsigned i = 0; i < PLACES; i++) {
        while (starts[i] > 0 && starts[i]-- > 0)
            release_filter_remove(&filter, low + 48 * i);
        while (watches[i] > 0 && watches[i]-- > 0)
            release_filter_unwatch(&filter, low + 48 * i + 5);
    }
    assert_filter_is_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_add_up),
        cmocka_unit_test(frames_before_are_known),
        cmocka_unit_test(endless_contexts_are_bounded),
        cmocka_unit_test(guard_recovers_from_jumps),
        cmocka_unit_test(watches_are_found),
        cmocka_unit_test(few_watches_are_told_exactly),
        cmocka_unit_test(starts_and_watches_share_words),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
