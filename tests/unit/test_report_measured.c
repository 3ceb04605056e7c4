/* SPDX-License-Identifier: BSD-3-Clause */
/* What hardware events counted of a level, from profiles that are made up; and the verdicts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/model/measured.h"
#include "support/profile_builder.h"
#include "support/scratch_file.h"

static const struct machine machine = {
    .levels = 3,
    .caches = {{.level = 1, .bytes = 1 << 15, .line_size = 64},
               {.level = 2, .bytes = 1 << 20, .line_size = 64},
               {.level = 3, .bytes = 1 << 25, .line_size = 64}},
};

struct event {
    const char *name;
    uint64_t levels, count, estimate, enabled, running;
    unsigned kind, flags, trust;
};

static struct profile *profile_of(const struct event *events, size_t count)
{
    struct profile_builder builder;

    profile_builder_begin(&builder, scratch_path);
    for (size_t i = 0; i < count; i++) {
        const struct event *event = &events[i];
        struct record_counter record = {.type = 4,
                                        .flags = (uint16_t)event->flags,
                                        .kind = (uint8_t)event->kind,
                                        .trust = (uint8_t)event->trust,
                                        .config = i,
                                        .levels = event->levels,
                                        .count = event->count,
                                        .enabled_ns = event->enabled,
                                        .running_ns = event->running,
                                        .estimate = event->estimate,
                                        .processes = 1};

        profile_builder_record_with_tail(&builder, RECORD_COUNTER, &record, sizeof(record),
                                         event->name, strlen(event->name) + 1);
    }
    profile_builder_finish(&builder);
    return profile_builder_load(scratch_path);
}

static struct measured measure(const struct event *events, size_t count, size_t level,
                               enum counter_kind kind)
{
    struct profile *profile = profile_of(events, count);
    const struct profile *profiles[] = {profile};
    struct measured measured;

    measured_of_level(profiles, 1, &machine, level, kind, &measured);
    profile_free(profile);
    return measured;
}

enum { FILL = COUNTER_FILLS, BACK = COUNTER_WRITE_BACKS, GOOD = COUNTER_TRUSTED };

/* A64FX's correction: 1000 - 100 - 50; the outermost level is also that of bit 0. */
static void test_sums(void **state)
{
    const struct event events[] = {
        {"REFILL", 1 << 2, 1000, 1000, 100, 100, FILL, COUNTER_HAS_PREFETCHES, GOOD},
        {"SWAP", 1 << 2, 100, 100, 100, 100, FILL, COUNTER_SUBTRACTED, COUNTER_UNTRIED},
        {"MATCH", 1 << 2, 50, 50, 100, 100, FILL, COUNTER_SUBTRACTED, COUNTER_UNTRIED},
        {"MEMORY", 1 << 0, 25, 100, 400, 100, FILL, COUNTER_LOADS_ONLY, GOOD},
        {"BACK", 1 << 2, 7, 7, 100, 100, BACK, 0, COUNTER_UNTRIED},
    };
    struct measured l2 = measure(events, 5, 1, COUNTER_FILLS);
    struct measured memory = measure(events, 5, 2, COUNTER_FILLS);
    struct measured back = measure(events, 5, 1, COUNTER_WRITE_BACKS);

    (void)state;
    assert_true(l2.any && l2.known);
    assert_true(l2.lines == 850);
    assert_string_equal(l2.text, "REFILL - SWAP - MATCH");
    assert_int_equal(l2.flags, COUNTER_HAS_PREFETCHES);
    assert_true(memory.known && memory.lines == 100 && memory.share == 0.25);
    assert_true(back.known && back.lines == 7);
    assert_false(measure(events, 5, 0, COUNTER_FILLS).any);
}

static void test_refusals(void **state)
{
    const struct event silent = {"A", 2, 0, 0, 100, 100, FILL, 0, COUNTER_SILENT};
    const struct event wrong = {"A", 2, 9, 9, 100, 100, FILL, 0, COUNTER_WRONG};
    const struct event off = {"A", 2, 0, 0, 100, 0, FILL, 0, COUNTER_UNTRIED};
    const struct event nothing = {"A", 2, 0, 0, 100, 100, BACK, 0, COUNTER_UNTRIED};
    const struct event corrected[] = {
        {"A", 2, 5, 5, 100, 100, FILL, 0, GOOD},
        {"B", 2, 9, 9, 100, 100, FILL, COUNTER_SUBTRACTED, COUNTER_UNTRIED}};
    /* Of two kinds of cores one need not have been used. */
    const struct event hybrid[] = {{"cpu_core/A", 2, 5, 5, 100, 100, FILL, 0, GOOD},
                                   {"cpu_atom/A", 2, 0, 0, 100, 0, FILL, 0, COUNTER_UNTRIED}};
    struct measured measured;

    (void)state;
    measured = measure(&silent, 1, 0, COUNTER_FILLS);
    assert_true(measured.any && !measured.known && strstr(measured.text, "counted nothing"));
    measured = measure(&wrong, 1, 0, COUNTER_FILLS);
    assert_true(!measured.known && strstr(measured.text, "another number"));
    measured = measure(&off, 1, 0, COUNTER_FILLS);
    assert_true(!measured.known && strstr(measured.text, "never was on a counter"));
    measured = measure(&nothing, 1, 0, COUNTER_WRITE_BACKS);
    assert_true(measured.any && !measured.known);
    measured = measure(corrected, 2, 0, COUNTER_FILLS);
    assert_true(!measured.known && strstr(measured.text, "correction"));
    measured = measure(hybrid, 2, 0, COUNTER_FILLS);
    assert_true(measured.known && measured.lines == 5 && measured.share == 1);
}

/* Two profiles, one of which was cut short before its counts. */
static void test_missing_process(void **state)
{
    const struct event event = {"A", 2, 5, 5, 100, 100, FILL, 0, GOOD};
    struct profile *with = profile_of(&event, 1), *without = profile_of(NULL, 0);
    const struct profile *profiles[] = {with, with, without};
    struct measured measured;

    (void)state;
    measured_of_level(profiles, 2, &machine, 0, COUNTER_FILLS, &measured);
    assert_true(measured.known && measured.lines == 10);
    assert_string_equal(measured.text, "A");
    measured_of_level(profiles, 3, &machine, 0, COUNTER_FILLS, &measured);
    assert_true(measured.any && !measured.known && strstr(measured.text, "not all processes"));
    profile_free(with);
    profile_free(without);
}

static bool verdict_begins(const char *verdict, const char *word)
{
    return strncmp(verdict, word, strlen(word)) == 0;
}

static void test_verdicts(void **state)
{
    const struct estimate predicted = {1000, 900, 1100};

    (void)state;
    assert_true(verdict_begins(measured_verdict(predicted, 1000, 0, NAN), "agrees"));
    assert_true(verdict_begins(measured_verdict(predicted, 1300, 0, NAN), "agrees"));
    assert_true(verdict_begins(measured_verdict(predicted, 750, 0, NAN), "agrees"));
    assert_string_equal(measured_verdict(predicted, 3000, 0, NAN), "more: conflict");
    assert_string_equal(measured_verdict(predicted, 3000, 0, 3),
                        "more: conflict, as the samples' addresses show");
    /* The samples' conflicts explain twice as much, not ten times. */
    assert_string_equal(measured_verdict(predicted, 10000, COUNTER_HAS_PREFETCHES, 2),
                        "more: prefetches that are counted, or conflict");
    assert_non_null(strstr(
        measured_verdict(predicted, 3000, COUNTER_HAS_PREFETCHES | COUNTER_HAS_CODE, 1), "code"));
    assert_non_null(
        strstr(measured_verdict(predicted, 100, COUNTER_LOADS_ONLY, NAN), "only loads"));
    assert_non_null(strstr(measured_verdict(predicted, 100, 0, NAN), "prefetched lines"));
    assert_string_equal(measured_remark(0), "");
    assert_string_equal(measured_remark(COUNTER_HAS_PREFETCHES), "prefetches included");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_missing_process),
        cmocka_unit_test(test_verdicts),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
