/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel did for a process, of a report: time in page faults and in reads and writes; and
 * which functions ask for these. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/model/input_output_code.h"
#include "report/model/kernel_use.h"
#include "support/profile_builder.h"
#include "support/scratch_file.h"

enum { BURSTS = 40, MILLISECOND = 1000 * 1000, READS = 3, CALLS = 4 };

/* Of 10 s in 4 the code runs; a tenth of the time between bursts are page faults. With calls each
 * burst makes four system calls, three of them reads. */
static struct kernel_use use_of(bool calls)
{
    struct record_totals totals = {.app_ns = UINT64_C(10000) * MILLISECOND,
                                   .user_ns = UINT64_C(4000) * MILLISECOND,
                                   .kernel_ns = UINT64_C(6000) * MILLISECOND};
    struct profile_builder builder;
    const struct profile *profiles[1];
    struct profile *profile;
    struct kernel_use use;

    profile_builder_begin(&builder, scratch_path);
    profile_builder_defaults(&builder);
    if (calls) {
        profile_builder_run_number(&builder, "read_calls", 3000);
        profile_builder_run_number(&builder, "read_bytes", 48000);
        profile_builder_run_number(&builder, "write_calls", 1000);
        profile_builder_run_number(&builder, "write_bytes", 4000);
    }
    totals.thread_id = profile_builder_thread(&builder, 1, "one");
    for (int i = 0; i < BURSTS; i++) {
        struct record_progress record = {.thread_id = totals.thread_id,
                                         .burst_id = (uint64_t)i + 1,
                                         .since_ns = i ? 10 * MILLISECOND : 0,
                                         .count = 3};
        const struct progress_variable variables[3] = {
            {.kind = PROGRESS_SYSTEM_CALLS, .accesses = 4096, .within = calls ? CALLS : 0},
            {.kind = PROGRESS_KERNEL_COUNT,
             .place = PROGRESS_READ_CALLS,
             .accesses = 4096,
             .within = calls ? READS : 0},
            {.kind = PROGRESS_FAULT_NS, .accesses = 4096, .since = MILLISECOND},
        };

        profile_builder_variables(&builder, &record, variables);
    }
    profile_builder_record(&builder, RECORD_TOTALS, &totals, sizeof totals);
    profile_builder_finish(&builder);
    profiles[0] = profile = profile_builder_load(scratch_path);
    use = kernel_use_of(&(struct model){.profiles = profiles, .profile_count = 1});
    profile_free(profile);
    return use;
}

static void calls_have_their_part_of_the_kernels_time(void **state)
{
    const struct kernel_use use = use_of(true);
    const double half = 1.96 * sqrt(0.75 * 0.25 / BURSTS);

    (void)state;
    assert_float_equal(use.time, 0.6, 1e-9);
    assert_float_equal(use.fault_time, 0.1, 1e-9);
    assert_float_equal(use.calls, 4000, 0);
    assert_float_equal(use.call_bytes, 52000, 0);
    assert_float_equal(use.call_time.value, 0.5 * 0.75, 1e-9);
    assert_float_equal(use.call_time.lo, 0.5 * (0.75 - half), 1e-9);
    assert_float_equal(use.call_time.hi, 0.5 * (0.75 + half), 1e-9);
}

static void without_calls_there_is_nothing(void **state)
{
    const struct kernel_use use = use_of(false);

    (void)state;
    assert_float_equal(use.fault_time, 0.1, 1e-9);
    assert_float_equal(use.calls, 0, 0);
    assert_float_equal(use.call_time.hi, 0, 0);
}

static void functions_are_known_by_name_and_library(void **state)
{
    static const struct {
        const char *module, *function;
        bool is;
    } cases[] = {
        {"libc.so.6", "__libc_read", true},    {"libc.so.6", "__GI___libc_write", true},
        {"libc-2.31.so", "__pwrite64", true},  {"ld-musl-x86_64.so.1", "readv", true},
        {"libpthread-2.31.so", "write", true}, {"libc.so.6", "readdir", false},
        {"libc.so.6", "_IO_file_read", false}, {"program", "read", false},
        {"libc.so.6", "fread", false},         {NULL, "read", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct code_line frame = {.module = cases[i].module, .function = cases[i].function};

        if (input_output_code_is(&frame) != cases[i].is)
            fail_msg("%s", cases[i].function);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_have_their_part_of_the_kernels_time),
        cmocka_unit_test(without_calls_there_is_nothing),
        cmocka_unit_test(functions_are_known_by_name_and_library),
    };

    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
