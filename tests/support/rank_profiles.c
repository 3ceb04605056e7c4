/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank_profiles FOLDER COUNT KIB bursts|histograms: makes FOLDER/rank.00001.rprof ..., of some
 * 30 KiB and KIB KiB of bursts, or of histograms of threads and stacks, as the ranks of one job
 * would write them: the same program and calling contexts at addresses that differ, all else their
 * own. A rank's file is the same every time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampling/random.h"
#include "support/profile_builder.h"

enum { CONTEXTS = 400, SITES = 20, GROUPS = 60, BURST_BYTES = 2500, BINS = 200 };

struct rank {
    struct profile_builder builder;
    struct random random;
    uint64_t program; /* load bias */
    uint32_t module, threads[2];
    uint32_t contexts[CONTEXTS], sites[SITES];
};

static uint64_t code(struct rank *rank)
{
    return rank->program + 0x1000 + 16 * random_below(&rank->random, CONTEXTS);
}

static void add_program(struct rank *rank, int number, const char *engine)
{
    struct profile_builder *builder = &rank->builder;

    profile_builder_defaults(builder);
    profile_builder_run(builder, "engine", engine);
    profile_builder_run_number(builder, "rank", (uint64_t)number);
    profile_builder_run_number(builder, "pid", 1000 + (uint64_t)number);
    rank->program = 0x550000000000 + 0x1000000 * random_below(&rank->random, 1000);
    rank->module = profile_builder_module(builder, "/bin/test", rank->program,
                                          rank->program + 0x100000, rank->program);
    for (int i = 0; i < 2; i++)
        rank->threads[i] =
            profile_builder_thread(builder, 1000 + number + i, i ? "worker" : "main");
    for (int i = 0; i < CONTEXTS; i++)
        rank->contexts[i] = profile_builder_context(builder, i ? rank->contexts[(i - 1) / 3] : 0,
                                                    rank->program + 0x1000 + 16 * (uint64_t)i);
    for (int i = 0; i < SITES; i++)
        rank->sites[i] = profile_builder_site(builder, rank->contexts[7 * i], ALLOCATOR_MALLOC, "");
}

static void add_burst(struct rank *rank, uint32_t thread)
{
    struct random *random = &rank->random;
    struct record_burst burst =
        profile_builder_default_burst(thread, rank->contexts[random_below(random, CONTEXTS)]);
    struct builder_group groups[GROUPS];
    struct probe_count counts[GROUPS][8];
    struct record_sample sample = profile_builder_default_sample(thread, burst.context_id);

    burst.app_ns = rank->builder.now_ns;
    for (int i = 0; i < GROUPS; i++) {
        groups[i] = (struct builder_group){
            .probe = {.ip = code(rank),
                      .reuse_ip = code(rank),
                      .path_id = rank->contexts[random_below(random, CONTEXTS)],
                      .kind = ACCESS_LOAD,
                      .width = 8,
                      .place = random_below(random, 100000),
                      .object_kind = OBJECT_HEAP,
                      .object_reference = rank->sites[random_below(random, SITES)]},
            .counts = counts[i],
            .sizes = {8}};
        for (uint16_t k = 0; k < 8; k++)
            counts[i][k] = (struct probe_count){(uint16_t)(k * 300 + random_below(random, 300)),
                                                1 + random_below(random, 9)};
    }
    sample.burst_id = profile_builder_burst(&rank->builder, &burst, groups, GROUPS);
    sample.app_ns = burst.app_ns;
    sample.ip = code(rank);
    sample.object_kind = OBJECT_HEAP;
    sample.object_reference = rank->sites[random_below(random, SITES)];
    profile_builder_sample(&rank->builder, &sample);
}

static void add_histogram(struct rank *rank, enum histogram_scope scope, uint64_t key,
                          uint32_t bin_count)
{
    struct histogram_bin bins[BINS];
    struct record_histogram histogram = {.scope = (uint8_t)scope,
                                         .measure = MEASURE_STACK_DISTANCE,
                                         .line_size = 64,
                                         .key = key,
                                         .bin_count = bin_count,
                                         .rate_denominator = 1};

    for (uint32_t i = 0; i < bin_count; i++) {
        bins[i] = (struct histogram_bin){.bin = 3 * i + random_below(&rank->random, 3),
                                         .count = 1 + random_below(&rank->random, 99)};
        histogram.accesses += bins[i].count;
    }
    profile_builder_histogram(&rank->builder, &histogram, bins);
}

/* What a merge adds up over the ranks. */
static void add_counts(struct rank *rank)
{
    add_histogram(rank, SCOPE_PROCESS, 0, BINS);
    add_histogram(rank, SCOPE_LINE, rank->program + 0x1010, 5);
    for (int i = 0; i < SITES; i++) {
        struct record_site_totals totals = {.site_id = rank->sites[i],
                                            .blocks = 1 + random_below(&rank->random, 9),
                                            .bytes = 4096,
                                            .largest_bytes = 1024};

        profile_builder_record(&rank->builder, RECORD_SITE_TOTALS, &totals, sizeof(totals));
        add_histogram(rank, SCOPE_OBJECT, (uint64_t)OBJECT_HEAP << 32 | rank->sites[i], 5);
    }
}

/* What stays one rank's. */
static void add_own_counts(struct rank *rank, int number, int bytes)
{
    for (int i = 0; i < bytes / (2 * BINS * (int)sizeof(struct histogram_bin)); i++) {
        uint32_t thread = profile_builder_thread(&rank->builder, 20000 + 100 * number + i, "team");

        add_histogram(rank, SCOPE_THREAD, thread, BINS);
        add_histogram(rank, SCOPE_OBJECT, (uint64_t)OBJECT_STACK << 32 | thread, BINS);
    }
}

int main(int argc, char **argv)
{
    bool sampled = argc == 5 && strcmp(argv[4], "bursts") == 0;
    int count = argc == 5 ? atoi(argv[2]) : 0, kib = argc == 5 ? atoi(argv[3]) : 0;
    char path[4096];

    if (count < 1 || kib < 1 || (!sampled && strcmp(argv[4], "histograms") != 0)) {
        (void)fprintf(stderr, "usage: rank_profiles FOLDER COUNT KIB bursts|histograms\n");
        return 1;
    }
    for (int number = 1; number <= count; number++) {
        static struct rank rank;

        random_seed(&rank.random, (uint64_t)number);
        (void)snprintf(path, sizeof(path), "%s/rank.%05d.rprof", argv[1], number);
        profile_builder_begin(&rank.builder, path);
        add_program(&rank, number, sampled ? "clock" : "exact");
        for (int i = 0; sampled && i < kib * 1024 / BURST_BYTES; i++)
            add_burst(&rank, rank.threads[i % 2]);
        add_counts(&rank);
        if (!sampled)
            add_own_counts(&rank, number, kib * 1024);
        profile_builder_finish(&rank.builder);
    }
    return 0;
}
