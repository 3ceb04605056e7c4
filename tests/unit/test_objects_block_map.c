/* SPDX-License-Identifier: BSD-3-Clause */
/* The block map against a plain sorted list of blocks, and under concurrent writers and readers. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "objects/block_map.h"
#include "support/test_seed.h"

struct budget {
    _Atomic size_t left;
};

static void *budget_pages(void *context, size_t bytes)
{
    struct budget *budget = context;
    if (atomic_load(&budget->left) < bytes)
        return NULL;
    atomic_fetch_sub(&budget->left, bytes);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static struct block_map *new_map(struct budget *budget, size_t bytes)
{
    atomic_store(&budget->left, bytes);
    void *memory = mmap(NULL, block_map_size(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return block_map_create(memory, budget_pages, budget);
}

static bool insert(struct block_map *map, uint64_t base, uint64_t size, uint32_t site)
{
    return block_map_insert(map, &(struct block){.base = base, .size = size, .site = site});
}

static void drop_map(struct block_map *map)
{
    munmap(map, block_map_size());
}

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void seed_random(void)
{
    random_state = test_seed() * 2654435761u + 1; /* never 0 */
}

/* The oracle: live blocks, sorted by base. */
enum { ORACLE_MAX = 4096 };
struct oracle {
    size_t count;
    struct block blocks[ORACLE_MAX];
};

/* Index of the first block whose base is above address. */
static size_t upper_bound(const struct oracle *oracle, uint64_t address)
{
    size_t low = 0, high = oracle->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (oracle->blocks[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct block *oracle_find(const struct oracle *oracle, uint64_t address)
{
    const size_t i = upper_bound(oracle, address);
    if (i == 0)
        return NULL;
    const struct block *block = &oracle->blocks[i - 1];
    return address - block->base < block->size ? block : NULL;
}

/* Adds the block if it overlaps no other. */
static bool oracle_insert(struct oracle *oracle, struct block block)
{
    const size_t i = upper_bound(oracle, block.base);
    if (oracle->count == ORACLE_MAX ||
        (i > 0 && block.base - oracle->blocks[i - 1].base < oracle->blocks[i - 1].size) ||
        (i < oracle->count && oracle->blocks[i].base - block.base < block.size))
        return false;
    memmove(&oracle->blocks[i + 1], &oracle->blocks[i],
            (oracle->count++ - i) * sizeof oracle->blocks[0]);
    oracle->blocks[i] = block;
    return true;
}

static void oracle_remove(struct oracle *oracle, size_t i)
{
    memmove(&oracle->blocks[i], &oracle->blocks[i + 1],
            (--oracle->count - i) * sizeof oracle->blocks[0]);
}

static void assert_same(const struct block_map *map, const struct oracle *oracle, uint64_t address)
{
    const struct block *expected = oracle_find(oracle, address);
    struct block found = {0};
    const bool is_found = block_map_find(map, address, &found);
    if (is_found != (expected != NULL) ||
        (expected != NULL &&
         (found.base != expected->base || found.size != expected->size ||
          found.site != expected->site || found.tracked_log2 != expected->tracked_log2)))
        fail_msg("address %#llx: found %d %#llx+%llu site %u, expected %#llx+%llu site %u",
                 (unsigned long long)address, is_found, (unsigned long long)found.base,
                 (unsigned long long)found.size, found.site,
                 (unsigned long long)(expected != NULL ? expected->base : 0),
                 (unsigned long long)(expected != NULL ? expected->size : 0),
                 expected != NULL ? expected->site : 0);
}

/* Random blocks in [low, low + extent), sizes up to 2^size_bits, bases aligned to `alignment`. */
static void random_history(uint64_t low, uint64_t extent, unsigned size_bits, uint64_t alignment,
                           unsigned steps)
{
    static struct oracle oracle;
    oracle.count = 0;
    struct budget budget;
    struct block_map *map = new_map(&budget, SIZE_MAX);
    for (unsigned step = 0; step < steps; step++) {
        if (next_random() % 5 < 3) {
            struct block block = {
                .base = low + next_random() % extent / alignment * alignment,
                .size =
                    1 + (next_random() & ((UINT64_C(1) << next_random() % (size_bits + 1)) - 1)),
                .site = 1 + (uint32_t)(next_random() % BLOCK_SITE_MAX)};
            block.tracked_log2 = next_random() % 6 * 2;
            if (oracle_insert(&oracle, block))
                assert_true(block_map_insert(map, &block));
        } else if (oracle.count > 0) {
            const size_t i = next_random() % oracle.count;
            struct block removed;
            assert_true(block_map_remove(map, oracle.blocks[i].base, &removed));
            assert_int_equal(removed.base, oracle.blocks[i].base);
            assert_int_equal(removed.size, oracle.blocks[i].size);
            assert_int_equal(removed.site, oracle.blocks[i].site);
            assert_int_equal(removed.tracked_log2, oracle.blocks[i].tracked_log2);
            assert_false(block_map_remove(map, removed.base, &removed));
            oracle_remove(&oracle, i);
        }
        assert_same(map, &oracle, low + next_random() % extent);
        if (oracle.count > 0) {
            const struct block *block = &oracle.blocks[next_random() % oracle.count];
            assert_same(map, &oracle, block->base);
            assert_same(map, &oracle, block->base + block->size - 1);
            assert_same(map, &oracle, block->base + block->size);
            assert_same(map, &oracle, block->base - 1);
            assert_same(map, &oracle, block->base + next_random() % block->size);
        }
    }
    while (oracle.count > 0) {
        struct block removed;
        assert_true(block_map_remove(map, oracle.blocks[oracle.count - 1].base, &removed));
        oracle_remove(&oracle, oracle.count - 1);
    }
    for (unsigned i = 0; i < 1000; i++)
        assert_same(map, &oracle, low + next_random() % extent);
    drop_map(map);
}

static void blocks_that_share_cells(void **state)
{
    (void)state;
    random_history(UINT64_C(0x7f0000001000), 4096, 5, 8, 20000);
}

static void blocks_that_share_pages(void **state)
{
    (void)state;
    random_history(UINT64_C(0x555555554000), 64 << 10, 9, 8, 20000);
    random_history(UINT64_C(0x555555554000), 1 << 20, 13, 16, 20000);
}

static void blocks_of_many_pages(void **state)
{
    (void)state;
    random_history(UINT64_C(0x7fffc0000000), 64 << 20, 16, 16, 20000);
}

static void blocks_of_all_sizes(void **state)
{
    (void)state;
    random_history(UINT64_C(0x7f8000000000), UINT64_C(1) << 38, 36, 8, 3000);
}

static void exhaustive_around_a_page(void **state)
{
    (void)state;
    const uint64_t page = UINT64_C(0x7f1234567000);
    for (uint64_t base = page; base < page + 4096; base += 264) {
        for (uint64_t size = 1; size < 13000; size += 509) {
            struct budget budget;
            struct block_map *map = new_map(&budget, SIZE_MAX);
            assert_true(insert(map, base, size, 7));
            for (uint64_t address = page - 4096; address < page + 5 * 4096; address += 37) {
                struct block found;
                assert_int_equal(block_map_find(map, address, &found), address - base < size);
            }
            drop_map(map);
        }
    }
}

static void huge_block_is_cheap(void **state)
{
    (void)state;
    struct budget budget;
    struct block_map *map = new_map(&budget, SIZE_MAX);
    const uint64_t base = UINT64_C(0x7e0000003000), size = UINT64_C(100) << 30;
    assert_true(insert(map, base, size, 3));
    struct block_map_statistics statistics;
    block_map_statistics(map, &statistics);
    assert_true(statistics.node_bytes <= BLOCK_MAP_CHUNK);
    struct block found;
    for (unsigned i = 0; i < 10000; i++) {
        assert_true(block_map_find(map, base + next_random() % size, &found));
        assert_int_equal(found.base, base);
        assert_int_equal(found.size, size);
    }
    assert_false(block_map_find(map, base - 1, &found));
    assert_false(block_map_find(map, base + size, &found));
    assert_true(block_map_remove(map, base, &found));
    assert_false(block_map_find(map, base + size / 2, &found));
    drop_map(map);
}

static void edges_of_the_address_space(void **state)
{
    (void)state;
    struct budget budget;
    struct block_map *map = new_map(&budget, SIZE_MAX);
    struct block found;
    struct block_map_statistics statistics;
    const uint64_t end = UINT64_C(1) << 48;
    assert_true(insert(map, end - 8192, 8192, 1));
    assert_true(block_map_find(map, end - 1, &found));
    assert_false(block_map_find(map, end, &found));
    assert_false(block_map_find(map, UINT64_MAX, &found));
    assert_true(insert(map, 8, 100, 2));
    assert_true(block_map_find(map, 107, &found));
    assert_false(block_map_find(map, 0, &found));
    assert_false(insert(map, end, 16, 1));          /* five-level page tables */
    assert_false(insert(map, end - 4096, 8192, 1)); /* across the end */
    assert_false(insert(map, 4096, UINT64_MAX, 1));
    assert_false(insert(map, 4097, 10, 1)); /* not aligned */
    assert_false(insert(map, 4096, 10, 0));
    assert_false(insert(map, 4096, 10, BLOCK_SITE_MAX + 1));
    block_map_statistics(map, &statistics);
    assert_int_equal(statistics.untracked, 6);
    assert_false(block_map_remove(map, end, &found));
    assert_true(insert(map, 65536, 0, 9));
    assert_true(block_map_find(map, 65536, &found));
    assert_int_equal(found.size, 1);
    drop_map(map);
}

static void unseen_release_is_replaced(void **state)
{
    (void)state;
    struct budget budget;
    struct block_map *map = new_map(&budget, SIZE_MAX);
    struct block found;
    assert_true(insert(map, 0x10000, 64, 1));
    assert_true(insert(map, 0x10000, 100000, 2));
    assert_true(insert(map, 0x10000, 200000, 3));
    assert_true(block_map_remove(map, 0x10000, &found));
    assert_int_equal(found.site, 3);
    assert_false(block_map_find(map, 0x10000, &found));
    assert_true(insert(map, 0x20000, 64, 1));
    assert_true(insert(map, 0x20000, 48, 2));
    assert_true(block_map_remove(map, 0x20000, &found));
    assert_int_equal(found.site, 2);
    assert_false(block_map_find(map, 0x20000, &found));
    /* Of another probability: in another table. */
    for (uint8_t i = 0; i < 4; i++)
        assert_true(block_map_insert(
            map, &(struct block){.base = 0x30008, .size = 8, .site = i + 1, .tracked_log2 = i}));
    assert_true(block_map_insert(
        map, &(struct block){.base = 0x30008, .size = 16, .site = 9, .tracked_log2 = 1}));
    assert_true(block_map_remove(map, 0x30008, &found));
    assert_int_equal(found.site, 9);
    assert_int_equal(found.tracked_log2, 1);
    assert_false(block_map_remove(map, 0x30008, &found));
    drop_map(map);
}

static void next_walks_in_order(void **state)
{
    (void)state;
    struct budget budget;
    struct block_map *map = new_map(&budget, SIZE_MAX);
    struct block found;
    const uint64_t low = UINT64_C(0x7f0000000000), high = low + (UINT64_C(8) << 30);
    assert_false(block_map_next(map, 0, UINT64_C(1) << 48, &found));
    for (unsigned round = 0; round < 200; round++) {
        struct oracle *oracle = calloc(1, sizeof *oracle);
        for (unsigned i = 0; i < 20; i++) {
            const struct block block = {.base = low + next_random() % (high - low) / 4096 * 4096,
                                        .size =
                                            (1 + next_random() % (1u << next_random() % 20)) * 4096,
                                        .site = 1};
            if (block.base + block.size <= high && oracle_insert(oracle, block))
                assert_true(block_map_insert(map, &block));
        }
        uint64_t from = low + next_random() % (high - low) / 4096 * 4096;
        const struct block *within = oracle_find(oracle, from);
        size_t i = within != NULL ? (size_t)(within - oracle->blocks) : upper_bound(oracle, from);
        for (; i < oracle->count; i++) {
            assert_false(
                block_map_next(map, from, within != NULL ? from : oracle->blocks[i].base, &found));
            assert_true(block_map_next(map, from, high, &found));
            assert_int_equal(found.base, oracle->blocks[i].base);
            assert_int_equal(found.size, oracle->blocks[i].size);
            from = found.base + found.size;
            within = NULL;
        }
        assert_false(block_map_next(map, from, high, &found));
        for (i = 0; i < oracle->count; i++)
            assert_true(block_map_remove(map, oracle->blocks[i].base, &found));
        free(oracle);
    }
    drop_map(map);
}

static void page_seen_tells_heap_pages(void **state)
{
    (void)state;
    struct budget budget;
    struct block_map *map = new_map(&budget, SIZE_MAX);
    struct block found;
    assert_false(block_map_page_seen(map, 0x10010));
    assert_true(insert(map, 0x10000, 16, 1));
    assert_true(block_map_remove(map, 0x10000, &found));
    assert_true(block_map_page_seen(map, 0x10ff0));
    assert_false(block_map_page_seen(map, 0x11000));
    assert_false(block_map_page_seen(map, UINT64_MAX));
    assert_true(block_map_near_untracked(map, 0x1ffff0));
    assert_false(block_map_near_untracked(map, 0x200000));
    assert_false(block_map_near_untracked(map, UINT64_MAX));
    /* Every 2 MiB that an untracked block touches, in tables that it may have to make. */
    block_map_note_untracked(map, 0x7fffbff0, 0x240000);
    block_map_note_untracked(map, UINT64_MAX - 10, 5);
    block_map_note_untracked(map, 0x500000000, 0);
    assert_false(block_map_near_untracked(map, 0x7fdfffff));
    assert_true(block_map_near_untracked(map, 0x7fe00000));
    assert_true(block_map_near_untracked(map, 0x80000000));
    assert_true(block_map_near_untracked(map, 0x803fffff));
    assert_false(block_map_near_untracked(map, 0x80400000));
    assert_false(block_map_near_untracked(map, 0x500000000));
    assert_false(block_map_find(map, 0x7fffc000, &found));
    drop_map(map);
}

static void exhausted_budget_is_counted(void **state)
{
    (void)state;
    struct budget budget;
    struct block_map *map = new_map(&budget, 4 * BLOCK_MAP_CHUNK);
    static bool tracked[4000];
    unsigned untracked = 0;
    for (unsigned i = 0; i < 4000; i++) {
        /* Small blocks, and large ones of which some fail half way. */
        const uint64_t base = UINT64_C(0x7f0000000000) + (uint64_t)i * (3 << 20);
        tracked[i] = insert(map, base + 4096 - 16, i % 2 ? 40 : 2500000, 1 + i);
        untracked += !tracked[i];
    }
    struct block_map_statistics statistics;
    block_map_statistics(map, &statistics);
    assert_in_range(untracked, 1000, 3999);
    assert_int_equal(statistics.untracked, untracked);
    assert_int_equal(statistics.node_bytes, 4 * BLOCK_MAP_CHUNK);
    for (unsigned i = 0; i < 4000; i++) {
        const uint64_t base = UINT64_C(0x7f0000000000) + (uint64_t)i * (3 << 20) + 4096 - 16;
        struct block found;
        for (uint64_t offset = 0; offset < (i % 2 ? 40 : 2500000); offset += 39999)
            assert_int_equal(block_map_find(map, base + offset, &found), tracked[i]);
        assert_int_equal(block_map_remove(map, base, &found), tracked[i]);
    }
    drop_map(map);
}

/*
 * Writers own interleaved slots of the same pages (their blocks share cells and pages), and readers
 * ask for blocks that are stable all the while and lie between them.
 */
enum { WRITERS = 3, READERS = 2, SLOT = 128, SLOTS = 2000, LARGE_SLOT = 5 << 20, LARGE_SLOTS = 6 };

struct shared {
    struct block_map *map;
    _Atomic bool stop;
    _Atomic unsigned errors;
};

struct worker {
    struct shared *shared;
    pthread_t thread;
    unsigned index;
};

static const uint64_t small_base = UINT64_C(0x7f4000000000);
static const uint64_t large_base = UINT64_C(0x7f6000000ff0);

static uint32_t mix(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void *write_blocks(void *argument)
{
    struct worker *worker = argument;
    struct block_map *map = worker->shared->map;
    uint32_t state = worker->index + 1;
    unsigned errors = 0;
    for (unsigned round = 0; round < 60000; round++) {
        /* Each slot of 128 bytes: a stable block of 24 at 0, writer w's of 24 at 32 * (w + 1). */
        const bool large = round % 64 == 0;
        const uint64_t base =
            large ? large_base +
                        (uint64_t)(mix(&state) % LARGE_SLOTS * (WRITERS + 1) + 1 + worker->index) *
                            LARGE_SLOT
                  : small_base + (uint64_t)(mix(&state) % SLOTS) * SLOT + 32 * (worker->index + 1);
        const uint64_t size = large ? 1 + mix(&state) % LARGE_SLOT : 1 + mix(&state) % 24;
        const uint32_t site = 1 + mix(&state) % BLOCK_SITE_MAX;
        struct block found;
        errors += !insert(map, base, size, site);
        errors += !block_map_find(map, base + size - 1, &found) || found.base != base ||
                  found.size != size || found.site != site;
        errors += !block_map_remove(map, base, &found) || found.base != base ||
                  found.size != size || found.site != site;
        errors += block_map_find(map, base, &found);
    }
    atomic_fetch_add(&worker->shared->errors, errors);
    return NULL;
}

static void *read_blocks(void *argument)
{
    struct worker *worker = argument;
    const struct block_map *map = worker->shared->map;
    uint32_t state = worker->index + 100;
    unsigned errors = 0;
    while (!atomic_load(&worker->shared->stop)) {
        const unsigned slot = mix(&state) % SLOTS;
        uint64_t base = small_base + (uint64_t)slot * SLOT;
        struct block found;
        errors += !block_map_find(map, base + mix(&state) % 24, &found) || found.base != base ||
                  found.size != 24 || found.site != 1 + slot;
        const unsigned large = mix(&state) % LARGE_SLOTS;
        base = large_base + (uint64_t)large * (WRITERS + 1) * LARGE_SLOT;
        errors += !block_map_find(map, base + mix(&state) % LARGE_SLOT, &found) ||
                  found.base != base || found.size != LARGE_SLOT || found.site != 1 + large;
        /* A block in flux is found whole or not at all. */
        const uint64_t address = base + LARGE_SLOT + mix(&state) % (WRITERS * LARGE_SLOT);
        errors += block_map_find(map, address, &found) && address - found.base >= found.size;
    }
    atomic_fetch_add(&worker->shared->errors, errors);
    return NULL;
}

static void concurrent_writers_and_readers(void **state)
{
    (void)state;
    struct budget budget;
    struct shared shared = {.map = new_map(&budget, SIZE_MAX)};
    for (unsigned i = 0; i < SLOTS; i++)
        assert_true(insert(shared.map, small_base + (uint64_t)i * SLOT, 24, 1 + i));
    for (unsigned i = 0; i < LARGE_SLOTS; i++)
        assert_true(insert(shared.map, large_base + (uint64_t)i * (WRITERS + 1) * LARGE_SLOT,
                           LARGE_SLOT, 1 + i));
    struct worker workers[WRITERS + READERS];
    for (unsigned i = 0; i < WRITERS + READERS; i++) {
        workers[i] = (struct worker){.shared = &shared, .index = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL,
                                        i < WRITERS ? write_blocks : read_blocks, &workers[i]),
                         0);
    }
    for (unsigned i = 0; i < WRITERS + READERS; i++) {
        if (i == WRITERS)
            atomic_store(&shared.stop, true);
        pthread_join(workers[i].thread, NULL);
    }
    assert_int_equal(atomic_load(&shared.errors), 0);
    drop_map(shared.map);
}

int main(void)
{
    seed_random();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_share_cells),
        cmocka_unit_test(blocks_that_share_pages),
        cmocka_unit_test(blocks_of_many_pages),
        cmocka_unit_test(blocks_of_all_sizes),
        cmocka_unit_test(exhaustive_around_a_page),
        cmocka_unit_test(huge_block_is_cheap),
        cmocka_unit_test(edges_of_the_address_space),
        cmocka_unit_test(unseen_release_is_replaced),
        cmocka_unit_test(next_walks_in_order),
        cmocka_unit_test(page_seen_tells_heap_pages),
        cmocka_unit_test(exhausted_budget_is_counted),
        cmocka_unit_test(concurrent_writers_and_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
