/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that a run touched, by the objects that its samples lie in: allocations, stacks, modules,
 * mappings, and memory that nothing is known of. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "sampling/random.h"
#include "support/profile_builder.h"
#include "support/test_seed.h"

enum { PAGE = 4096 };
static const uint64_t stack_high = 0x7ffff0000000, module_start = 0x555500000000;

static struct profile_builder builder;
static char path[40];
static uint32_t thread;

static void begin(void)
{
    strcpy(path, "/tmp/reuse-footprint-XXXXXX");
    int descriptor = mkstemp(path);

    assert_true(descriptor >= 0);
    close(descriptor);
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    profile_builder_module(&builder, "/bin/test", module_start, module_start + 64 * PAGE, 0);
    struct record_thread record = {.thread_id = thread = 7,
                                   .tid = 1,
                                   .stack_low = stack_high - 2048 * (uint64_t)PAGE,
                                   .stack_high = stack_high};
    profile_builder_record(&builder, RECORD_THREAD, &record, sizeof record);
}

static void add(size_t n, enum object_kind kind, uint32_t reference, uint64_t address)
{
    for (size_t i = 0; i < n; i++) {
        struct record_sample sample = profile_builder_default_sample(thread, 0);
        sample.object_kind = (uint8_t)kind;
        sample.object_reference = reference;
        sample.address = address;
        profile_builder_lone_burst(&builder, &sample);
        profile_builder_sample(&builder, &sample);
    }
}

static uint32_t allocate(uint64_t bytes, uint64_t peak)
{
    uint32_t site = profile_builder_site(&builder, 0, ALLOCATOR_MALLOC, "");
    struct record_site_totals totals = {
        .site_id = site, .blocks = 1, .bytes = bytes, .live_bytes_peak = peak};

    profile_builder_record(&builder, RECORD_SITE_TOTALS, &totals, sizeof totals);
    return site;
}

static void map(uint64_t start, uint64_t end)
{
    struct record_mapping mapping = {.start = start, .end = end};

    profile_builder_record_with_tail(&builder, RECORD_MAPPING, &mapping, sizeof mapping, "", 1);
}

static double footprint(void)
{
    char message[256];
    profile_builder_finish(&builder);
    struct profile *profile = profile_builder_load(path);
    const struct profile *one[] = {profile};
    struct analysis *analysis = analysis_create(one, 1, NULL, message, sizeof message);

    if (!analysis)
        fail_msg("%s", message);
    double bytes = analysis_footprint(analysis);
    analysis_free(analysis);
    profile_free(profile);
    unlink(path);
    return bytes;
}

static void allocations_count_by_what_lived_at_once(void **state)
{
    (void)state;
    begin();
    uint32_t reused = allocate(1000000, 5000), kept = allocate(300, 0);
    allocate(70000, 70000); /* never seen in use */
    add(3, OBJECT_HEAP, reused, 0x10000);
    add(2, OBJECT_NAMED, kept, 0x20000);
    assert_float_equal(footprint(), 5300, 0);
}

static void stacks_and_modules_count_by_pages(void **state)
{
    (void)state;
    begin();
    add(1, OBJECT_STACK, thread, stack_high - 3 * PAGE + 8);
    add(1, OBJECT_GLOBAL, 1, module_start + 10 * PAGE);
    add(1, OBJECT_GLOBAL, 1, module_start + 12 * PAGE - 1);
    assert_float_equal(footprint(), (3 + 2) * PAGE, 0);
}

static void mappings_that_grew_count_once(void **state)
{
    (void)state;
    begin();
    map(0x100000, 0x100000 + 8 * PAGE);
    map(0x100000, 0x100000 + 32 * PAGE);
    map(0x900000, 0x900000 + 5 * PAGE); /* never seen in use */
    add(1, OBJECT_UNKNOWN, 0, 0x100000);
    add(1, OBJECT_HEAP_UNTRACKED, 0, 0x100000 + 20 * PAGE);
    assert_float_equal(footprint(), 32 * PAGE, 0);
}

/* So many lines, drawn with equal chances: about as many are found, whether or not the samples show
 * all of them, and not more than the allocation has. */
static void lines_are_estimated_from_how_often_they_are_seen(void **state)
{
    (void)state;
    enum { LINE = 64, SAMPLES = 4000 };
    static const struct {
        uint32_t lines;
        uint64_t allocated; /* lines */
        double low, high;   /* of the estimate, lines */
    } cases[] = {{500, 100000, 499, 501},
                 {5000, 100000, 4500, 5500},
                 {50000, 400000, 30000, 80000},
                 {5000, 4000, 4000, 4002}};
    struct random random;

    random_seed(&random, test_seed());
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char message[256];
        begin();
        uint32_t site = allocate(cases[k].allocated * LINE, cases[k].allocated * LINE);
        for (int i = 0; i < SAMPLES; i++)
            add(1, OBJECT_HEAP, site,
                0x100000 + (uint64_t)random_below(&random, cases[k].lines) * LINE);
        profile_builder_finish(&builder);
        struct profile *profile = profile_builder_load(path);
        const struct profile *one[] = {profile};
        struct analysis *analysis = analysis_create(one, 1, NULL, message, sizeof message);
        assert_non_null(analysis);
        struct footprint touched = analysis_lines_touched(analysis);
        assert_true(touched.seen <= touched.likely && touched.likely <= touched.most);
        assert_true(touched.seen <= (double)SAMPLES * LINE);
        if (touched.likely < cases[k].low * LINE || touched.likely > cases[k].high * LINE)
            fail_msg("%u lines: %.0f", cases[k].lines, touched.likely / LINE);
        analysis_free(analysis);
        profile_free(profile);
        unlink(path);
    }
}

static void much_in_unknown_memory_leaves_it_unknown(void **state)
{
    (void)state;
    begin();
    uint32_t site = allocate(5000, 5000);
    add(200, OBJECT_HEAP, site, 0x10000);
    add(1, OBJECT_UNKNOWN, 0, 0x777000);
    assert_float_equal(footprint(), 5000 + PAGE, 0);
    begin();
    site = allocate(5000, 5000);
    add(50, OBJECT_HEAP, site, 0x10000);
    add(1, OBJECT_UNKNOWN, 0, 0x777000);
    assert_true(isinf(footprint()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_count_by_what_lived_at_once),
        cmocka_unit_test(lines_are_estimated_from_how_often_they_are_seen),
        cmocka_unit_test(stacks_and_modules_count_by_pages),
        cmocka_unit_test(mappings_that_grew_count_once),
        cmocka_unit_test(much_in_unknown_memory_leaves_it_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
