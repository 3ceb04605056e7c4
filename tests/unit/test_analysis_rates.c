/* SPDX-License-Identifier: BSD-3-Clause */
/* The rates of loops, and the clock that they drive. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "analysis/internal.h"
#include "analysis/rates/access_clock.h"
#include "analysis/rates/loop_rates.h"
#include "analysis/rates/rate_fit.h"
#include "support/profile_builder.h"

static const struct program_line_sources usual_sources = {.rest = {.5, .2, .05}};

static void clock_runs_at_the_samples_rates(void **state)
{
    (void)state;
    /* 10 samples of 1 ms at 2 accesses per ns, then 10 at 0.5; in between 100 ms in the kernel. */
    struct clock_sample samples[20];
    struct access_clock clock;
    for (int i = 0; i < 20; i++) {
        double rate = i < 10 ? 2 : 0.5;
        uint64_t time = 500000 + (uint64_t)i * 1000000 + (i < 10 ? 0 : 100000000);
        samples[19 - i] = (struct clock_sample){time, rate * 1e6, rate};
    }
    access_clock_create(samples, 20, false, &clock);
    assert_float_equal(access_clock_between(&clock, 500000, 9500000), 18e6, 1);
    assert_float_equal(access_clock_between(&clock, 500000, 1000000), 1e6, 1);
    assert_float_equal(access_clock_between(&clock, 110500000, 119500000), 4.5e6, 1);
    /* Across the kernel: half a sample of each. */
    assert_float_equal(access_clock_between(&clock, 9500000, 110500000), 1.25e6, 1);
    assert_float_equal(access_clock_between(&clock, 0, 500000), 1e6, 1);
    /* Beyond the last sample no further than its own part. */
    assert_true(access_clock_between(&clock, 119500000, 900000000) <= 0.5e6 + 1);
    assert_float_equal(access_clock_between(&clock, 5, 5), 0, 0);
    assert_float_equal(access_clock_between(&clock, 9, 5), 0, 0);
    assert_int_equal(access_clock_gap(&clock, 500000), 1000000);
    assert_true(access_clock_gap(&clock, 119500000) == UINT64_MAX);
    access_clock_free(&clock);
    access_clock_create(NULL, 0, false, &clock);
    assert_float_equal(access_clock_between(&clock, 1, 100), 0, 0);
    access_clock_free(&clock);
}

/* Bursts of one access in a loop, or of more with stops at system calls. */
static void add_bursts(struct profile_builder *builder, uint32_t thread, uint64_t loop, int count,
                       uint32_t accesses, uint16_t stops, uint64_t *app_ns)
{
    const struct probe_count probe = {probe_code(false, 3, 1), 1};
    const struct builder_group group = {.probe = {.ip = loop + 16}, .counts = &probe, .sizes = {1}};

    for (int i = 0; i < count; i++) {
        struct record_burst burst = profile_builder_default_burst(thread, 0);
        burst.loop = loop;
        burst.app_ns = *app_ns += 1000000;
        burst.accesses = accesses;
        burst.probes = 1;
        burst.stops = stops;
        profile_builder_burst(builder, &burst, &group, 1);
    }
}

static void add_loop(struct profile_builder *builder, uint32_t thread, uint64_t loop, int count,
                     uint64_t *app_ns)
{
    add_bursts(builder, thread, loop, count, 1, 0, app_ns);
}

/* `path` is a template of mkstemp(). */
static void begin_profile(struct profile_builder *builder, char *path)
{
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    profile_builder_begin(builder, path);
    profile_builder_defaults(builder);
}

/* The file is gone; the caller frees the profile. */
static struct profile *end_profile(struct profile_builder *builder, const char *path)
{
    profile_builder_finish(builder);
    struct profile *profile = profile_builder_load(path);
    unlink(path);
    return profile;
}

static void loops_are_told_apart(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-rates-XXXXXX", message[200];
    struct profile_builder builder;
    begin_profile(&builder, path);
    uint32_t one = profile_builder_thread(&builder, 1, "one");
    uint32_t two = profile_builder_thread(&builder, 2, "two");
    uint64_t time_one = 0, time_two = 0;
    add_loop(&builder, one, 0x10000, 30, &time_one);
    add_loop(&builder, one, 0x50000, 10, &time_one);
    add_loop(&builder, one, 0x900000, 5, &time_one);
    add_loop(&builder, two, 0x70000, 20, &time_two);
    for (int i = 0; i < 20; i++) {
        profile_builder_rate(&builder, one, 0x10000, 1, 200000, 100000);
        profile_builder_rate(&builder, one, 0x50000, 1, 400000, 100000);
        profile_builder_rate(&builder, two, 0x70000, 1, 10000, 100000);
    }
    struct profile *profile = end_profile(&builder, path);
    struct loop_rates rates;
    const struct profile *profiles[] = {profile};
    loop_rates_create(profiles, 1, &usual_sources, &rates);
    struct loop_rate *first = &rates.loops[loop_rates_find(&rates, 0, 0x10000)];
    struct loop_rate *fast = &rates.loops[loop_rates_find(&rates, 0, 0x50000)];
    struct loop_rate *slow = &rates.loops[loop_rates_find(&rates, 0, 0x70000)];
    struct loop_rate *unknown = &rates.loops[loop_rates_find(&rates, 0, 0x900000)];
    assert_float_equal(first->per_ns.value, 2, 0.1);
    assert_float_equal(fast->per_ns.value, 4, 0.2);
    assert_float_equal(slow->per_ns.value, 0.1, 0.01);
    assert_true(first->measured && fast->measured && slow->measured && !unknown->measured);
    /* Somewhere among the others, which differ a lot. */
    assert_true(unknown->per_ns.value > 0.1 && unknown->per_ns.value < 10);
    assert_true(unknown->per_ns.hi / unknown->per_ns.lo > 10);
    assert_true(first->per_ns.hi / first->per_ns.lo < 1.6);
    double others = 30 * 2 + 10 * 4 + 20 * 0.1 + 5 * unknown->per_ns.value;
    assert_true(loop_rates_contains(first, 0x10010) && !loop_rates_contains(first, 0x10400));
    loop_rates_free(&rates);

    struct analysis *analysis = analysis_create(profiles, 1, NULL, message, sizeof message);
    assert_non_null(analysis);
    struct access_rate_summary summary = analysis_access_rate(analysis);
    assert_int_equal(summary.bursts, 60);
    assert_float_equal(summary.covered, 60.0 / 65, 1e-9);
    assert_float_equal(summary.per_ns.value, others / 65, 0.1);
    assert_true(summary.size_axis_low < 1 && summary.size_axis_high > 1);
    analysis_free(analysis);
    profile_free(profile);
}

/* More loops than there are groups: those with least time share one. */
static void many_loops(void **state)
{
    (void)state;
    enum { LOOPS = 3 * RATE_GROUPS_MAX };
    char path[] = "/tmp/reuse-rates-XXXXXX";
    struct profile_builder builder;
    begin_profile(&builder, path);
    uint32_t one = profile_builder_thread(&builder, 1, "one");
    uint64_t time = 0;
    for (uint64_t loop = 1; loop <= LOOPS; loop++) {
        add_loop(&builder, one, 0x10000 * loop, (int)loop, &time);
        for (int i = 0; i < 8; i++)
            profile_builder_rate(&builder, one, 0x10000 * loop, 1, 1000.0 * (double)loop, 100000);
    }
    struct profile *profile = end_profile(&builder, path);
    struct loop_rates rates;
    const struct profile *profiles[] = {profile};
    loop_rates_create(profiles, 1, &usual_sources, &rates);
    assert_int_equal(rates.count, LOOPS);
    for (uint64_t loop = LOOPS - RATE_GROUPS_MAX + 2; loop <= LOOPS; loop++) {
        const struct loop_rate *rate = &rates.loops[loop_rates_find(&rates, 0, 0x10000 * loop)];
        assert_float_equal(rate->per_ns.value / (0.01 * (double)loop), 1, 0.1);
    }
    const struct loop_rate *rare = &rates.loops[loop_rates_find(&rates, 0, 0x10000)];
    assert_true(rare->per_ns.value > 0.2 && rare->per_ns.value < 0.7);
    loop_rates_free(&rates);
    profile_free(profile);
}

/* A thread that computes in one place and waits in the kernel in another, with four accesses on the
 * way. */
static void system_calls_leave_little_time_for_accesses(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-rates-XXXXXX";
    struct profile_builder builder;
    begin_profile(&builder, path);
    uint32_t one = profile_builder_thread(&builder, 1, "one");
    uint64_t time = 0;
    add_loop(&builder, one, 0x10000, 30, &time);
    add_loop(&builder, one, 0x900000, 10, &time);
    add_bursts(&builder, one, 0xa00000, 10, BURST_ACCESSES, BURST_ACCESSES / 4, &time);
    add_bursts(&builder, one, 0xb00000, 10, BURST_ACCESSES, 1, &time);
    for (int i = 0; i < 10; i++)
        profile_builder_rate(&builder, one, 0x10000, 1, 200000, 100000);
    struct profile *profile = end_profile(&builder, path);
    struct loop_rates rates;
    const struct profile *profiles[] = {profile};
    loop_rates_create(profiles, 1, &usual_sources, &rates);
    struct loop_rate *alone = &rates.loops[loop_rates_find(&rates, 0, 0x900000)];
    struct loop_rate *waits = &rates.loops[loop_rates_find(&rates, 0, 0xa00000)];
    struct loop_rate *works = &rates.loops[loop_rates_find(&rates, 0, 0xb00000)];
    if (alone->per_ns.value < 0.5 || alone->per_ns.value > 4)
        fail_msg("%.3f", alone->per_ns.value);
    /* 4 accesses in 1 us, give or take a factor of ten, against 2 in 1 ns elsewhere. */
    assert_true(waits->per_ns.value > 0.02 && waits->per_ns.value < 1);
    if (waits->per_ns.lo > 0.12 || waits->per_ns.hi < 0.5)
        fail_msg("%.3f to %.3f (%.3f)", waits->per_ns.lo, waits->per_ns.hi, waits->per_ns.value);
    /* Calls far apart speak against nothing. */
    if (works->per_ns.value < 1.5 || works->per_ns.value > 5)
        fail_msg("%.3f", works->per_ns.value);
    loop_rates_free(&rates);
    profile_free(profile);
}

/* Nothing moves on in two loops; one touches another line with every access, the other never. */
static void what_code_touches_is_expected_of_it(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-rates-XXXXXX";
    const struct probe_count open = {probe_code(true, 0, 0), 1},
                             closed = {probe_code(false, 3, 1), 1};
    struct profile_builder builder;
    begin_profile(&builder, path);
    uint32_t one = profile_builder_thread(&builder, 1, "one");
    for (int i = 0; i < 40; i++) {
        bool chases = i % 2;
        struct builder_group group = {
            .probe = {.ip = 0x10000}, .counts = chases ? &open : &closed, .sizes = {1}};
        struct record_burst burst = profile_builder_default_burst(one, 0);
        burst.loop = chases ? 0x10000 : 0x20000;
        burst.accesses = burst.probes = 1;
        profile_builder_burst(&builder, &burst, &group, 1);
    }
    struct profile *profile = end_profile(&builder, path);
    struct loop_rates rates;
    const struct profile *profiles[] = {profile};
    loop_rates_create(profiles, 1, &usual_sources, &rates);
    struct loop_rate *chases = &rates.loops[loop_rates_find(&rates, 0, 0x10000)];
    struct loop_rate *stays = &rates.loops[loop_rates_find(&rates, 0, 0x20000)];
    /* 0.25 ns against 100 ns an access, and neither is measured. */
    assert_float_equal(log(stays->per_ns.value / chases->per_ns.value), log(100.25 / 0.25), 0.01);
    assert_true(!chases->measured && !stays->measured);
    loop_rates_free(&rates);
    profile_free(profile);
}

/* What a modelled processor would take for `accesses` of a burst if lines are at hand, come from
 * the second cache, from memory; how many are new; and what page faults took before it, of 100 us.
 */
static void add_clocks(struct profile_builder *builder, uint32_t thread, uint64_t loop, double held,
                       double near, double far, double new_lines, double fault_ns)
{
    struct progress_variable variables[] = {
        {.kind = PROGRESS_MODEL, .place = PROGRESS_HELD_CYCLES, .within = held},
        {.kind = PROGRESS_MODEL, .place = PROGRESS_NEAR_CYCLES, .within = near},
        {.kind = PROGRESS_MODEL, .place = PROGRESS_FAR_CYCLES, .within = far},
        {.kind = PROGRESS_MODEL, .place = PROGRESS_NEW_LINES, .within = new_lines},
        {.kind = PROGRESS_FAULT_NS, .flags = PROGRESS_BEFORE, .before = fault_ns},
    };
    enum { COUNT = sizeof variables / sizeof *variables };
    const struct record_progress record = {
        .thread_id = thread, .loop = loop, .before_ns = 100000, .count = COUNT};

    for (unsigned i = 0; i + 1 < COUNT; i++)
        variables[i].accesses = 500;
    profile_builder_variables(builder, &record, variables);
}

/* Nothing moves on in four loops: one waits for its sums, one for nothing, one for lines, and one
 * is given new pages for three quarters of its time. */
static void what_code_waits_for_is_expected_of_it(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-rates-XXXXXX";
    struct profile_builder builder;
    uint64_t time = 0;
    begin_profile(&builder, path);
    uint32_t one = profile_builder_thread(&builder, 1, "one");
    for (int i = 0; i < 3; i++) {
        add_loop(&builder, one, 0x10000, 10, &time);
        add_loop(&builder, one, 0x20000, 10, &time);
        add_loop(&builder, one, 0x30000, 10, &time);
        add_loop(&builder, one, 0x40000, 10, &time);
        add_clocks(&builder, one, 0x10000, 1000, 1000, 1000, 0, 0);
        add_clocks(&builder, one, 0x20000, 250, 250, 250, 0, 0);
        add_clocks(&builder, one, 0x30000, 2000, 9000, 177000, 500, 0);
        add_clocks(&builder, one, 0x40000, 250, 250, 250, 0, 75000);
    }
    struct profile *profile = end_profile(&builder, path);
    struct loop_rates rates;
    const struct profile *profiles[] = {profile};
    loop_rates_create(profiles, 1, &usual_sources, &rates);
    struct loop_rate *sums = &rates.loops[loop_rates_find(&rates, 0, 0x10000)];
    struct loop_rate *fast = &rates.loops[loop_rates_find(&rates, 0, 0x20000)];
    struct loop_rate *list = &rates.loops[loop_rates_find(&rates, 0, 0x30000)];
    struct loop_rate *paged = &rates.loops[loop_rates_find(&rates, 0, 0x40000)];
    assert_float_equal(log(fast->per_ns.value / sums->per_ns.value), log(4), 0.01);
    /* A quarter as fast, and known less well: the mean of what it may be is higher. */
    assert_float_equal(log(fast->per_ns.value / paged->per_ns.value), log(4), 0.2);
    assert_true(paged->log_deviation > fast->log_deviation + 0.1);
    /* At some GHz, give or take what processors and models differ by. */
    if (fast->per_ns.value < 4 || fast->per_ns.value > 12)
        fail_msg("%.3f", fast->per_ns.value);
    assert_true(fast->per_ns.lo < fast->per_ns.value / 1.7 && fast->per_ns.hi < 40);
    /* Its lines may come from anywhere, 4 to 354 cycles an access: its range is wider. */
    assert_true(list->per_ns.lo < 3.2 / 60 && list->per_ns.hi > 3.2 / 12);
    assert_true(list->per_ns.hi / list->per_ns.lo > 2 * fast->per_ns.hi / fast->per_ns.lo);
    assert_true(!fast->measured && !list->measured);
    loop_rates_free(&rates);
    profile_free(profile);
}

/* The same loop, all whose lines are used again at once: the modelled processor took them for new,
 * the curve knows better. */
static void the_curve_tells_where_lines_come_from(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-rates-XXXXXX", message[200];
    struct profile_builder builder;
    uint64_t time = 0;
    begin_profile(&builder, path);
    uint32_t one = profile_builder_thread(&builder, 1, "one");
    add_loop(&builder, one, 0x30000, 30, &time);
    for (int i = 0; i < 10; i++)
        add_clocks(&builder, one, 0x30000, 2000, 9000, 177000, 500, 0);
    struct profile *profile = end_profile(&builder, path);
    const struct profile *profiles[] = {profile};
    struct loop_rates rates;
    loop_rates_create(profiles, 1, &usual_sources, &rates);
    struct analysis *analysis = analysis_create(profiles, 1, NULL, message, sizeof message);
    assert_non_null(analysis);
    double usual = rates.loops[0].per_ns.value;
    double found = analysis_access_rate(analysis).per_ns.value;
    if (found < 0.8 * 3.2 / 4 || found > 1.25 * 3.2 / 4 || usual > found / 3)
        fail_msg("%.3f, %.3f", found, usual);
    analysis_free(analysis);
    loop_rates_free(&rates);
    profile_free(profile);
}

/* A second loop, whose lines are not used again: memory is what that one waits for, not the first,
 * though the two of them together miss. */
static void each_loop_has_lines_of_its_own(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-rates-XXXXXX", message[200];
    struct profile_builder builder;
    uint64_t time = 0;
    begin_profile(&builder, path);
    uint32_t one = profile_builder_thread(&builder, 1, "one");
    for (int i = 0; i < 30; i++) {
        struct record_sample sample = profile_builder_default_sample(one, 0);

        add_loop(&builder, one, 0x30000, 1, &time);
        add_clocks(&builder, one, 0x30000, 2000, 9000, 177000, 250, 0);
        sample.ip = 0x501000;
        sample.loop = 0x50000;
        sample.app_ns = time += 1000000;
        sample.watch_mode = WATCH_ACCESSED;
        sample.words_accessed = 8;
        sample.watch_length = 8;
        profile_builder_lone_burst(&builder, &sample);
        profile_builder_sample(&builder, &sample);
        profile_builder_watch_end(&builder, &sample, WATCH_PROCESS_ENDED, 100000000);
        add_clocks(&builder, one, 0x50000, 2000, 9000, 177000, 250, 0);
    }
    struct profile *profile = end_profile(&builder, path);
    const struct profile *profiles[] = {profile};
    struct analysis *analysis = analysis_create(profiles, 1, NULL, message, sizeof message);
    assert_non_null(analysis);
    const struct program_line_sources *sources = &analysis->line_sources;
    const struct line_sources *near = line_sources_of_loop(sources, 0, 0x30000);
    const struct line_sources *far = line_sources_of_loop(sources, 0, 0x50000);
    if (near->memory > 0.1 || far->memory < 0.9 || sources->rest.memory < near->memory ||
        sources->rest.memory > far->memory)
        fail_msg("%.3f, %.3f, %.3f", near->memory, sources->rest.memory, far->memory);
    analysis_free(analysis);
    profile_free(profile);
}

/* Those of the run's machine, where the profile has it, as far as it goes. */
static void caches_that_lines_come_from(void **state)
{
    (void)state;
    const struct record_cache caches[] = {
        {.level = 1, .type = CACHE_DATA, .line_size = 64, .bytes = 48 << 10, .sharing_cpus = 1},
        {.level = 2,
         .type = CACHE_UNIFIED,
         .line_size = 64,
         .bytes = 512 << 10,
         .sharing_cpus = 1}};
    const double expected[][LINE_SOURCE_SIZES] = {{32, 1024, 32768}, {48, 512, 32768}};

    for (unsigned known = 0; known < 2; known++) {
        char path[] = "/tmp/reuse-rates-XXXXXX";
        struct profile_builder builder;
        double bytes[LINE_SOURCE_SIZES];
        int descriptor = mkstemp(path);
        assert_true(descriptor >= 0);
        close(descriptor);
        profile_builder_begin(&builder, path);
        for (unsigned i = 0; known && i < 2; i++)
            profile_builder_record(&builder, RECORD_CACHE, &caches[i], sizeof caches[i]);
        struct profile *profile = end_profile(&builder, path);
        line_source_bytes(profile, bytes);
        for (unsigned i = 0; i < LINE_SOURCE_SIZES; i++)
            assert_float_equal(bytes[i] / 1024, expected[known][i], 0.1);
        profile_free(profile);
    }
}

static void sources_are_shares_of_new_lines(void **state)
{
    const double misses[LINE_SOURCE_SIZES] = {0.05, 0.02, 0.02};
    const struct new_lines tenth = {.accesses = 20, .lines = 2},
                           few = {.accesses = 20, .lines = 0.2};
    struct line_sources sources = line_sources_of(&tenth, misses);

    (void)state;
    assert_float_equal(sources.second, 0.5, 1e-9);
    assert_float_equal(sources.third, 0.2, 1e-9);
    assert_float_equal(sources.memory, 0.2, 1e-9);
    sources = line_sources_of(&few, misses);
    assert_float_equal(sources.second, 1, 1e-9);
    assert_float_equal(sources.memory, 1, 1e-9);
}

/* One access in ten goes to a new line. Where nothing was timed the curve says where those come
 * from; where 100 scattered ones were, and 80 came from memory, about four in five do, whatever a
 * cache of that size would hold. Lines in sequence come from where the curve says. */
static void timed_lines_say_what_is_in_memory(void **state)
{
    const double misses[LINE_SOURCE_SIZES] = {0.05, 0.02, 0.001};
    struct new_lines lines = {.accesses = 20, .lines = 2, .scattered = 2};
    struct line_sources sources = line_sources_of(&lines, misses);

    (void)state;
    assert_float_equal(sources.memory, 0.01, 1e-9);
    lines.memory = 80;
    lines.timed = 100;
    sources = line_sources_of(&lines, misses);
    assert_float_equal(sources.memory, (80 + 4 * 0.01) / 104, 1e-9);
    assert_float_equal(sources.third, sources.memory, 1e-9);
    assert_float_equal(sources.second, sources.memory, 1e-9);
    lines.scattered = 1; /* and as many in sequence */
    sources = line_sources_of(&lines, misses);
    assert_float_equal(sources.memory, (336 * (80 + 4 * 0.01) / 104 + 36 * 0.01) / 372, 1e-9);
    assert_float_equal(sources.second, sources.memory, 1e-9);
    lines.memory = 0;
    sources = line_sources_of(&lines, misses);
    assert_true(sources.memory < 0.01);
    assert_float_equal(sources.third, 0.2, 1e-9);
    lines.memory = 1e9; /* a damaged file */
    sources = line_sources_of(&lines, misses);
    assert_true(sources.memory <= 1 && sources.third <= 1 && sources.second <= 1);
    lines.memory = -1e9;
    assert_true(line_sources_of(&lines, misses).memory >= 0);
}

/* Of the lines a fifth would miss in the second cache and a hundredth in the third: of the 19 %
 * between, half are late if a tenth of all is. */
static void neighbours_take_the_third_cache(void **state)
{
    const double misses[LINE_SOURCE_SIZES] = {0.05, 0.02, 0.001};
    struct new_lines lines = {.accesses = 20, .lines = 2, .scattered = 2};
    struct timed_lines timed = timed_lines_of(&lines, misses);

    (void)state;
    assert_float_equal(timed.timed + timed.memory_ns + timed.third_from_memory, 0, 1e-9);
    lines.timed = 1000;
    lines.memory = 105;
    lines.memory_ns = 105 * 130.0;
    timed = timed_lines_of(&lines, misses);
    assert_float_equal(timed.memory_ns, 130, 1e-9);
    assert_float_equal(timed.third_from_memory, 0.5, 1e-9);
    lines.memory = 900;
    assert_float_equal(timed_lines_of(&lines, misses).third_from_memory, 1, 1e-9);
    lines.memory = 0;
    assert_float_equal(timed_lines_of(&lines, misses).third_from_memory, 0, 1e-9);
}

/* A loop that is listed has sources of its own, in its profile alone. */
static void loops_have_sources_of_their_own(void **state)
{
    struct loop_line_sources loops[] = {
        {0, 0x1000, {1, 1, 0.9}}, {0, 0x3000, {0.5, 0.25, 0.125}}, {2, 0x1000, {0.1, 0.05, 0.01}}};
    const struct program_line_sources sources = {
        .rest = line_sources_usual, .loops = loops, .count = 3};

    (void)state;
    assert_float_equal(line_sources_of_loop(&sources, 0, 0x1000)->memory, 0.9, 1e-9);
    assert_float_equal(line_sources_of_loop(&sources, 0, 0x3000)->third, 0.25, 1e-9);
    assert_float_equal(line_sources_of_loop(&sources, 2, 0x1000)->second, 0.1, 1e-9);
    assert_ptr_equal(line_sources_of_loop(&sources, 0, 0x2000), &sources.rest);
    assert_ptr_equal(line_sources_of_loop(&sources, 1, 0x1000), &sources.rest);
    assert_ptr_equal(line_sources_of_loop(&sources, 3, 0), &sources.rest);
}

/* What two modelled bursts say, each for as long: the second has half of the accesses in a cycle.
 */
static void new_lines_are_those_of_equal_times(void **state)
{
    union {
        struct record_progress record;
        unsigned char bytes[sizeof(struct record_progress) + 2 * sizeof(struct progress_variable)];
    } of = {.record = {.count = 2}};
    struct progress_variable *variables = of.record.variables;
    struct new_lines sum = {0};

    (void)state;
    variables[0] = (struct progress_variable){
        .kind = PROGRESS_MODEL, .place = PROGRESS_HELD_CYCLES, .within = 500, .accesses = 1000};
    variables[1] = (struct progress_variable){
        .kind = PROGRESS_MODEL, .place = PROGRESS_NEW_LINES, .within = 100, .accesses = 1000};
    line_sources_add(&of.record, &sum);
    variables[0].within = 1000;
    variables[1].within = 400;
    line_sources_add(&of.record, &sum);
    variables[0].place = variables[1].place = PROGRESS_CYCLES_PER_NS; /* not modelled */
    line_sources_add(&of.record, &sum);
    assert_float_equal(sum.accesses, 3, 1e-9);
    assert_float_equal(sum.lines, 0.2 + 0.4, 1e-9);
    assert_float_equal(sum.bursts, 2, 1e-9);
    assert_float_equal(sum.scattered + sum.timed, 0, 1e-9);
}

static void timed_lines_add_up(void **state)
{
    union {
        struct record_progress record;
        unsigned char bytes[sizeof(struct record_progress) + 5 * sizeof(struct progress_variable)];
    } of = {.record = {.count = 5}};
    struct progress_variable *variables = of.record.variables;
    struct new_lines sum = {0}, all = {0};

    (void)state;
    variables[0] = (struct progress_variable){
        .kind = PROGRESS_MODEL, .place = PROGRESS_HELD_CYCLES, .within = 500, .accesses = 1000};
    variables[1] = (struct progress_variable){
        .kind = PROGRESS_MODEL, .place = PROGRESS_NEW_LINES, .within = 100, .accesses = 1000};
    variables[2] = (struct progress_variable){
        .kind = PROGRESS_MODEL, .place = PROGRESS_SCATTERED_LINES, .within = 60, .accesses = 1000};
    variables[3] = (struct progress_variable){
        .kind = PROGRESS_MODEL, .place = PROGRESS_MEMORY_LINES, .within = 10, .accesses = 40};
    variables[4] = (struct progress_variable){
        .kind = PROGRESS_MODEL, .place = PROGRESS_MEMORY_NS, .within = 1300, .accesses = 10};
    line_sources_add(&of.record, &sum);
    assert_float_equal(sum.accesses, 2, 1e-9);
    assert_float_equal(sum.scattered, 60 / 500.0, 1e-9);
    assert_float_equal(sum.memory, 10, 1e-9);
    assert_float_equal(sum.timed, 40, 1e-9);
    line_sources_join(&sum, &all);
    line_sources_join(&sum, &all);
    assert_float_equal(all.accesses, 4, 1e-9);
    assert_float_equal(all.lines, 0.4, 1e-9);
    assert_float_equal(all.scattered, 0.24, 1e-9);
    assert_float_equal(all.memory, 20, 1e-9);
    assert_float_equal(all.timed, 80, 1e-9);
    assert_float_equal(all.memory_ns, 2600, 1e-9);
    assert_float_equal(all.bursts, 2, 1e-9);
}

static void without_readings_the_range_is_wide(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-rates-XXXXXX", message[200];
    struct profile_builder builder;
    uint64_t time = 0;
    begin_profile(&builder, path);
    add_loop(&builder, profile_builder_thread(&builder, 1, "one"), 0x10000, 30, &time);
    struct profile *profile = end_profile(&builder, path);
    const struct profile *profiles[] = {profile};
    struct analysis *analysis = analysis_create(profiles, 1, NULL, message, sizeof message);
    assert_non_null(analysis);
    struct access_rate_summary summary = analysis_access_rate(analysis);
    assert_int_equal(summary.bursts, 0);
    assert_true(summary.covered == 0);
    assert_true(summary.size_axis_low <= 0.11 && summary.size_axis_high >= 9);
    analysis_free(analysis);
    profile_free(profile);
}

/* Where hardware counts accesses, a watch ran for as many as were counted: what traps cost the
 * program is time, and takes none of them away. */
static void counted_accesses_are_not_set_off(void **state)
{
    (void)state;
    enum { TRAP_NS = 12000, REUSE = 1500, SAMPLES = 40 };
    char path[] = "/tmp/reuse-counted-XXXXXX", message[256];
    close(mkstemp(path));
    for (int counted = 0; counted <= 1; counted++) {
        struct profile_builder builder;
        struct histogram_share *bins;
        double part = 0;

        profile_builder_begin(&builder, path);
        profile_builder_defaults(&builder);
        profile_builder_run_number(&builder, "trap_cost_ns", TRAP_NS);
        if (counted)
            profile_builder_run(&builder, "clock", "accesses");
        uint32_t thread = profile_builder_thread(&builder, 1, "one");
        for (int i = 0; i < 20; i++)
            profile_builder_rate(&builder, thread, 0, 1, 1000000, 1000000);
        for (int i = 0; i < SAMPLES; i++) {
            struct record_sample sample = profile_builder_default_sample(thread, 0);

            sample.app_ns = 1000000 * (uint64_t)(i + 1);
            sample.accesses_ahead = 200;
            sample.watch_mode = WATCH_ACCESSED;
            sample.words_accessed = 8; /* the whole line: it has no other words */
            sample.watch_length = 8;
            profile_builder_lone_burst(&builder, &sample);
            profile_builder_sample(&builder, &sample);
            profile_builder_watch_end(&builder, &sample, WATCH_REUSED, REUSE);
        }
        profile_builder_finish(&builder);
        struct profile *profile = profile_builder_load(path);
        const struct profile *profiles[] = {profile};
        struct analysis *analysis = analysis_create(profiles, 1, NULL, message, sizeof message);
        assert_non_null(analysis);
        size_t n = analysis_reuse_time_histogram(analysis, (struct subset){0}, &bins);
        for (size_t i = 0; i < n; i++)
            part += bins[i].lo == 1024 ? bins[i].share.value : 0;
        /* Of 1500 ns of CPU time half is set off at the most, which leaves them below 1024. */
        assert_true(counted ? part > 0.99 : part < 0.01);
        free(bins);
        analysis_free(analysis);
        profile_free(profile);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_runs_at_the_samples_rates),
        cmocka_unit_test(loops_are_told_apart),
        cmocka_unit_test(many_loops),
        cmocka_unit_test(system_calls_leave_little_time_for_accesses),
        cmocka_unit_test(what_code_touches_is_expected_of_it),
        cmocka_unit_test(what_code_waits_for_is_expected_of_it),
        cmocka_unit_test(the_curve_tells_where_lines_come_from),
        cmocka_unit_test(each_loop_has_lines_of_its_own),
        cmocka_unit_test(caches_that_lines_come_from),
        cmocka_unit_test(sources_are_shares_of_new_lines),
        cmocka_unit_test(timed_lines_say_what_is_in_memory),
        cmocka_unit_test(timed_lines_add_up),
        cmocka_unit_test(neighbours_take_the_third_cache),
        cmocka_unit_test(loops_have_sources_of_their_own),
        cmocka_unit_test(new_lines_are_those_of_equal_times),
        cmocka_unit_test(without_readings_the_range_is_wide),
        cmocka_unit_test(counted_accesses_are_not_set_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
