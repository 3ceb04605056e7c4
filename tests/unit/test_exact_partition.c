/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitioned stacks: against separate stacks, and against the published sector-cache study of
 * dense matrix transposed vector multiplication (Breiter, LMU Munich 2022; figures of an own
 * simulation, within 1 % of the published ones): 500 x 5000 doubles, lines of 256 bytes, L1 of 64
 * KiB with 4 ways.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reuse/exact_partition.h"
#include "sampling/random.h"
#include "support/test_seed.h"

enum { OBJECTS = 3, REGIONS = 3 };

static uint32_t object_by_residue(void *context, uint64_t line)
{
    (void)context;
    return (uint32_t)(line % OBJECTS);
}

/* A candidate added at any time goes on as if it had been there from the start. */
static void late_candidates_agree_with_early_ones(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    struct random random;
    random_seed(&random, seed);
    for (int round = 0; round < 40; round++) {
        struct exact_stack everything, parts[OBJECTS], others[OBJECTS];
        struct exact_partitions partitions = {0};
        struct exact_counts before;
        struct exact_tally *want = calloc(2 * OBJECTS * REGIONS, sizeof *want);
        assert_true(exact_counts_create(&before, 1));
        assert_true(exact_stack_create(&everything));
        for (int i = 0; i < OBJECTS; i++) {
            assert_true(exact_stack_create(&parts[i]));
            assert_true(exact_stack_create(&others[i]));
        }
        uint32_t lines = 1 + random_below(&random, 400);
        int late = (int)random_below(&random, 3000);
        for (int step = 0; step < 6000; step++) {
            if (step == late)
                for (uint32_t i = 0; i < OBJECTS; i++)
                    assert_true(exact_partition_add(&partitions, i, &everything, &before,
                                                    object_by_residue, NULL));
            uint64_t line = random_below(&random, lines);
            uint32_t object = object_by_residue(NULL, line);
            uint32_t region = random_below(&random, REGIONS);
            exact_stack_use(&everything, line);
            for (uint32_t i = 0; i < OBJECTS; i++) {
                struct exact_reuse reuse =
                    exact_stack_use(i == object ? &parts[i] : &others[i], line);
                struct exact_tally *counts = &want[(2 * i + (i == object)) * REGIONS + region];
                if (step < late)
                    continue;
                counts->accesses++;
                if (reuse.distance == EXACT_STACK_COLD)
                    counts->cold++;
                else
                    counts->distance[exact_bin_of(reuse.distance)]++;
            }
            exact_partitions_use(&partitions, object, region, line);
        }
        for (uint32_t i = 0; i < OBJECTS; i++) {
            for (uint32_t k = 0; k < 2 * REGIONS; k++) {
                struct exact_tallies *counts = &partitions.items[i].counts[k / REGIONS];
                assert_memory_equal(exact_tallies_at(counts, k % REGIONS),
                                    &want[2 * REGIONS * i + k], sizeof *want);
            }
            exact_stack_destroy(&parts[i]);
            exact_stack_destroy(&others[i]);
        }
        exact_partitions_destroy(&partitions);
        exact_stack_destroy(&everything);
        exact_counts_destroy(&before);
        free(want);
    }
}

/* Members of a group that appear while it runs share one part, each with counts of its own. */
static void groups_agree_with_separate_stacks(void **state)
{
    (void)state;
    enum { STEPS = 6000, GROUPED = 2 };
    uint64_t seed = test_seed();
    struct random random;
    random_seed(&random, seed);
    for (int round = 0; round < 40; round++) {
        struct exact_stack part, others;
        struct exact_partitions partitions = {0};
        struct exact_tally *want = calloc(1 + GROUPED, sizeof *want);
        bool joined[OBJECTS] = {false};
        assert_true(exact_stack_create(&part) && exact_stack_create(&others));
        assert_true(exact_partition_add_group(&partitions));
        uint32_t lines = 1 + random_below(&random, 400);
        for (int step = 0; step < STEPS; step++) {
            uint64_t line = random_below(&random, lines);
            uint32_t object = object_by_residue(NULL, line);
            bool grouped = object < GROUPED;
            /* In the order in which they are used first, whatever their numbers. */
            if (grouped && !joined[object])
                joined[object] = exact_partition_join(&partitions.items[0], object);
            struct exact_reuse reuse = exact_stack_use(grouped ? &part : &others, line);
            unsigned place = 0;
            while (grouped && partitions.items[0].members[place++] != object)
                ;
            want[place].accesses++;
            if (reuse.distance == EXACT_STACK_COLD)
                want[place].cold++;
            else
                want[place].distance[exact_bin_of(reuse.distance)]++;
            exact_partitions_use(&partitions, object, 0, line);
        }
        for (unsigned place = 0; place <= partitions.items[0].member_count; place++)
            assert_memory_equal(exact_tallies_at(&partitions.items[0].counts[place], 0),
                                &want[place], sizeof *want);
        exact_partitions_destroy(&partitions);
        exact_stack_destroy(&part);
        exact_stack_destroy(&others);
        free(want);
    }
    struct exact_partitions full = {0};
    assert_true(exact_partition_add_group(&full));
    for (uint32_t i = 0; i < EXACT_MEMBERS_MAX; i++)
        assert_true(exact_partition_join(&full.items[0], i));
    assert_false(exact_partition_join(&full.items[0], EXACT_MEMBERS_MAX));
    exact_partitions_destroy(&full);
}

/* dmtvm as the study has it: init writes m, b, x; then x[j] += m[i][j] * b[i]. */
enum { ROWS = 500, COLUMNS = 5000, LINE = 256, B = 0, X = 1, M = 2 };
static const uint64_t bases[] = {[B] = 0x1000000, [X] = 0x2000000, [M] = 0x4000000};

struct dmtvm {
    struct exact_stack everything;
    struct exact_partitions partitions;
    struct exact_tallies all;
};

static uint32_t object_by_base(void *context, uint64_t line)
{
    (void)context;
    uint64_t address = line * LINE;
    return address >= bases[M] ? M : address >= bases[X] ? X : B;
}

static void use(struct dmtvm *dmtvm, uint32_t object, uint64_t index)
{
    uint64_t line = (bases[object] + index * sizeof(double)) / LINE;
    struct exact_reuse reuse = exact_stack_use(&dmtvm->everything, line);
    exact_tallies_use(&dmtvm->all, 0, reuse.distance);
    exact_partitions_use(&dmtvm->partitions, object, 0, line);
}

static uint64_t misses(const struct exact_tallies *tallies, uint64_t lines)
{
    const struct exact_tally *counts = tallies->items[0];
    uint64_t sum = counts->cold;
    for (uint32_t bin = 0; bin < EXACT_BIN_COLD; bin++)
        if (exact_bin_low(bin) >= lines)
            sum += counts->distance[bin];
    return sum;
}

/* Misses when `object` has `ways` of the cache's `all` ways of `lines_per_way` lines. */
static uint64_t isolated(const struct dmtvm *dmtvm, uint32_t object, uint64_t ways, uint64_t all,
                         uint64_t lines_per_way)
{
    const struct exact_partition *partition = &dmtvm->partitions.items[object];
    return misses(&partition->counts[1], ways * lines_per_way) +
           misses(&partition->counts[0], (all - ways) * lines_per_way);
}

static void close_to(uint64_t got, uint64_t published)
{
    /* 0.1 %: the figures depend on what the study counts of the few accesses between the loops. */
    assert_in_range(got, published - published / 1000, published + published / 1000);
}

static void sector_cache_of_the_a64fx(void **state)
{
    (void)state;
    static struct dmtvm dmtvm;
    struct exact_counts before;
    assert_true(exact_counts_create(&before, 1));
    assert_true(exact_stack_create(&dmtvm.everything));
    for (uint32_t object = B; object <= M; object++)
        assert_true(exact_partition_add(&dmtvm.partitions, object, &dmtvm.everything, &before,
                                        object_by_base, NULL));
    for (uint64_t i = 0; i < ROWS * COLUMNS; i++)
        use(&dmtvm, M, i);
    for (uint64_t i = 0; i < ROWS; i++)
        use(&dmtvm, B, i);
    for (uint64_t j = 0; j < COLUMNS; j++)
        use(&dmtvm, X, j);
    for (uint64_t i = 0; i < ROWS; i++)
        for (uint64_t j = 0; j < COLUMNS; j++) {
            use(&dmtvm, M, i * COLUMNS + j);
            use(&dmtvm, B, i);
            use(&dmtvm, X, j);
            use(&dmtvm, X, j);
        }
    /* L1: 4 ways of 64 lines. */
    close_to(misses(&dmtvm.all, 256), 234831);
    close_to(isolated(&dmtvm, M, 1, 4, 64), 156423);
    close_to(isolated(&dmtvm, M, 2, 4, 64), 234932);
    close_to(isolated(&dmtvm, M, 3, 4, 64), 234932);
    close_to(isolated(&dmtvm, X, 3, 4, 64), 156440);
    close_to(isolated(&dmtvm, X, 1, 4, 64), 234940);
    /* Isolating b changes nothing to the better. */
    assert_true(isolated(&dmtvm, B, 1, 4, 64) >= misses(&dmtvm.all, 256));
    /* L2: 16 ways of 2048 lines. */
    close_to(misses(&dmtvm.all, 16 * 2048), 156432);
    close_to(isolated(&dmtvm, M, 2, 16, 2048), 156423);
    exact_partitions_destroy(&dmtvm.partitions);
    exact_stack_destroy(&dmtvm.everything);
    exact_tallies_destroy(&dmtvm.all);
    exact_counts_destroy(&before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_candidates_agree_with_early_ones),
        cmocka_unit_test(groups_agree_with_separate_stacks),
        cmocka_unit_test(sector_cache_of_the_a64fx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
