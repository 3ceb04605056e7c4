/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mappings of matrices whose best mapping is known: the threads' numbers are shuffled, so that no
 * obvious mapping is good, and the search must come back to the optimum or near it, in time.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "placement/mapping.h"
#include "placement/refine.h"
#include "placement/scotch_map.h"
#include "placement/search.h"
#include "placement/topology.h"
#include "sampling/random.h"
#include "support/instrumented.h"
#include "support/memory.h"

enum { SEED = 20240611 };

/* Seconds of CPU time that a search may take: several times what it does take (1 s, and 2.1 on a
 * slow machine that is busy), a fortieth of what a search that tries everything would. Sanitizers
 * slow it down. */
static const double time_limit = INSTRUMENTED ? 60 : 5;

struct known {
    struct placement_tree *tree;
    struct communication_matrix *matrix;
    uint32_t *best;     /* the mapping by which the matrix was made */
    uint32_t *thread;   /* of each position */
    uint32_t *capacity; /* packed */
    ARRAY(struct traffic_pair) pairs;
    size_t threads;
};

static void begin(struct known *known, const char *topology, size_t threads)
{
    char message[256] = "";
    struct random random;

    memset(known, 0, sizeof(*known));
    known->tree = topology_read(topology, threads, message, sizeof(message));
    if (known->tree == NULL)
        fail_msg("%s", message);
    known->threads = threads;
    known->thread = allocate_zeroed(threads, sizeof(uint32_t));
    known->best = allocate_zeroed(threads, sizeof(uint32_t));
    known->capacity = allocate_zeroed(known->tree->places, sizeof(uint32_t));
    capacity_packed(known->tree, threads, known->capacity);
    random_seed(&random, SEED);
    for (uint32_t i = 0; i < threads; i++)
        known->thread[i] = i;
    for (size_t i = threads; i > 1; i--) {
        uint32_t other = random_below(&random, (uint32_t)i), kept = known->thread[i - 1];

        known->thread[i - 1] = known->thread[other];
        known->thread[other] = kept;
    }
    for (uint32_t i = 0; i < threads; i++)
        known->best[known->thread[i]] = i % (uint32_t)known->tree->places;
}

static void add(struct known *known, size_t a, size_t b, double weight)
{
    ARRAY_PUSH(&known->pairs, ((struct traffic_pair){known->thread[a], known->thread[b], weight}));
}

static void end(struct known *known)
{
    matrix_free(known->matrix);
    tree_free(known->tree);
    free(known->best);
    free(known->thread);
    free(known->capacity);
    free(known->pairs.items);
}

static void check_capacities(const struct known *known, const uint32_t *place)
{
    uint32_t *held = allocate_zeroed(known->tree->places, sizeof(*held));

    for (size_t i = 0; i < known->threads; i++) {
        assert_true(place[i] < known->tree->places);
        held[place[i]]++;
    }
    for (size_t i = 0; i < known->tree->places; i++)
        assert_true(held[i] <= known->capacity[i]);
    free(held);
}

/* Searches; the cost may exceed the known one by `margin`. */
static void check_search(struct known *known, double margin)
{
    uint32_t *place = allocate_zeroed(known->threads, sizeof(*place));
    char message[256];
    double found, best;
    clock_t before;

    known->matrix = matrix_create(known->threads, known->pairs.items, known->pairs.count);
    before = clock();
    assert_true(search_mapping(known->matrix, known->tree, known->capacity, place, message,
                               sizeof(message)));
    if ((double)(clock() - before) / CLOCKS_PER_SEC > time_limit)
        fail_msg("took %g s", (double)(clock() - before) / CLOCKS_PER_SEC);
    check_capacities(known, place);
    found = mapping_hop_bytes(known->matrix, known->tree, place);
    best = mapping_hop_bytes(known->matrix, known->tree, known->best);
    if (found > best * (1 + margin) + 1e-9)
        fail_msg("hop-bytes %g, the best known mapping has %g", found, best);
    free(place);
    end(known);
}

static const char *const machines_of_1024[] = {
    "pack:4 l3:4 l2:4 core:16 pu:1", "pack:2 l3:8 core:64 pu:1", "pack:4 l3:4 l2:8 core:8 pu:1",
    "pack:16 l2:8 core:4 pu:2"};
/* A sanitizer sees in one of them what it sees in all. */
enum { MACHINES = INSTRUMENTED ? 1 : sizeof(machines_of_1024) / sizeof(*machines_of_1024) };

static void pairs_sit_together(void **state)
{
    (void)state;
    for (size_t m = 0; m < MACHINES; m++) {
        struct known known;

        begin(&known, machines_of_1024[m], 1024);
        for (size_t i = 0; i < known.threads; i += 2)
            add(&known, i, i + 1, 5);
        check_search(&known, 0);
    }
}

/* Exchanges alone do not find them. */
static void need_partitions(void)
{
    if (!scotch_is_built_in())
        skip();
}

static void ring_is_cut_into_arcs(void **state)
{
    (void)state;
    need_partitions();
    for (size_t m = 0; m < MACHINES; m++) {
        struct known known;

        begin(&known, machines_of_1024[m], 1024);
        for (size_t i = 0; i < known.threads; i++)
            add(&known, i, (i + 1) % known.threads, 3);
        check_search(&known, 0.05);
    }
}

/* The position in a walk that visits blocks of 2^k x 2^k cells one after the other. */
static size_t block_order(size_t x, size_t y)
{
    size_t at = 0;

    for (unsigned bit = 0; bit < 8; bit++)
        at |= (x >> bit & 1) << (2 * bit) | (y >> bit & 1) << (2 * bit + 1);
    return at;
}

/* Blocks of the grid: on these machines every group is a square or two of them side by side. */
static void grid_is_cut_into_blocks(void **state)
{
    (void)state;
    need_partitions();
    for (size_t m = 0; m < MACHINES; m++) {
        struct known known;

        begin(&known, machines_of_1024[m], 1024);
        for (size_t y = 0; y < 32; y++)
            for (size_t x = 0; x < 32; x++) {
                if (x + 1 < 32)
                    add(&known, block_order(x, y), block_order(x + 1, y), 7);
                if (y + 1 < 32)
                    add(&known, block_order(x, y), block_order(x, y + 1), 7);
            }
        check_search(&known, 0.05);
    }
}

/* Everybody talks to everybody, those of a cluster 50 times as much, with noise on all of it. */
static void clusters_stay_whole(void **state)
{
    (void)state;
    for (size_t m = 0; m < MACHINES; m++) {
        struct known known;
        struct random random;

        begin(&known, machines_of_1024[m], 1024);
        random_seed(&random, SEED);
        for (size_t i = 0; i < known.threads; i++)
            for (size_t k = i + 1; k < known.threads; k++)
                add(&known, i, k, (i / 8 == k / 8 ? 100 : 2) + random_below(&random, 2));
        check_search(&known, 0.01);
    }
}

static void small_problems_are_solved_exactly(void **state)
{
    static const char *const machines[] = {"pack:2 l3:2 core:4 pu:1", "l3:4 core:4 pu:1",
                                           "pack:2 core:4 pu:2"};
    (void)state;
    need_partitions();
    for (size_t m = 0; m < sizeof(machines) / sizeof(*machines); m++) {
        struct known known;

        begin(&known, machines[m], 16);
        for (size_t i = 0; i < 16; i++)
            add(&known, i, (i + 1) % 16, 1);
        check_search(&known, 0);
        begin(&known, machines[m], 16);
        for (size_t y = 0; y < 4; y++)
            for (size_t x = 0; x < 4; x++) {
                if (x + 1 < 4)
                    add(&known, block_order(x, y), block_order(x + 1, y), 1);
                if (y + 1 < 4)
                    add(&known, block_order(x, y), block_order(x, y + 1), 1);
            }
        check_search(&known, 0);
    }
}

/* Fewer threads than cores: they huddle, in groups that are as close as the machine has them. */
static void few_threads_are_packed(void **state)
{
    struct known known;

    (void)state;
    begin(&known, "pack:4 l3:4 l2:8 core:8 pu:1", 8);
    for (size_t i = 0; i < 8; i++)
        add(&known, i, (i + 1) % 8, 1);
    check_search(&known, 0);
    begin(&known, "pack:2 l3:2 core:3 pu:1", 5);
    for (size_t i = 0; i < 5; i++)
        for (size_t k = i + 1; k < 5; k++)
            add(&known, i, k, i < 3 && k < 3 ? 100 : 1);
    check_search(&known, 0);
}

/* More threads than CPUs: as many at each as evenness allows, partners at the same one. */
static void oversubscription_is_even(void **state)
{
    struct known known;
    uint32_t capacity[12], place[30], held[12] = {0};
    char message[256];

    (void)state;
    begin(&known, "pack:2 l3:2 core:3 pu:1", 30);
    capacity_packed(known.tree, 30, capacity);
    for (size_t i = 0; i < 12; i++)
        assert_in_range(capacity[i], 2, 3);
    for (size_t i = 0; i < 30; i += 2)
        add(&known, i, i + 1, 4);
    known.matrix = matrix_create(30, known.pairs.items, known.pairs.count);
    assert_true(
        search_mapping(known.matrix, known.tree, capacity, place, message, sizeof(message)));
    for (size_t i = 0; i < 30; i++)
        held[place[i]]++;
    for (size_t i = 0; i < 12; i++)
        assert_int_equal(held[i], capacity[i]);
    /* A place of three has one thread whose partner is at another such place. They come six times,
     * twice in one cache of each package and once in the other. */
    assert_float_equal(mapping_hop_bytes(known.matrix, known.tree, place), 4 * (2 + 2 + 6), 1e-9);
    end(&known);
}

/* An uneven machine: a package with two caches of four cores, and one with a cache of two. */
static void uneven_machines_are_mapped(void **state)
{
    struct placement_tree tree = {.level_count = 3, .places = 10};
    uint32_t package[10] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1}, machine[10] = {0};
    uint32_t cache[10] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2};
    uint32_t capacity[10], place[10];
    struct traffic_pair pairs[13];
    struct communication_matrix *matrix;
    char message[256];
    size_t count = 0;

    (void)state;
    tree.levels[0] = (struct tree_level){.groups = 1, .group = machine};
    tree.levels[1] = (struct tree_level){.groups = 2, .group = package};
    tree.levels[2] = (struct tree_level){.groups = 3, .group = cache};
    /* Cliques of four (odd numbers up to 7, even ones from 2 to 8) and the pair of 0 and 9. */
    for (uint32_t a = 1; a <= 8; a++)
        for (uint32_t b = a + 2; b <= 8; b += 2)
            pairs[count++] = (struct traffic_pair){a, b, 10};
    pairs[count++] = (struct traffic_pair){0, 9, 10};
    assert_int_equal(count, 13);
    matrix = matrix_create(10, pairs, count);
    capacity_packed(&tree, 10, capacity);
    assert_true(search_mapping(matrix, &tree, capacity, place, message, sizeof(message)));
    assert_float_equal(mapping_hop_bytes(matrix, &tree, place), 13 * 10 * 2, 1e-9);
    matrix_free(matrix);
}

/* The same matrix gives the same mapping, whatever was searched before. */
static void results_do_not_depend_on_history(void **state)
{
    struct known known;
    uint32_t place[2][256];
    char message[256];

    (void)state;
    begin(&known, "pack:2 l3:4 core:32 pu:1", 256);
    for (size_t i = 0; i < 256; i++)
        for (size_t step = 1; step < 64; step *= 4)
            add(&known, i, (i + step) % 256, 3);
    known.matrix = matrix_create(256, known.pairs.items, known.pairs.count);
    for (size_t i = 0; i < 2; i++)
        assert_true(search_mapping(known.matrix, known.tree, known.capacity, place[i], message,
                                   sizeof(message)));
    assert_memory_equal(place[0], place[1], sizeof(place[0]));
    end(&known);
}

/* Refinement alone finds its way from the worst mapping, and never makes one worse. */
static void refinement_only_improves(void **state)
{
    struct known known;
    uint32_t place[64];
    double before, after;

    (void)state;
    begin(&known, "pack:2 l3:4 core:8 pu:1", 64);
    for (size_t i = 0; i < 64; i++)
        for (size_t k = i + 1; k < 64; k++)
            add(&known, i, k, i / 8 == k / 8 ? 100 : 1);
    known.matrix = matrix_create(64, known.pairs.items, known.pairs.count);
    assert_true(refine_mapping(known.matrix, known.tree, known.capacity, known.best));
    after = mapping_hop_bytes(known.matrix, known.tree, known.best);
    /* 8 cliques of 28 pairs; 6 pairs of caches in each package; 32 x 32 pairs between the packages.
     */
    assert_float_equal(after, 8 * 28 * 100 * 2 + 2 * 6 * 64 * 4 + 32 * 32 * 6, 1e-6);
    for (uint32_t i = 0; i < 64; i++)
        place[known.thread[i]] = i % 8 * 8 + i / 8;
    before = mapping_hop_bytes(known.matrix, known.tree, place);
    assert_true(refine_mapping(known.matrix, known.tree, known.capacity, place));
    assert_true(mapping_hop_bytes(known.matrix, known.tree, place) < before);
    end(&known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_sit_together),
        cmocka_unit_test(ring_is_cut_into_arcs),
        cmocka_unit_test(grid_is_cut_into_blocks),
        cmocka_unit_test(clusters_stay_whole),
        cmocka_unit_test(small_problems_are_solved_exactly),
        cmocka_unit_test(few_threads_are_packed),
        cmocka_unit_test(oversubscription_is_even),
        cmocka_unit_test(uneven_machines_are_mapped),
        cmocka_unit_test(results_do_not_depend_on_history),
        cmocka_unit_test(refinement_only_improves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
