/* SPDX-License-Identifier: BSD-3-Clause */
/* How CPU time is divided between a program's code and the kernel, and what calls of the kernel
 * tell of accesses. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "analysis/rates/kernel_time.h"
#include "support/profile_builder.h"

#define SECOND UINT64_C(1000000000)

static char path[] = "/tmp/reuse-kernel-time-XXXXXX";
static struct profile_builder builder;

static uint32_t begin(void)
{
    int descriptor = mkstemp(path);

    assert_true(descriptor >= 0);
    close(descriptor);
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    return profile_builder_thread(&builder, 1, "one");
}

static struct profile *end(void)
{
    struct profile *profile;

    profile_builder_finish(&builder);
    profile = profile_builder_load(path);
    unlink(path);
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    return profile;
}

static void add_totals(uint32_t thread, uint64_t app, uint64_t handler, uint64_t besides,
                       uint64_t user, uint64_t kernel)
{
    const struct record_totals totals = {.thread_id = thread,
                                         .app_ns = app,
                                         .handler_ns = handler,
                                         .besides_ns = besides,
                                         .user_ns = user,
                                         .kernel_ns = kernel};

    profile_builder_record(&builder, RECORD_TOTALS, &totals, sizeof totals);
}

/* Two threads, one of which the kernel was not asked about, and what profiling took of the first:
 * 0.2 s in its handlers, 0.1 s of context switches. */
static void what_profiling_took_is_no_part_of_it(void **state)
{
    (void)state;
    uint32_t one = begin(), two = profile_builder_thread(&builder, 2, "two");
    struct profile *profile;
    struct kernel_time time;

    add_totals(one, 41 * SECOND / 10, SECOND / 5, SECOND / 10, 12 * SECOND / 10, 31 * SECOND / 10);
    add_totals(two, 2 * SECOND, 0, 0, 0, 0);
    profile = end();
    time = kernel_time_of(profile);
    assert_float_equal(time.own_ns, 1.5e9, 1e3);
    assert_float_equal(time.kernel_ns, 4.5e9, 1e3);
    profile_free(profile);

    one = begin();
    add_totals(one, 4 * SECOND, 0, 0, 0, 0);
    profile = end();
    time = kernel_time_of(profile);
    assert_float_equal(time.own_ns + time.kernel_ns, 0, 0);
    profile_free(profile);
}

/* Three groups: one computes, one makes all the calls that were seen, one is given new pages. */
static void calls_and_faults_have_the_kernels_time(void **state)
{
    (void)state;
    const struct kernel_time time = {4e9, 6e9};
    const double shares[3] = {0.5, 0.25, 0.25}, log_rates[3] = {0, log(0.5), 0};
    const struct kernel_demand demand[3] = {
        {0, 4096, 0, 0, 0}, {99, 4096, 0, 0, 0}, {0, 4096, 1e9, 0, 0.5}};
    struct kernel_parts parts[3];

    kernel_time_divide(&time, 3, shares, log_rates, demand, parts);
    /* 1 s for the faults and a hundredth of the other 5, the rest for the calls. */
    assert_float_equal(parts[0].own, 1, 1e-9);
    assert_float_equal(parts[1].own, 1 / (1 + 4.95), 1e-9);
    assert_float_equal(parts[2].own, 1 / (1 + 1.05), 1e-9);
}

/* Of two groups that call the kernel as often in an access, the one that makes more has more of its
 * time. */
static void calls_are_as_many_as_accesses_make_them(void **state)
{
    (void)state;
    const struct kernel_time time = {4e9, 4.4e9};
    const double shares[2] = {0.5, 0.5}, log_rates[2] = {log(3), log(1)};
    const struct kernel_demand demand[2] = {{5, 4096, 0, 0, 0}, {5, 4096, 0, 0, 0}};
    struct kernel_parts parts[2];

    kernel_time_divide(&time, 2, shares, log_rates, demand, parts);
    /* 4 s for the calls, three quarters and one; 0.4 s anywhere, as accesses are. */
    assert_float_equal(parts[0].own, 2 / (2 + 3.3), 1e-9);
    assert_float_equal(parts[1].own, 2 / (2 + 1.1), 1e-9);
}

/* Accesses of one group take faults, as bursts of it have seen; the time of them was found before
 * bursts of another one, which came next. What is more than these take is where it was found. */
static void faults_of_accesses_are_theirs(void **state)
{
    (void)state;
    const struct kernel_time time = {4e9, 2e9};
    const double shares[2] = {0.5, 0.5}, log_rates[2] = {log(2), 0};
    struct kernel_demand demand[2] = {{0, 4096, 0, 0.25, 0}, {0, 4096, 2e9, 0, 0}};
    struct kernel_parts parts[2];

    kernel_time_divide(&time, 2, shares, log_rates, demand, parts);
    /* 4 G accesses, 0.25 ns of faults each. */
    assert_float_equal(parts[0].own, 2 / (2 + 1.0), 1e-9);
    assert_float_equal(parts[0].access_faults, 1 / (2 + 1.0), 1e-9);
    assert_float_equal(parts[1].own, 2 / (2 + 1.0), 1e-9);
    assert_float_equal(parts[1].access_faults, 0, 0);
    /* Not more than the kernel had. */
    demand[0].access_fault_ns = 25;
    kernel_time_divide(&time, 2, shares, log_rates, demand, parts);
    assert_float_equal(parts[0].own, 0.5, 1e-9);
    assert_float_equal(parts[0].code, 1, 1e-9);
    assert_float_equal(parts[1].own, 1, 1e-9);
    /* They are known to have taken a second more: it is in the time of the code. */
    demand[1].fault_ns = 3e9;
    kernel_time_divide(&time, 2, shares, log_rates, demand, parts);
    assert_float_equal(parts[0].own, 0.5, 1e-9);
    assert_float_equal(parts[0].code, 0.5, 1e-9);
    assert_float_equal(parts[0].access_faults, 0.75, 1e-9);
    assert_float_equal(parts[1].code, 1, 1e-9);
}

static void without_it_faults_before_bursts_tell(void **state)
{
    (void)state;
    const struct kernel_time time = {0, 0};
    const double shares[2] = {0.5, 0.5}, log_rates[2] = {0, 0};
    const struct kernel_demand demand[2] = {{0, 0, 0, 0, 0.75}, {0, 0, 0, 0, 1}};
    struct kernel_parts parts[2];

    kernel_time_divide(&time, 2, shares, log_rates, demand, parts);
    assert_float_equal(parts[0].own, 0.25, 1e-9);
    assert_float_equal(parts[1].own, 0.05, 1e-9);
}

/* What the kernel counts in the time of a burst, and of five bursts one after the other. */
struct counted {
    enum progress_kernel_count what;
    double since, within[5];
};

/* The accesses that are estimated of 40 bursts. The kernel works nine tenths of their time, and the
 * clock ends in the other tenth alone. */
static double accesses_of(const struct counted *counted)
{
    enum { BURSTS = 40 };
    const uint64_t own_ns = 20 * 1000 * 1000;
    double accesses;
    const struct probe_count probe = {probe_code(false, 3, 1), 1};
    const struct builder_group group = {.probe = {.ip = 0x10010}, .counts = &probe, .sizes = {1}};
    uint32_t thread = begin();
    const struct profile *profiles[1];
    struct analysis_options options = {0};
    struct analysis *analysis;
    struct profile *profile;
    char message[200];

    for (int i = 0; i < BURSTS; i++) {
        struct record_burst burst = profile_builder_default_burst(thread, 0);
        struct record_progress record = {.thread_id = thread,
                                         .loop = 0x10000,
                                         .app_ns = (uint64_t)(i + 1) * 10 * own_ns,
                                         .since_ns = i ? 10 * own_ns : 0,
                                         .count = 2};
        const double within = counted->within[i % 5];
        const bool is_call = counted->what < PROGRESS_CALL_COUNTS;
        const struct progress_variable variables[2] = {
            {.kind = PROGRESS_SYSTEM_CALLS, .accesses = 4096, .within = is_call ? within : 0},
            {.kind = PROGRESS_KERNEL_COUNT,
             .place = counted->what,
             .flags = i ? PROGRESS_SINCE : 0,
             .accesses = 4096,
             .within = within,
             .since = counted->since},
        };

        burst.loop = 0x10000;
        burst.app_ns = record.app_ns;
        burst.weight_ns = own_ns;
        burst.accesses = 4096;
        burst.probes = 1;
        profile_builder_burst(&builder, &burst, &group, 1);
        record.burst_id = burst.burst_id;
        profile_builder_variables(&builder, &record, variables);
    }
    add_totals(thread, BURSTS * 10 * own_ns, 0, 0, BURSTS * own_ns, BURSTS * 9 * own_ns);
    profiles[0] = profile = end();
    analysis = analysis_create(profiles, 1, &options, message, sizeof message);
    if (!analysis)
        fail_msg("%s", message);
    accesses = analysis_accesses(analysis).value;
    analysis_free(analysis);
    profile_free(profile);
    return accesses;
}

/* A server: 2000 reads of 10 000 accesses each, 40 times. 4096 accesses have a read in two of five
 * bursts, as they would; what is expected of the code says otherwise. */
static void calls_count_accesses(void **state)
{
    const struct counted reads = {PROGRESS_READ_CALLS, 2000, {1, 1, 0, 0, 0}};

    (void)state;
    assert_float_equal(accesses_of(&reads), 40 * 2000 * 10240e0, 0.15 * 8.2e8);
}

/* Arrays that are filled for the first time, 512 words a page: 8 faults in 4096 accesses. */
static void page_faults_count_accesses(void **state)
{
    const struct counted faults = {PROGRESS_PAGE_FAULTS, 2e4, {8, 8, 8, 7, 9}};

    (void)state;
    assert_float_equal(accesses_of(&faults), 40 * 2e4 * 512, 0.2 * 4.1e8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_profiling_took_is_no_part_of_it),
        cmocka_unit_test(calls_and_faults_have_the_kernels_time),
        cmocka_unit_test(calls_are_as_many_as_accesses_make_them),
        cmocka_unit_test(faults_of_accesses_are_theirs),
        cmocka_unit_test(without_it_faults_before_bursts_tell),
        cmocka_unit_test(calls_count_accesses),
        cmocka_unit_test(page_faults_count_accesses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
