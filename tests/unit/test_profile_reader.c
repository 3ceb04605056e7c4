/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader: order, last and first ones, lookups, contexts of damaged files, modules in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sampling/random.h"
#include "support/profile_builder.h"
#include "support/scratch_file.h"

static struct profile_builder builder;

static int begin(void **state)
{
    (void)state;
    profile_builder_begin(&builder, scratch_path);
    return 0;
}

static struct profile *finish_and_load(void)
{
    profile_builder_finish(&builder);
    return profile_builder_load(scratch_path);
}

static void test_run_keys(void **state)
{
    (void)state;
    static const char pairs[] = "engine\0clock\0empty\0\0line_size\0256";
    profile_builder_record(&builder, RECORD_RUN, pairs, sizeof(pairs));
    profile_builder_run(&builder, "line_size", "128");
    profile_builder_run(&builder, "big", "18446744073709551615");
    profile_builder_run(&builder, "too_big", "18446744073709551616");
    profile_builder_run(&builder, "minus", "-1");
    profile_builder_run(&builder, "mixed", "12x");
    struct profile *profile = finish_and_load();
    assert_int_equal(profile->run.count, 16);
    assert_string_equal(profile_run_text(profile, "engine", "?"), "clock");
    assert_string_equal(profile_run_text(profile, "empty", "?"), "");
    assert_string_equal(profile_run_text(profile, "absent", "?"), "?");
    assert_int_equal(profile_run_number(profile, "line_size", 1), 128);
    assert_true(profile_run_number(profile, "big", 1) == UINT64_MAX);
    assert_int_equal(profile_run_number(profile, "too_big", 1), 1);
    assert_int_equal(profile_run_number(profile, "minus", 1), 1);
    assert_int_equal(profile_run_number(profile, "mixed", 1), 1);
    assert_int_equal(profile_run_number(profile, "empty", 1), 1);
    assert_string_equal(profile_origin_text(profile, 0, "engine", "?"), "clock");
    profile_free(profile);
}

static void test_run_pairs_without_end(void **state)
{
    (void)state;
    profile_builder_record(&builder, RECORD_RUN, "lonekey8", 8);
    profile_builder_record(&builder, RECORD_RUN, "key\0text", 8);
    struct profile *profile = finish_and_load();
    assert_string_equal(profile_run_text(profile, "lonekey8", "?"), "");
    assert_string_equal(profile_run_text(profile, "key", "?"), "text");
    profile_free(profile);
}

static void test_text_records(void **state)
{
    (void)state;
    char longest[4000];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    uint32_t module = profile_builder_module(&builder, "/bin/a", 0x1000, 0x3000, 0x1000);
    uint32_t other = profile_builder_module(&builder, longest, 0x5000, 0x6000, 0);
    uint32_t context = profile_builder_context(&builder, 0, 0x1234);
    uint32_t site = profile_builder_site(&builder, context, ALLOCATOR_MALLOC, "");
    uint32_t named = profile_builder_site(&builder, context, ALLOCATOR_API, "matrix");
    uint32_t region = profile_builder_region(&builder, 0x1300, "solve");
    profile_builder_note(&builder, NOTE_WARNING, "seven77");
    struct record_mapping mapping = {.start = 1, .end = 2, .offset = 3, .flags = MAPPING_HEAP};
    profile_builder_record(&builder, RECORD_MAPPING, &mapping, sizeof(mapping));
    struct profile *profile = finish_and_load();
    assert_string_equal(profile_module(profile, module)->path, "/bin/a");
    assert_string_equal(profile_module(profile, other)->path, longest);
    assert_int_equal(profile_module(profile, module)->load_bias, 0x1000);
    assert_string_equal(profile_site(profile, site)->name, "");
    assert_string_equal(profile_site(profile, named)->name, "matrix");
    assert_int_equal(profile_site(profile, named)->allocator, ALLOCATOR_API);
    assert_string_equal(profile_region(profile, region)->name, "solve");
    assert_int_equal(profile->notes.count, 1);
    assert_string_equal(profile->notes.items[0]->text, "seven77");
    assert_int_equal(profile->mappings.items[0]->offset, 3);
    assert_string_equal(profile->mappings.items[0]->path, "");
    assert_null(profile_module(profile, 0));
    assert_null(profile_module(profile, 3));
    assert_null(profile_site(profile, 99));
    assert_null(profile_region(profile, 2));
    assert_null(profile_origin(profile, 1));
    profile_free(profile);
}

static void test_last_and_first_ones(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= 3; round++) {
        for (uint32_t id = 5; id >= 1; id--) {
            struct record_site_totals site = {.site_id = id, .blocks = round * 10 + id};
            struct record_totals thread = {.thread_id = id, .samples = round * 100 + id};
            struct record_transfer transfer = {.source_thread = id,
                                               .destination_thread = 6 - id,
                                               .kind = TRANSFER_RAW,
                                               .transfers = (double)round};
            struct record_histogram histogram = {.scope = SCOPE_THREAD,
                                                 .measure = MEASURE_STACK_DISTANCE,
                                                 .line_size = 64,
                                                 .key = id,
                                                 .accesses = round,
                                                 .bin_count = 1};
            struct histogram_bin bin = {.bin = id, .count = round};
            struct record_watch_end end = {.sample_id = id, .app_ns = round};
            struct record_invalidation invalidation = {.sample_id = id, .app_ns = round};
            profile_builder_record(&builder, RECORD_SITE_TOTALS, &site, sizeof(site));
            profile_builder_record(&builder, RECORD_TOTALS, &thread, sizeof(thread));
            profile_builder_record(&builder, RECORD_TRANSFER, &transfer, sizeof(transfer));
            profile_builder_histogram(&builder, &histogram, &bin);
            profile_builder_record(&builder, RECORD_WATCH_END, &end, sizeof(end));
            profile_builder_record(&builder, RECORD_INVALIDATION, &invalidation,
                                   sizeof(invalidation));
        }
    }
    struct profile *profile = finish_and_load();
    assert_int_equal(profile->site_totals.count, 5);
    assert_int_equal(profile->totals.count, 5);
    assert_int_equal(profile->transfers.count, 5);
    assert_int_equal(profile->histograms.count, 5);
    assert_int_equal(profile->watch_ends.count, 5);
    assert_int_equal(profile->surplus_watch_ends, 10);
    assert_int_equal(profile->invalidations.count, 5);
    for (uint32_t id = 1; id <= 5; id++) {
        assert_int_equal(profile_site_totals(profile, id)->blocks, 30 + id);
        assert_int_equal(profile_thread_totals(profile, id)->samples, 300 + id);
        assert_int_equal(profile_watch_end(profile, id)->app_ns, 1);
        assert_int_equal(profile_invalidation(profile, id)->app_ns, 1);
        assert_true(profile->transfers.items[id - 1].transfers == 3);
        assert_int_equal(profile->histograms.items[id - 1]->accesses, 3);
        assert_int_equal(profile->histograms.items[id - 1]->bins[0].count, 3);
        assert_int_equal(profile->watch_ends.items[id - 1].sample_id, id);
    }
    profile_free(profile);
}

/* Lookups against a plain scan, over identifiers with gaps of many sizes, written in any order. */
static void test_lookups_with_gaps(void **state)
{
    (void)state;
    enum { MOST = 300 };
    uint64_t seed = (uint64_t)getpid();
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int sparse = 1; sparse <= 1000; sparse *= 10) {
        struct random random;
        random_seed(&random, seed + (uint64_t)sparse);
        profile_builder_begin(&builder, scratch_path);
        bool present[MOST * 1000 + 2] = {false};
        uint32_t limit = (uint32_t)(MOST * sparse) + 1;
        for (int i = 0; i < MOST; i++) {
            uint32_t id = 1 + random_below(&random, limit - 1);
            struct record_context context = {.context_id = id, .ip = id};
            struct record_watch_end end = {.sample_id = id, .app_ns = id};
            struct record_invalidation invalidation = {.sample_id = id, .app_ns = id};
            present[id] = true;
            profile_builder_record(&builder, RECORD_CONTEXT, &context, sizeof(context));
            profile_builder_record(&builder, RECORD_WATCH_END, &end, sizeof(end));
            profile_builder_record(&builder, RECORD_INVALIDATION, &invalidation,
                                   sizeof(invalidation));
        }
        struct profile *profile = finish_and_load();
        for (uint32_t id = 0; id <= limit; id++) {
            const struct record_context *context = profile_context(profile, id);
            const struct record_watch_end *end = profile_watch_end(profile, id);
            const struct record_invalidation *invalidation = profile_invalidation(profile, id);
            if (present[id]) {
                assert_non_null(context);
                assert_non_null(end);
                assert_int_equal(context->ip, id);
                assert_int_equal(end->app_ns, id);
                assert_non_null(invalidation);
                assert_int_equal(invalidation->app_ns, id);
            } else {
                assert_null(context);
                assert_null(end);
                assert_null(invalidation);
            }
        }
        assert_null(profile_context(profile, UINT32_MAX));
        assert_null(profile_watch_end(profile, UINT64_MAX));
        profile_free(profile);
    }
}

static void add_context(uint32_t id, uint32_t parent)
{
    struct record_context context = {.context_id = id, .parent_id = parent, .ip = 0x1000 + id};
    profile_builder_record(&builder, RECORD_CONTEXT, &context, sizeof(context));
}

static unsigned depth_of(const struct profile *profile, uint32_t id)
{
    unsigned depth = 0;
    for (const struct record_context *context = profile_context(profile, id); context;
         context = profile_context(profile, context->parent_id))
        assert_true(++depth <= 100);
    return depth;
}

static void test_context_cycles_end(void **state)
{
    (void)state;
    add_context(7, 6); /* children before parents */
    add_context(6, 5);
    add_context(5, 0);
    add_context(1, 1); /* its own parent */
    add_context(2, 3); /* a cycle of three, and one that hangs off it */
    add_context(3, 4);
    add_context(4, 2);
    add_context(8, 4);
    add_context(9, 77); /* parent is missing */
    add_context(5, 7);  /* a second definition does not count */
    struct profile *profile = finish_and_load();
    assert_int_equal(profile->contexts.count, 9);
    assert_int_equal(profile->broken_contexts, 2);
    assert_int_equal(depth_of(profile, 7), 3);
    assert_int_equal(depth_of(profile, 1), 1);
    assert_int_equal(depth_of(profile, 9), 1);
    unsigned longest = 0;
    for (uint32_t id = 2; id <= 4; id++)
        longest = depth_of(profile, id) > longest ? depth_of(profile, id) : longest;
    assert_int_equal(longest, 3);
    assert_int_equal(depth_of(profile, 8), depth_of(profile, 4) + 1);
    profile_free(profile);
}

/* Groups name paths: those of the file (the file has a context of one of their instructions, too),
 * none, one that is missing, and what will be the number of a context that is made of a group. */
static void test_instructions_have_contexts(void **state)
{
    static const uint32_t paths[] = {2, 1, 2, 1, 0, 0, 9, 5};
    static const uint64_t ips[] = {0x2000, 0x2000, 0x2008, 0x1002, 0x2000, 0x1001, 0x2010, 0x2018};
    static const uint32_t expected[] = {5, 4, 6, 2, 0, 1, 0, 0};
    enum { GROUPS = sizeof paths / sizeof *paths };
    const struct probe_count count = {.code = 5, .count = 10};
    struct builder_group groups[GROUPS] = {0};
    struct record_burst burst = profile_builder_default_burst(1, 0);
    (void)state;
    add_context(1, 0);
    add_context(2, 1);
    add_context(3, 6); /* its parent is missing, and not the sixth one */
    for (size_t i = 0; i < GROUPS; i++)
        groups[i] = (struct builder_group){.probe = {.ip = ips[i], .path_id = paths[i], .width = 8},
                                           .counts = &count,
                                           .sizes = {1}};
    profile_builder_burst(&builder, &burst, groups, GROUPS);
    burst.burst_id = 0;
    profile_builder_burst(&builder, &burst, groups, GROUPS); /* the same once more */
    struct profile *profile = finish_and_load();
    assert_int_equal(profile->contexts.count, 3);
    assert_int_equal(profile->instruction_contexts.count, 3);
    for (size_t i = 0; i < GROUPS; i++) {
        uint32_t id = profile_instruction_context(profile, paths[i], ips[i]);
        const struct record_context *context = profile_context(profile, id);
        assert_int_equal(id, expected[i]);
        if (id == 0)
            continue;
        assert_int_equal(context->context_id, id);
        assert_int_equal(context->ip, ips[i]);
        assert_int_equal(context->parent_id, paths[i]);
        assert_int_equal(depth_of(profile, id), paths[i] + 1);
    }
    assert_int_equal(depth_of(profile, 3), 1);
    assert_int_equal(profile_instruction_context(profile, 1, 0x2008), 0);
    assert_null(profile_context(profile, 7));
    profile_free(profile);
}

static void add_module(uint32_t id, uint64_t start, uint64_t end, uint64_t loaded,
                       uint64_t unloaded)
{
    struct record_module module = {
        .module_id = id, .start = start, .end = end, .monotonic_ns = loaded};
    struct record_module_end gone = {.module_id = id, .monotonic_ns = unloaded};
    profile_builder_record(&builder, RECORD_MODULE, &module, sizeof(module));
    if (unloaded)
        profile_builder_record(&builder, RECORD_MODULE_END, &gone, sizeof(gone));
}

static uint32_t module_at(const struct profile *profile, uint64_t address, uint64_t time)
{
    const struct record_module *module = profile_module_at(profile, address, time);
    return module ? module->module_id : 0;
}

static void test_module_by_address_and_time(void **state)
{
    (void)state;
    add_module(3, 0x9000, 0xa000, 10, 0);
    add_module(1, 0x1000, 0x3000, 10, 0);
    add_module(2, 0x5000, 0x7000, 10, 100); /* unloaded, then two others over its place */
    add_module(4, 0x4000, 0x5800, 200, 0);
    add_module(5, 0x6000, 0x6800, 200, 300);
    add_module(6, 0x2000, 0x2000, 10, 0); /* empty extent */
    struct profile *profile = finish_and_load();
    assert_int_equal(module_at(profile, 0xfff, 50), 0);
    assert_int_equal(module_at(profile, 0x1000, 50), 1);
    assert_int_equal(module_at(profile, 0x2fff, 50), 1);
    assert_int_equal(module_at(profile, 0x3000, 50), 0);
    assert_int_equal(module_at(profile, 0x5400, 50), 2);
    assert_int_equal(module_at(profile, 0x5400, 99), 2);
    assert_int_equal(module_at(profile, 0x5400, 200), 4);
    assert_int_equal(module_at(profile, 0x5400, 110), 2); /* nobody's time: the nearest */
    assert_int_equal(module_at(profile, 0x5400, 190), 4);
    assert_int_equal(module_at(profile, 0x6400, 250), 5);
    assert_int_equal(module_at(profile, 0x6400, 350), 5);
    assert_int_equal(module_at(profile, 0x6400, 50), 2);
    assert_int_equal(module_at(profile, 0x6900, 500), 2);
    assert_int_equal(module_at(profile, 0x9fff, 0), 3);
    assert_int_equal(module_at(profile, UINT64_MAX, 0), 0);
    profile_free(profile);
}

/* Against a walk over all of them: mappings that lie in others, over others, and end with others.
 */
static void test_mapping_by_address(void **state)
{
    (void)state;
    uint32_t draw = 12345;
    for (unsigned i = 0; i < 60; i++) {
        struct record_mapping mapping = {.monotonic_ns = i};
        draw = draw * 1664525 + 1013904223;
        mapping.start = (draw >> 16) % 64 * 4096;
        mapping.end = mapping.start + (draw >> 24) % (i % 10 == 0 ? 64 : 5) * 4096;
        profile_builder_record(&builder, RECORD_MAPPING, &mapping, sizeof(mapping));
    }
    struct profile *profile = finish_and_load();
    size_t found = 0;
    assert_int_equal(profile->mappings.count, 60);
    for (uint64_t address = 0; address < 140 * 4096; address += 1024) {
        size_t expected = profile->mappings.count;
        for (size_t i = 0; i < profile->mappings.count; i++)
            if (address >= profile->mappings.items[i]->start &&
                address < profile->mappings.items[i]->end)
                expected = i;
        assert_int_equal(profile_mapping_position_at(profile, address), expected);
        found += expected < profile->mappings.count;
    }
    assert_in_range(found, 100, 540);
    profile_free(profile);
}

static void test_other_versions_of_records(void **state)
{
    (void)state;
    struct {
        struct record_served served;
        uint64_t later;
    } longer = {.served = {.thread_id = 1, .ip = 11, .latency = 12}, .later = 13};
    profile_builder_record(&builder, RECORD_SERVED, &longer, sizeof(longer));
    profile_builder_record(&builder, RECORD_SERVED, &longer, 16); /* as an older writer had it */
    profile_builder_record(&builder, (enum record_type)999, "unknown", 8);
    profile_builder_record(&builder, RECORD_MODULE, &longer, 8); /* too short for its path */
    struct record_context nameless = {.context_id = 0};
    profile_builder_record(&builder, RECORD_CONTEXT, &nameless, sizeof(nameless));
    struct profile *profile = finish_and_load();
    assert_int_equal(profile->served.count, 2);
    assert_memory_equal(&profile->served.items[0], &longer.served, sizeof(longer.served));
    assert_int_equal(profile->served.items[1].thread_id, 1);
    assert_int_equal(profile->served.items[1].latency, 0);
    assert_int_equal(profile->unknown_records, 1);
    assert_int_equal(profile->invalid_records, 2);
    assert_int_equal(profile->modules.count, 0);
    profile_free(profile);
}

static void add_histogram(uint32_t claimed, const struct histogram_bin *bins, uint32_t count)
{
    static uint64_t key; /* another one each time: none replaces another */
    struct record_histogram head = {
        .scope = SCOPE_PROCESS, .line_size = 64, .key = ++key, .bin_count = claimed};
    profile_builder_record_with_tail(&builder, RECORD_HISTOGRAM, &head, sizeof(head), bins,
                                     count * sizeof(*bins));
}

static void test_unsound_content_is_skipped(void **state)
{
    (void)state;
    const struct histogram_bin good[2] = {{.bin = 1, .count = 1},
                                          {.bin = HISTOGRAM_BIN_COUNT - 1, .count = 1}};
    const struct histogram_bin twice[2] = {{.bin = 5}, {.bin = 5}};
    const struct histogram_bin outside[1] = {{.bin = HISTOGRAM_BIN_COUNT}};
    const struct histogram_bin too_wide[1] = {{.bin = 1, .more = HISTOGRAM_BIN_COUNT - 1}};
    add_histogram(2, good, 2);
    add_histogram(0, good, 0);
    add_histogram(3, good, 2); /* claims more than it has */
    add_histogram(UINT32_MAX, good, 2);
    add_histogram(2, twice, 2);
    add_histogram(1, outside, 1);
    add_histogram(1, too_wide, 1);
    struct record_transfer transfer = {.source_thread = 1, .transfers = -1};
    profile_builder_record(&builder, RECORD_TRANSFER, &transfer, sizeof(transfer));
    transfer.transfers = __builtin_nan("");
    profile_builder_record(&builder, RECORD_TRANSFER, &transfer, sizeof(transfer));
    transfer.transfers = __builtin_inf();
    profile_builder_record(&builder, RECORD_TRANSFER, &transfer, sizeof(transfer));
    struct profile *profile = finish_and_load();
    assert_int_equal(profile->histograms.count, 2);
    assert_int_equal(profile->transfers.count, 0);
    assert_int_equal(profile->invalid_records, 8);
    profile_free(profile);
}

/* A burst counts only if its probes can be read and add up; of two with one identifier the first.
 */
static void test_bursts(void **state)
{
    (void)state;
    static const struct probe_count counts[] = {{7, 100}, {4096 | 40, 3}};
    const struct builder_group group = {.probe = {.ip = 0x401000}, .counts = counts, .sizes = {2}};
    struct record_burst good = profile_builder_default_burst(1, 1);
    good.burst_id = 9;
    profile_builder_burst(&builder, &good, &group, 1);
    struct record_burst first = profile_builder_default_burst(2, 1);
    first.burst_id = 4;
    profile_builder_burst(&builder, &first, NULL, 0);
    struct record_burst again = first;
    again.thread_id = 3;
    profile_builder_burst(&builder, &again, &group, 1);

    /* The same tail under records that are wrong about it. */
    static const unsigned char tail[] = {0x5f, 0x00, 0x07, 0x64}; /* a group of 100 probes */
    const struct record_burst right = {
        .burst_id = 1, .touches = 100, .groups = 1, .probe_size = sizeof(tail)};
    struct record_burst wrong[7];
    for (size_t i = 0; i < 7; i++)
        wrong[i] = right;
    wrong[0].touches = 99;
    wrong[1].open = 1;
    wrong[2].groups = 2;
    wrong[3].groups = 0;
    wrong[4].probe_size = sizeof(tail) - 1;
    wrong[5].probe_size = 9; /* more than there is, with the padding */
    wrong[6].flags = BURST_WIDE;
    for (size_t i = 0; i < 7; i++)
        profile_builder_record_with_tail(&builder, RECORD_BURST, &wrong[i], sizeof(wrong[i]), tail,
                                         sizeof(tail));
    profile_builder_record_with_tail(&builder, RECORD_BURST, &right, sizeof(right), tail,
                                     sizeof(tail));
    struct profile *profile = finish_and_load();
    assert_int_equal(profile->invalid_records, 7);
    assert_int_equal(profile->bursts.count, 3);
    assert_int_equal(profile->bursts.items[0]->burst_id, 1);
    assert_int_equal(profile->bursts.items[0]->touches, 100);
    assert_int_equal(profile_burst(profile, 4)->thread_id, 2);
    assert_int_equal(profile_burst(profile, 9)->touches, 103);
    assert_int_equal(profile_burst(profile, 9)->open, 3);
    assert_null(profile_burst(profile, 5));
    assert_null(profile_burst(profile, 0));
    assert_null(profile_burst(profile, 10));
    profile_free(profile);
}

static void test_unfinished_run(void **state)
{
    (void)state;
    profile_builder_defaults(&builder);
    profile_builder_cut(&builder);
    struct profile *profile = profile_builder_load(scratch_path);
    assert_false(profile->complete);
    assert_int_equal(profile->dropped_bytes, 0);
    assert_int_equal(profile->caches.count, 3);
    assert_int_equal(profile->end.wall_ns, 0);
    profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_run_keys, begin),
        cmocka_unit_test_setup(test_run_pairs_without_end, begin),
        cmocka_unit_test_setup(test_text_records, begin),
        cmocka_unit_test_setup(test_last_and_first_ones, begin),
        cmocka_unit_test(test_lookups_with_gaps),
        cmocka_unit_test_setup(test_instructions_have_contexts, begin),
        cmocka_unit_test_setup(test_context_cycles_end, begin),
        cmocka_unit_test_setup(test_module_by_address_and_time, begin),
        cmocka_unit_test_setup(test_mapping_by_address, begin),
        cmocka_unit_test_setup(test_other_versions_of_records, begin),
        cmocka_unit_test_setup(test_unsound_content_is_skipped, begin),
        cmocka_unit_test_setup(test_bursts, begin),
        cmocka_unit_test_setup(test_unfinished_run, begin),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
