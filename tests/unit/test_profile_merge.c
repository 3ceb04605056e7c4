/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merging against an oracle that knows no identifiers: every profile is described as a multiset of
 * texts (who, where in which module, which object, what), in which the description of a merge must
 * be the sum of those of its inputs, in whatever tree they were merged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/merge.h"
#include "sampling/random.h"
#include "support/profile_builder.h"
#include "support/profile_description.h"
#include "support/profile_mutator.h"

static char directory[] = "/tmp/reuse-merge-XXXXXX";
static char message[512];

/* One process of a job: a program and a library somewhere in memory, and what they did there. */
struct process {
    struct profile_builder builder;
    struct random random;
    uint64_t program, solver; /* load biases */
    uint32_t program_id, module_id;
    uint32_t threads[2];
    uint32_t contexts[40];
    uint32_t sites[4];
    uint32_t regions[2];
    uint64_t bursts[30];
};

static const char *file_name(char *name, size_t size, int number)
{
    (void)snprintf(name, size, "%s/%d.rprof", directory, number);
    return name;
}

static void add_counter(struct process *process, const char *name, uint64_t config,
                        enum counter_trust trust)
{
    struct record_counter counter = {
        .type = 4,
        .flags = COUNTER_HAS_PREFETCHES,
        .kind = COUNTER_FILLS,
        .trust = (uint8_t)trust,
        .config = config,
        .levels = 2,
        .count = random_next(&process->random) >> 20,
        .enabled_ns = 1000,
        .running_ns = random_below(&process->random, 1000),
        .estimate = random_next(&process->random) >> 20,
        .processes = 1,
    };
    profile_builder_record_with_tail(&process->builder, RECORD_COUNTER, &counter, sizeof(counter),
                                     name, strlen(name) + 1);
}

static uint32_t add_module(struct process *process, const char *path, uint64_t bias, uint8_t id)
{
    struct record_module module = {
        .module_id = ++process->builder.modules,
        .build_id_size = 20,
        .load_bias = bias,
        .start = bias,
        .end = bias + 0x10000,
        .monotonic_ns = process->builder.now_ns,
        .build_id = {id},
    };
    profile_builder_record_with_tail(&process->builder, RECORD_MODULE, &module, sizeof(module),
                                     path, strlen(path) + 1);
    return module.module_id;
}

/* Frames that are the same functions in every process. */
static void add_contexts(struct process *process)
{
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t parent = i == 0 ? 0 : process->contexts[(i - 1) / 2];
        uint64_t bias = i % 3 ? process->program : process->solver;
        process->contexts[i] = profile_builder_context(&process->builder, parent, bias + 16 * i);
    }
}

static struct probe_group make_group(struct process *process)
{
    struct random *random = &process->random;
    struct probe_group group = {
        .ip = process->program + random_below(random, 50) * 8,
        .reuse_ip = random_below(random, 3) ? process->solver + random_below(random, 50) * 8 : 0,
        .path_id = process->contexts[random_below(random, 40)],
        .kind = ACCESS_LOAD,
        .width = 8,
        .place = random_below(random, 10000),
    };
    switch (random_below(random, 4)) {
    case 0:
        group.object_kind = OBJECT_HEAP;
        group.object_reference = process->sites[random_below(random, 4)];
        group.tracked_log2 = (uint8_t)random_below(random, 4);
        break;
    case 1:
        group.object_kind = OBJECT_GLOBAL;
        group.object_reference = process->module_id;
        group.place = process->solver + 0x8000 + random_below(random, 100) * 8;
        break;
    case 2:
        group.object_kind = OBJECT_STACK;
        group.object_reference = process->threads[random_below(random, 2)];
        break;
    default:
        group.object_kind = OBJECT_HEAP_UNTRACKED;
    }
    return group;
}

/* Identifiers have gaps, as after lost records. */
static void add_burst(struct process *process, unsigned number)
{
    enum { GROUPS = 20 };
    struct random *random = &process->random;
    struct record_burst burst = profile_builder_default_burst(
        process->threads[random_below(random, 2)], process->contexts[random_below(random, 40)]);
    struct builder_group groups[GROUPS];
    struct probe_count counts[GROUPS][2 * PROBE_LINE_SIZES];
    burst.burst_id = 5 + 3 * number;
    burst.app_ns = 1000 * number;
    burst.weight_ns = random_below(random, 1000);
    burst.loop = random_below(random, 2) ? process->solver + 64 : 0;
    burst.region_id = random_below(random, 2) ? process->regions[1] : 0;
    burst.flags = random_below(random, 2) ? BURST_WIDE : 0;
    for (unsigned i = 0; i < GROUPS; i++) {
        groups[i] = (struct builder_group){.probe = make_group(process), .counts = counts[i]};
        for (unsigned s = 0; s < PROBE_LINE_SIZES; s++) {
            groups[i].sizes[s] = s == 0 || burst.flags & BURST_WIDE ? 2 : 0;
            counts[i][2 * s] = (struct probe_count){(uint16_t)random_below(random, 3000), 1 + i};
            counts[i][2 * s + 1] =
                (struct probe_count){(uint16_t)(4096 + random_below(random, 3000)), 2};
        }
    }
    process->bursts[number] =
        profile_builder_burst(&process->builder, &burst, groups, random_below(random, GROUPS));
}

static void add_sample(struct process *process)
{
    struct profile_builder *builder = &process->builder;
    struct random *random = &process->random;
    struct record_sample sample = profile_builder_default_sample(
        process->threads[random_below(random, 2)], process->contexts[random_below(random, 40)]);
    sample.burst_id = random_below(random, 5) ? process->bursts[random_below(random, 30)] : 0;
    sample.ip = process->program + random_below(random, 50) * 8;
    sample.loop = random_below(random, 2) ? process->solver + 64 : 0;
    sample.weight_ns = random_below(random, 1000);
    sample.address = 0x7000000 + random_below(random, 100) * 8;
    switch (random_below(random, 4)) {
    case 0:
        sample.object_kind = OBJECT_HEAP;
        sample.object_reference = process->sites[random_below(random, 4)];
        break;
    case 1:
        sample.object_kind = OBJECT_GLOBAL;
        sample.object_reference = process->module_id;
        sample.address = process->solver + 0x8000 + random_below(random, 100) * 8;
        break;
    case 2:
        sample.object_kind = OBJECT_STACK;
        sample.object_reference = process->threads[random_below(random, 2)];
        break;
    default:
        sample.object_kind = OBJECT_HEAP_UNTRACKED;
    }
    if (random_below(random, 2)) {
        sample.watch_mode = WATCH_ACCESSED;
        sample.watch_address = sample.address;
    }
    profile_builder_sample(builder, &sample);
    if (sample.watch_mode && random_below(random, 2))
        profile_builder_invalidation(builder, &sample, process->threads[random_below(random, 2)],
                                     random_below(random, 10000));
    if (sample.watch_mode && random_below(random, 4))
        profile_builder_watch_end(builder, &sample, WATCH_REUSED, random_below(random, 10000));
}

static void add_counts(struct process *process)
{
    struct profile_builder *builder = &process->builder;
    const struct histogram_bin bins[3] = {
        {.bin = random_below(&process->random, 10), .count = 5},
        {.bin = 10 + random_below(&process->random, 10), .count = 6},
        {.bin = 3000, .count = 7}};
    const uint64_t keys[][3] = {
        {SCOPE_PROCESS, 0, 0},
        {SCOPE_THREAD, process->threads[1], 0},
        {SCOPE_OBJECT, (uint64_t)OBJECT_HEAP << 32 | process->sites[2], 0},
        {SCOPE_OBJECT, (uint64_t)OBJECT_GLOBAL << 32 | process->module_id,
         process->solver + 0x9000},
        {SCOPE_LINE, process->program + 0x20, 0},
        {SCOPE_REGION, process->regions[1], 0},
        {SCOPE_SHARED, 3, 0},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct record_histogram histogram = {.scope = (uint8_t)keys[i][0],
                                             .measure = MEASURE_STACK_DISTANCE,
                                             .line_size = 64,
                                             .key = keys[i][1],
                                             .key2 = keys[i][2],
                                             .accesses = 20,
                                             .cold = 2,
                                             .bin_count = 3,
                                             .rate_denominator = 1};
        profile_builder_histogram(builder, &histogram, bins);
    }
    for (uint32_t i = 0; i < 4; i++) {
        struct record_site_totals totals = {.site_id = process->sites[i],
                                            .blocks = 1 + random_below(&process->random, 9),
                                            .bytes = 100 * i,
                                            .largest_bytes = 10 * i,
                                            .live_bytes_peak = 50};
        profile_builder_record(builder, RECORD_SITE_TOTALS, &totals, sizeof(totals));
    }
    struct record_transfer transfer = {.source_thread = process->threads[0],
                                       .destination_thread = process->threads[1],
                                       .kind = TRANSFER_WAW,
                                       .object_kind = OBJECT_HEAP,
                                       .object_reference = process->sites[0],
                                       .line_size = 64,
                                       .source_ip = process->program + 8,
                                       .transfers = 4};
    profile_builder_record(builder, RECORD_TRANSFER, &transfer, sizeof(transfer));
}

static void add_served(struct process *process)
{
    struct record_served served = {.thread_id = process->threads[1],
                                   .object_kind = OBJECT_GLOBAL,
                                   .object_reference = process->module_id,
                                   .address_low = process->solver + 0x9000,
                                   .address_high = process->solver + 0x9100,
                                   .level = 3,
                                   .samples = 4,
                                   .weight = 4000,
                                   .latency = 70};
    for (int i = 0; i < 20; i++) {
        served.ip = process->program + 4 * random_below(&process->random, 10);
        profile_builder_record(&process->builder, RECORD_SERVED, &served, sizeof(served));
    }
    served.object_kind = OBJECT_HEAP;
    served.object_reference = process->sites[3];
    served.address_low = served.address_high = 0;
    profile_builder_record(&process->builder, RECORD_SERVED, &served, sizeof(served));
    served.object_kind = OBJECT_STACK;
    served.object_reference = process->threads[0];
    profile_builder_record(&process->builder, RECORD_SERVED, &served, sizeof(served));
}

static void write_process(int number, const char *engine)
{
    char name[128];
    struct process process = {.program = 0x550000000000 + (uint64_t)number * 0x1234000,
                              .solver = 0x7f0000000000 - (uint64_t)number * 0x777000};
    struct profile_builder *builder = &process.builder;
    random_seed(&process.random, (uint64_t)number);
    profile_builder_begin(builder, file_name(name, sizeof(name), number));
    profile_builder_run(builder, "engine", engine);
    profile_builder_run(builder, "line_size", "64");
    profile_builder_run(builder, "program", "/bin/job");
    profile_builder_run(builder, "host", number % 2 ? "node1" : "node2");
    profile_builder_run_number(builder, "rank", (uint64_t)number);
    profile_builder_run_number(builder, "pid", 1000 + (uint64_t)number);
    struct record_cache cache = {.level = 1, .type = CACHE_DATA, .line_size = 64, .bytes = 32768};
    profile_builder_record(builder, RECORD_CACHE, &cache, sizeof(cache));
    process.program_id = add_module(&process, "/bin/job", process.program, 1);
    process.module_id = add_module(&process, "/lib/solver.so", process.solver, 2);
    for (int i = 0; i < 2; i++)
        process.threads[i] = profile_builder_thread(builder, 2000 + 10 * number + i, "worker");
    add_contexts(&process);
    for (uint32_t i = 0; i < 4; i++)
        process.sites[i] = profile_builder_site(builder, process.contexts[5 * i], ALLOCATOR_MALLOC,
                                                i == 3 ? "named" : "");
    /* Not in the same order everywhere. */
    for (int i = 0; i < 2; i++) {
        int region = (number + i) % 2;
        process.regions[region] = profile_builder_region(
            builder, region ? 0 : process.solver + 0x40, region ? "phase" : "solve");
    }
    for (unsigned i = 0; i < 30; i++)
        add_burst(&process, i);
    for (int i = 0; i < 200; i++)
        add_sample(&process);
    profile_builder_rate(builder, process.threads[0], process.solver + 64, 1, 1000, 10);
    struct record_totals totals = {.thread_id = process.threads[0], .samples = 200};
    struct record_thread_end end = {.thread_id = process.threads[1], .app_ns = 77};
    struct record_mapping mapping = {.start = 0x7000000, .end = 0x8000000};
    profile_builder_record(builder, RECORD_TOTALS, &totals, sizeof(totals));
    profile_builder_record(builder, RECORD_THREAD_END, &end, sizeof(end));
    profile_builder_record(builder, RECORD_MAPPING, &mapping, sizeof(mapping));
    profile_builder_note(builder, NOTE_WARNING, "something to know");
    add_counter(&process, "L1D:REPLACEMENT", 0x151, COUNTER_TRUSTED);
    /* On another machine the same event is not to be trusted: it stays apart. */
    add_counter(&process, "L2_LINES_IN:ALL", 0x7f1, number % 2 ? COUNTER_TRUSTED : COUNTER_SILENT);
    add_counts(&process);
    add_served(&process);
    profile_builder_finish(builder);
}

static void merge_numbers(const int *inputs, size_t n, int output)
{
    char names[8][128];
    const char *paths[8];
    char out[128];
    for (size_t i = 0; i < n; i++)
        paths[i] = file_name(names[i], sizeof(names[i]), inputs[i]);
    if (!profile_merge_files(paths, n, file_name(out, sizeof(out), output), message,
                             sizeof(message)))
        fail_msg("%s", message);
}

static struct profile *load_number(int number)
{
    char name[128];
    return profile_builder_load(file_name(name, sizeof(name), number));
}

static void describe_number(struct description *out, int number)
{
    struct profile *profile = load_number(number);
    profile_describe(out, profile);
    profile_free(profile);
}

static void test_merge_is_the_union(void **state)
{
    (void)state;
    struct description inputs = {0};
    struct description merged = {0};
    merge_numbers((int[]){1, 2, 3, 4}, 4, 100);
    for (int i = 1; i <= 4; i++)
        describe_number(&inputs, i);
    describe_number(&merged, 100);
    profile_assert_same(&merged, &inputs);
    assert_true(merged.count > 500);
    profile_description_free(&inputs);
    profile_description_free(&merged);
}

static void test_any_tree_gives_the_same(void **state)
{
    (void)state;
    merge_numbers((int[]){1, 2, 3, 4}, 4, 100);
    merge_numbers((int[]){1, 2}, 2, 101);
    merge_numbers((int[]){4, 3}, 2, 102);
    merge_numbers((int[]){102, 101}, 2, 103);
    merge_numbers((int[]){2, 4}, 2, 104);
    merge_numbers((int[]){3, 104}, 2, 105);
    merge_numbers((int[]){105, 1}, 2, 106);
    merge_numbers((int[]){106}, 1, 107);
    const int results[] = {103, 106, 107};
    for (size_t i = 0; i < 3; i++) {
        struct description flat = {0};
        struct description tree = {0};
        describe_number(&flat, 100);
        describe_number(&tree, results[i]);
        profile_assert_same(&flat, &tree);
        profile_description_free(&flat);
        profile_description_free(&tree);
        struct profile *profile = load_number(results[i]);
        assert_int_equal(profile->origins.count, 4);
        assert_int_equal(profile->contexts.count, 40);
        profile_free(profile);
    }
}

static void test_what_is_the_same_is_stored_once(void **state)
{
    (void)state;
    merge_numbers((int[]){1, 2, 3, 4}, 4, 100);
    struct profile *merged = load_number(100);
    assert_true(merged->complete);
    assert_int_equal(merged->lost_records, 0);
    assert_int_equal(merged->origins.count, 4);
    assert_int_equal(merged->modules.count, 2);
    assert_int_equal(merged->contexts.count, 40);
    assert_int_equal(merged->sites.count, 4);
    assert_int_equal(merged->regions.count, 2);
    assert_int_equal(merged->threads.count, 8);
    assert_int_equal(merged->samples.count, 800);
    assert_int_equal(merged->caches.count, 1);
    assert_int_equal(merged->caches.items[0].origin_id, 0);
    assert_int_equal(profile_site_totals(merged, 4)->largest_bytes, 30);
    for (size_t i = 0; i < merged->modules.count; i++)
        assert_true(merged->modules.items[i]->start >= PROFILE_MERGED_ADDRESS);
    /* Common keys are the run's, the others their origins'. */
    assert_string_equal(profile_run_text(merged, "program", "?"), "/bin/job");
    assert_int_equal(profile_run_number(merged, "line_size", 0), 64);
    assert_string_equal(profile_run_text(merged, "host", "?"), "?");
    assert_string_equal(profile_run_text(merged, "pid", "?"), "?");
    for (size_t i = 0; i < 4; i++) {
        char rank[8];
        const struct record_origin *origin = merged->origins.items[i];
        (void)snprintf(rank, sizeof(rank), "%zu", i + 1);
        assert_int_equal(origin->flags, ORIGIN_COMPLETE);
        assert_string_equal(profile_origin_text(merged, origin->origin_id, "rank", "?"), rank);
    }
    profile_free(merged);
}

/* A second module took the place of an unloaded one: frames belong to what was there at the time.
 */
static void test_reused_addresses(void **state)
{
    (void)state;
    char name[128];
    struct process process = {0};
    struct profile_builder *builder = &process.builder;
    profile_builder_begin(builder, file_name(name, sizeof(name), 20));
    uint32_t thread = profile_builder_thread(builder, 1, "main");
    uint32_t first = add_module(&process, "/lib/first.so", 0x10000, 1);
    uint32_t context = profile_builder_context(builder, 0, 0x10100);
    struct record_sample sample = profile_builder_default_sample(thread, context);
    sample.ip = 0x10100;
    profile_builder_sample(builder, &sample);
    builder->now_ns += 1000;
    struct record_module_end end = {.module_id = first, .monotonic_ns = builder->now_ns};
    profile_builder_record(builder, RECORD_MODULE_END, &end, sizeof(end));
    builder->now_ns += 1000;
    add_module(&process, "/lib/second.so", 0x10000, 2);
    sample.sample_id = 0;
    sample.monotonic_ns = 0;
    profile_builder_sample(builder, &sample);
    profile_builder_finish(builder);

    merge_numbers((int[]){20, 20}, 2, 120);
    struct profile *merged = load_number(120);
    assert_int_equal(merged->contexts.count, 2);
    for (size_t i = 0; i < 4; i++) {
        const struct record_sample *got = &merged->samples.items[i];
        const char *expected = i % 2 ? "/lib/second.so" : "/lib/first.so";
        const struct record_context *frame = profile_context(merged, got->context_id);
        assert_string_equal(profile_module_at(merged, got->ip, got->monotonic_ns)->path, expected);
        assert_string_equal(profile_module_at(merged, frame->ip, 0)->path, expected);
    }
    profile_free(merged);
}

static void test_different_machines_keep_their_caches(void **state)
{
    (void)state;
    for (int i = 30; i < 32; i++) {
        char name[128];
        struct profile_builder builder;
        struct record_cache cache = {.level = 1, .line_size = 64, .bytes = (uint64_t)i << 10};
        profile_builder_begin(&builder, file_name(name, sizeof(name), i));
        profile_builder_record(&builder, RECORD_CACHE, &cache, sizeof(cache));
        profile_builder_cut(&builder);
    }
    merge_numbers((int[]){30, 31}, 2, 130);
    merge_numbers((int[]){130, 30}, 2, 131);
    struct profile *merged = load_number(131);
    assert_int_equal(merged->caches.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(merged->caches.items[i].origin_id, i + 1);
        assert_int_equal(merged->caches.items[i].bytes, (i == 1 ? 31 : 30) << 10);
        assert_int_equal(merged->origins.items[i]->flags, 0); /* their runs were cut short */
    }
    profile_free(merged);
}

static size_t files_in_directory(void)
{
    char command[128];
    char line[32] = "";
    (void)snprintf(command, sizeof(command), "ls -A %s | wc -l", directory);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof(line), pipe));
    (void)pclose(pipe);
    return strtoul(line, NULL, 10);
}

static void expect_failure(const char *const *paths, size_t n, const char *out, const char *text)
{
    size_t files = files_in_directory();
    message[0] = '\0';
    assert_false(profile_merge_files(paths, n, out, message, sizeof(message)));
    if (!strstr(message, text))
        fail_msg("'%s' does not say '%s'", message, text);
    assert_null(strchr(message, '\n'));
    assert_int_equal(files_in_directory(), files); /* nothing is left behind */
}

static void write_ended(int number, uint32_t exit_status)
{
    char name[128];
    struct profile_builder builder;
    const struct record_end end = {.wall_ns = 1, .exit_status = exit_status};
    profile_builder_begin(&builder, file_name(name, sizeof(name), number));
    profile_builder_defaults(&builder);
    profile_builder_record(&builder, RECORD_END, &end, sizeof(end));
    profile_builder_cut(&builder);
}

/* That of the job is the same in any order of its processes. */
static void test_exit_status(void **state)
{
    (void)state;
    const int orders[2][3] = {{30, 31, 32}, {31, 32, 30}};
    write_ended(30, 3);
    write_ended(31, 9);
    write_ended(32, 0);
    for (int i = 0; i < 2; i++) {
        merge_numbers(orders[i], 3, 130);
        struct profile *profile = load_number(130);
        assert_int_equal(profile->end.exit_status, 9);
        profile_free(profile);
    }
}

static void test_failures(void **state)
{
    (void)state;
    char first[128];
    char exact[128];
    char out[128];
    write_process(40, "exact");
    file_name(first, sizeof(first), 1);
    file_name(exact, sizeof(exact), 40);
    file_name(out, sizeof(out), 140);
    expect_failure((const char *[]){first, exact}, 2, out, "engine exact");
    write_process(40, "one\nline \033[31m");
    expect_failure((const char *[]){first, exact}, 2, out, "engine one?line ?[31m");
    expect_failure((const char *[]){first, "/nonexistent"}, 2, out, "No such file");
    expect_failure((const char *[]){first}, 1, "/nonexistent/out",
                   "cannot write '/nonexistent/out'");
    expect_failure((const char *[]){first}, 1, "/dev/full", "No space left on device");
}

/* The output may be one of the inputs, and a limit met while writing leaves the old file alone. */
static void test_output_over_input(void **state)
{
    (void)state;
    write_process(50, "clock");
    write_process(51, "clock");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char names[2][128];
        struct rlimit limit = {.rlim_cur = 20000, .rlim_max = 20000};
        const char *paths[2] = {file_name(names[0], sizeof(names[0]), 50),
                                file_name(names[1], sizeof(names[1]), 51)};
        (void)setrlimit(RLIMIT_FSIZE, &limit);
        bool merged = profile_merge_files(paths, 2, paths[0], message, sizeof(message));
        _exit(merged || !strstr(message, "File too large"));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct profile *profile = load_number(50);
    assert_int_equal(profile->samples.count, 200);
    profile_free(profile);
    merge_numbers((int[]){50, 51}, 2, 50);
    profile = load_number(50);
    assert_int_equal(profile->samples.count, 400);
    profile_free(profile);
}

/* Whatever the reader lets through, the merge takes; and what it writes is whole. */
static void test_damaged_inputs(void **state)
{
    (void)state;
    char name[128];
    char out[128];
    struct random random;
    size_t size;
    uint64_t seed = (uint64_t)getpid();
    unsigned char *data = read_whole_file(file_name(name, sizeof(name), 1), &size);
    print_message("seed %llu\n", (unsigned long long)seed);
    random_seed(&random, seed);
    file_name(out, sizeof(out), 150);
    for (int i = 0; i < 200; i++) {
        size_t changed_size;
        unsigned char *changed = mutate_profile(&random, data, size, &changed_size);
        repair_checksums(changed, changed_size);
        struct profile *profile =
            profile_parse(changed, changed_size, "changed", message, sizeof(message));
        free(changed);
        if (!profile)
            continue;
        const struct profile *const inputs[2] = {profile, profile};
        if (!profile_merge(inputs, 2, out, message, sizeof(message)))
            fail_msg("%s", message);
        struct profile *merged = profile_builder_load(out);
        assert_true(merged->complete);
        assert_int_equal(merged->invalid_records, 0);
        assert_int_equal(merged->dropped_bytes, 0);
        assert_int_equal(merged->lost_records, 0);
        assert_int_equal(merged->samples.count, 2 * profile->samples.count);
        assert_int_equal(merged->origins.count,
                         profile->origins.count ? 2 * profile->origins.count : 2);
        profile_free(merged);
        profile_free(profile);
    }
    free(data);
}

static int make_inputs(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return 1;
    for (int i = 1; i <= 4; i++)
        write_process(i, "clock");
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge_is_the_union),
        cmocka_unit_test(test_any_tree_gives_the_same),
        cmocka_unit_test(test_what_is_the_same_is_stored_once),
        cmocka_unit_test(test_reused_addresses),
        cmocka_unit_test(test_different_machines_keep_their_caches),
        cmocka_unit_test(test_exit_status),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_output_over_input),
        cmocka_unit_test(test_damaged_inputs),
    };
    return cmocka_run_group_tests(tests, make_inputs, remove_directory);
}
