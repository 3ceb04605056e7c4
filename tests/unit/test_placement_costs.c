/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies, costs, baselines and shared caches, against figures worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "placement/binding.h"
#include "placement/cache_share.h"
#include "placement/mapping.h"
#include "placement/topology.h"

static char message[256];

static struct placement_tree *read_topology(const char *source, size_t threads)
{
    struct placement_tree *tree = topology_read(source, threads, message, sizeof(message));

    if (tree == NULL)
        fail_msg("%s", message);
    return tree;
}

static void levels_that_separate_are_kept(void **state)
{
    struct placement_tree *tree = read_topology("pack:2 l3:2 l2:1 core:4 pu:2", 16);

    (void)state;
    assert_int_equal(tree->level_count, 3);
    assert_string_equal(tree->levels[0].name, "machine");
    assert_string_equal(tree->levels[1].name, "package");
    assert_string_equal(tree->levels[2].name, "L2 cache"); /* innermost of two with one extent */
    assert_int_equal(tree->places, 16);
    assert_string_equal(tree->unit, "core");
    assert_true(tree->hypothetical);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(tree->cpu[i], 2 * i); /* the first CPU of each core */
    assert_int_equal(tree_distance(tree, 3, 3), 0);
    assert_int_equal(tree_distance(tree, 0, 3), 2);
    assert_int_equal(tree_distance(tree, 0, 4), 4);
    assert_int_equal(tree_distance(tree, 0, 8), 6);
    assert_true(tree_eagermap_distance(tree, 0, 3) == 4);
    assert_true(tree_eagermap_distance(tree, 0, 4) == 12);
    assert_true(tree_eagermap_distance(tree, 0, 8) == 28);
    tree_free(tree);

    tree = read_topology("pack:2 l3:2 l2:1 core:4 pu:2", 17); /* more than cores: CPUs */
    assert_int_equal(tree->places, 32);
    assert_string_equal(tree->unit, "cpu");
    assert_int_equal(tree_distance(tree, 0, 1), 2);
    assert_string_equal(tree->levels[3].name, "core");
    tree_free(tree);

    tree = read_topology("numa:4 l2:1 core:12 pu:1", 48); /* an A64FX */
    assert_int_equal(tree->level_count, 2);
    assert_int_equal(tree->levels[1].groups, 4);
    assert_string_equal(tree->levels[1].name, "L2 cache");
    assert_true(tree->levels[1].cache_bytes > 0);
    tree_free(tree);
}

static void bad_topologies_are_named(void **state)
{
    static const char *const wrong[] = {"",
                                        "core:0",
                                        "nonsense",
                                        "pack:2 core:4",
                                        "/nonexistent/machine.xml",
                                        "pack:99999999 pu:1"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        message[0] = '\0';
        assert_null(topology_read(wrong[i], 4, message, sizeof(message)));
        assert_non_null(strstr(message, "topology"));
        assert_null(strchr(message, '\n'));
    }
}

static void this_host_has_a_topology(void **state)
{
    struct placement_tree *tree = read_topology(NULL, 1);

    (void)state;
    assert_true(tree->places >= 1);
    assert_false(tree->hypothetical);
    tree_free(tree);
}

static void pairs_are_added_up(void **state)
{
    const struct traffic_pair pairs[] = {{0, 1, 2},  {1, 0, 3}, {2, 2, 9}, {3, 1, 0},
                                         {3, 1, -1}, {2, 0, 4}, {0, 1, 1}};
    struct communication_matrix *matrix = matrix_create(4, pairs, 7);

    (void)state;
    assert_true(matrix_weight(matrix, 0, 1) == 6);
    assert_true(matrix_weight(matrix, 1, 0) == 6);
    assert_true(matrix_weight(matrix, 0, 2) == 4);
    assert_true(matrix_weight(matrix, 2, 2) == 0);
    assert_true(matrix_weight(matrix, 1, 3) == 0);
    assert_true(matrix->total == 10);
    assert_int_equal(matrix->begin[4], 4);
    matrix_free(matrix);
}

/* All pairs alike: 0. A ring of four scaled to 100: cells 100, 0, 100 vary by 3333.3. */
static void heterogeneity_has_its_ends(void **state)
{
    const struct traffic_pair full[] = {{0, 1, 7}, {0, 2, 7}, {0, 3, 7},
                                        {1, 2, 7}, {1, 3, 7}, {2, 3, 7}};
    const struct traffic_pair ring[] = {{0, 1, 7}, {1, 2, 7}, {2, 3, 7}, {3, 0, 7}};
    struct communication_matrix *matrix = matrix_create(4, full, 6);

    (void)state;
    assert_float_equal(matrix_heterogeneity(matrix), 0, 1e-9);
    matrix_free(matrix);
    matrix = matrix_create(4, ring, 4);
    assert_float_equal(matrix_heterogeneity(matrix), 10000. / 3, 1e-6);
    matrix_free(matrix);
    matrix = matrix_create(4, NULL, 0);
    assert_float_equal(matrix_heterogeneity(matrix), 0, 0);
    matrix_free(matrix);
}

static void costs_are_as_by_hand(void **state)
{
    const struct traffic_pair pairs[] = {{0, 1, 10}, {1, 2, 1}, {2, 3, 10}};
    struct communication_matrix *matrix = matrix_create(4, pairs, 3);
    struct placement_tree *tree = read_topology("pack:2 core:2 pu:1", 4);
    uint32_t identity[4], scatter[4], capacity[4] = {1, 1, 1, 1};
    double share[2], median;

    (void)state;
    mapping_identity(tree, 4, identity);
    mapping_scatter(tree, 4, scatter);
    assert_int_equal(identity[3], 3);
    assert_int_equal(scatter[0], 0);
    assert_int_equal(scatter[1], 2);
    assert_int_equal(scatter[2], 1);
    assert_int_equal(scatter[3], 3);
    assert_float_equal(mapping_hop_bytes(matrix, tree, identity), 20 * 2 + 4, 1e-9);
    assert_float_equal(mapping_hop_bytes(matrix, tree, scatter), 21 * 4, 1e-9);
    assert_float_equal(mapping_quality(matrix, tree, identity), 20. / 5 + 1. / 13, 1e-9);
    mapping_shares(matrix, tree, identity, share);
    assert_float_equal(share[0], 1, 0);
    assert_float_equal(share[1], 20. / 21, 1e-9);
    /* 24 mappings: 8 each cost 44, 84 and 20*4+2 (0 and 3 with partners crossed: 82). */
    median = mapping_random_median(matrix, tree, capacity, 1001, 1);
    assert_float_equal(median, 82, 1e-9);
    matrix_free(matrix);
    tree_free(tree);
}

static void spreading_is_even_on_every_level(void **state)
{
    struct placement_tree *tree = read_topology("pack:2 l3:2 core:4 pu:1", 6);
    uint32_t capacity[16];
    size_t sums[4] = {0};

    (void)state;
    capacity_spread(tree, 6, capacity);
    for (size_t i = 0; i < 16; i++)
        sums[tree->levels[2].group[i]] += capacity[i];
    assert_int_equal(sums[0] + sums[1], 3);
    assert_int_equal(sums[2] + sums[3], 3);
    for (size_t i = 0; i < 4; i++)
        assert_in_range(sums[i], 1, 2);
    tree_free(tree);
}

/* Two threads that each sweep 48 KiB again and again: one fits a cache of 64 KiB, two do not. */
static void sharing_a_cache_has_a_price(void **state)
{
    const double bytes[] = {1024, 48 << 10, (48 << 10) + 64, 1 << 20};
    const double ratio[] = {1, 1, 1e-3, 1e-3};
    const struct thread_locality threads[] = {{1e6, 4, bytes, ratio}, {1e6, 4, bytes, ratio}};
    double misses[2];

    (void)state;
    cache_share_misses(threads, 1, 64 << 10, 64, misses);
    assert_float_equal(misses[0], 1e3, 1);
    cache_share_misses(threads, 2, 64 << 10, 64, misses);
    assert_float_equal(misses[0], 1e6, 1);
    assert_float_equal(misses[1], 1e6, 1);
    cache_share_misses(threads, 2, 128 << 10, 64, misses);
    assert_float_equal(misses[0] + misses[1], 2e3, 2);
}

/* A stream beside a small working set: the stream takes the room that it fetches. */
static void a_stream_takes_more_than_half(void **state)
{
    const double bytes[] = {1024, 1 << 20};
    const double stream[] = {1, 1}, modest[] = {0.1, 0.1};
    const struct thread_locality threads[] = {{1e6, 2, bytes, stream}, {1e6, 2, bytes, modest}};
    double misses[2];

    (void)state;
    cache_share_misses(threads, 2, 64 << 10, 64, misses);
    assert_float_equal(misses[0], 1e6, 1);
    assert_float_equal(misses[1], 1e5, 1);
}

static void edge_traffic_adds_up(void **state)
{
    const double bytes[] = {1024, 48 << 10, (48 << 10) + 64, 1 << 20};
    const double ratio[] = {1, 1, 1e-3, 1e-3};
    const struct thread_locality threads[] = {{1e6, 4, bytes, ratio}, {1e6, 4, bytes, ratio}};
    const struct traffic_pair pairs[] = {{0, 1, 5000}};
    struct communication_matrix *matrix = matrix_create(2, pairs, 1);
    struct placement_tree *tree = read_topology("pack:2 l3:1(size=65536) core:2 pu:1", 2);
    const uint32_t together[] = {0, 1}, apart[] = {0, 2};
    struct edge_traffic packed, spread;

    (void)state;
    assert_int_equal(tree->levels[1].cache_bytes, 64 << 10);
    packed = cache_share_traffic(matrix, tree, 1, together, threads, 64);
    spread = cache_share_traffic(matrix, tree, 1, apart, threads, 64);
    assert_float_equal(packed.transfers, 0, 0);
    assert_float_equal(packed.misses, 2e6, 2);
    assert_float_equal(packed.busiest, 2e6, 2);
    assert_float_equal(spread.transfers, 5000, 0);
    assert_float_equal(spread.misses, 2e3, 2);
    assert_float_equal(spread.busiest, 1e3 + 5000, 2);
    matrix_free(matrix);
    tree_free(tree);
}

static void check_binding(const struct binding *list, size_t count, const char *tool,
                          const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].tool, tool) == 0) {
            assert_string_equal(list[i].text, text);
            return;
        }
    fail_msg("no text for %s", tool);
}

static void bindings_can_be_pasted(void **state)
{
    const unsigned cpus[] = {9, 0, 1, 2, 64};
    struct binding list[BINDINGS_MAX];
    size_t count = binding_list(cpus, 5, OPENMP_GNU, true, list);

    (void)state;
    check_binding(list, count, "OMP_PLACES",
                  "OMP_PROC_BIND=close OMP_PLACES='{9},{0},{1},{2},{64}'");
    check_binding(list, count, "GOMP_CPU_AFFINITY", "GOMP_CPU_AFFINITY=9,0,1,2,64");
    check_binding(list, count, "taskset", "taskset -c 0-2,9,64");
    check_binding(list, count, "hwloc-bind", "hwloc-bind --physical pu:0-2 pu:9 pu:64");
    check_binding(list, count, "numactl", "numactl --localalloc --physcpubind=0-2,9,64");
    check_binding(list, count, "srun mask_cpu", "srun --cpu-bind=mask_cpu:0x10000000000000207");
    check_binding(list, count, "srun map_cpu", "srun --cpu-bind=map_cpu:9,0,1,2,64");
    binding_list_free(list, count);

    /* OpenMP binds by position: not where a thread is left out, nor without OpenMP. */
    count = binding_list(cpus, 5, OPENMP_GNU, false, list);
    for (size_t i = 0; i < count; i++)
        assert_null(strstr(list[i].text, "OMP"));
    binding_list_free(list, count);
    count = binding_list(cpus, 5, OPENMP_NONE, true, list);
    for (size_t i = 0; i < count; i++)
        assert_null(strstr(list[i].text, "OMP"));
    binding_list_free(list, count);
    assert_int_equal(binding_list(cpus, 0, OPENMP_GNU, true, list), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_that_separate_are_kept),
        cmocka_unit_test(bad_topologies_are_named),
        cmocka_unit_test(this_host_has_a_topology),
        cmocka_unit_test(pairs_are_added_up),
        cmocka_unit_test(heterogeneity_has_its_ends),
        cmocka_unit_test(costs_are_as_by_hand),
        cmocka_unit_test(spreading_is_even_on_every_level),
        cmocka_unit_test(sharing_a_cache_has_a_price),
        cmocka_unit_test(a_stream_takes_more_than_half),
        cmocka_unit_test(edge_traffic_adds_up),
        cmocka_unit_test(bindings_can_be_pasted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
