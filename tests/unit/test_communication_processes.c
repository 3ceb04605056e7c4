/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers between processes that share memory, from profiles in which it is known who did what
 * when: which line is the same one, what is true and false sharing, and that the interval holds
 * what a simulation of the two processes counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/communication/communication.h"
#include "profile/merge.h"
#include "sampling/random.h"
#include "support/profile_builder.h"

enum { BURSTS = 100, BURST_NS = 2000 * 1000, LOOP = 0x401000, HALF = BURST_ACCESSES / 2 };

/* What a process does to its line in every burst. */
struct behaviour {
    const char *host, *path;
    uint64_t inode, start, offset; /* of the mapping: address, place in the file */
    uint64_t line;                 /* in the file */
    uint64_t read, written;        /* masks */
    uint16_t loads, stores;        /* per burst */
    uint64_t first_ns;             /* burst k is at first_ns + k * BURST_NS */
    uint32_t weight_ns;            /* CPU time that each stands for */
};

static const struct behaviour left = {.host = "node",
                                      .path = "/dev/shm/ring",
                                      .inode = 7,
                                      .start = 0x7f0000000000,
                                      .line = 0x1040,
                                      .read = 0xff,
                                      .written = 0xff,
                                      .loads = HALF,
                                      .stores = HALF,
                                      .weight_ns = BURST_NS};

static void write_burst(struct profile_builder *builder, uint32_t thread,
                        const struct behaviour *what, uint64_t time_ns)
{
    static const struct probe_count count = {0};
    struct probe_count resolved = count;
    struct builder_group group = {.probe = {.ip = LOOP, .reuse_ip = LOOP, .kind = ACCESS_STORE},
                                  .counts = &resolved,
                                  .sizes = {1}};
    struct record_burst burst = profile_builder_default_burst(thread, 0);
    struct record_shared_use use = {.mapping_id = 1,
                                    .line = what->line,
                                    .read = what->read,
                                    .written = what->written,
                                    .load_ip = LOOP,
                                    .store_ip = LOOP + 4,
                                    .loads = what->loads,
                                    .stores = what->stores,
                                    .load_width = 8,
                                    .store_width = 8,
                                    .share = 1};

    resolved.code = probe_code(false, 0, probe_time_bin(1));
    resolved.count = BURST_PROBES;
    burst.monotonic_ns = time_ns;
    burst.app_ns = time_ns;
    burst.weight_ns = what->weight_ns;
    burst.loop = LOOP;
    use.burst_id = profile_builder_burst(builder, &burst, &group, 1);
    profile_builder_record(builder, RECORD_SHARED_USE, &use, sizeof use);
}

/* One access per ns. */
static void write_process(const char *path, const struct behaviour *what)
{
    struct profile_builder builder;
    struct record_shared_mapping mapping = {.mapping_id = 1,
                                            .start = what->start,
                                            .end = what->start + 0x4000 - what->offset,
                                            .offset = what->offset,
                                            .device = 1,
                                            .inode = what->inode};

    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    profile_builder_run(&builder, "host", what->host);
    uint32_t thread = profile_builder_thread(&builder, 1, "one");
    profile_builder_record_with_tail(&builder, RECORD_SHARED_MAPPING, &mapping,
                                     offsetof(struct record_shared_mapping, path), what->path,
                                     strlen(what->path) + 1);
    for (unsigned k = 0; k < BURSTS; k++) {
        uint64_t time = 1000000000 + what->first_ns + (uint64_t)k * BURST_NS;

        write_burst(&builder, thread, what, time);
        profile_builder_rate(&builder, thread, LOOP, time, 1000000, 1000000);
    }
    profile_builder_finish(&builder);
}

/* What the merged profiles of two processes tell. */
struct answer {
    struct estimate all, true_ones;
    size_t flows;
    uint64_t offset; /* in the file, of the last flow's line */
    uint8_t object_kind;
};

static struct answer ask(const struct behaviour *a, const struct behaviour *b, uint32_t line_size)
{
    char paths[3][32] = {"/tmp/reuse-one-XXXXXX", "/tmp/reuse-two-XXXXXX", "/tmp/reuse-all-XXXXXX"};
    const char *const inputs[] = {paths[0], paths[1]};
    struct analysis_options options = {.bootstrap = 100};
    struct answer answer = {.flows = 0};
    const struct profile *profile;
    struct analysis *analysis;
    struct communication *communication;
    uint32_t *labels;
    char message[256];

    for (int i = 0; i < 3; i++) {
        int descriptor = mkstemp(paths[i]);

        assert_true(descriptor >= 0);
        close(descriptor);
    }
    write_process(paths[0], a);
    write_process(paths[1], b);
    assert_true(profile_merge_files(inputs, 2, paths[2], message, sizeof message));
    profile = profile_builder_load(paths[2]);
    for (int i = 0; i < 3; i++)
        unlink(paths[i]);
    analysis = analysis_create(&profile, 1, &options, message, sizeof message);
    assert_non_null(analysis);
    communication = communication_create(analysis, line_size, message, sizeof message);
    assert_non_null(communication);
    answer.flows = communication_flow_count(communication);
    labels = calloc(answer.flows + 1, sizeof *labels);
    assert_non_null(labels);
    for (size_t i = 0; i < answer.flows; i++) {
        const struct flow *flow = communication_flow(communication, i);

        labels[i] = !flow->true_sharing;
        answer.offset = flow->line_address - flow->object_base;
        answer.object_kind = flow->object_kind;
        assert_int_not_equal(flow->source.thread_id, flow->destination.thread_id);
    }
    answer.all = communication_total(communication, NULL, 0);
    answer.true_ones = communication_total(communication, labels, 0);
    free(labels);
    communication_free(communication);
    analysis_free(analysis);
    profile_free((struct profile *)(uintptr_t)profile);
    return answer;
}

/* Neighbouring words: false; one word: true. Mapped elsewhere, and from another offset on. */
static void test_truth(void **state)
{
    struct behaviour right = left;
    struct answer answer;

    (void)state;
    right.start = 0x550000000000;
    right.offset = 0x1000;
    right.first_ns = BURST_NS / 2;
    right.read = right.written = 0xff00;
    answer = ask(&left, &right, 64);
    assert_true(answer.flows > 0 && answer.all.value > 0);
    assert_true(answer.true_ones.value == 0);
    assert_int_equal(answer.offset, 0x1040);
    assert_int_equal(answer.object_kind, OBJECT_SHARED);
    right.read = right.written = 0xff;
    answer = ask(&left, &right, 64);
    assert_true(answer.true_ones.value == answer.all.value && answer.all.value > 0);
    /* One word is written by one of them alone, and read by the other: true as well. */
    right.written = right.stores = 0;
    answer = ask(&left, &right, 64);
    assert_true(answer.true_ones.value == answer.all.value && answer.all.value > 0);
}

/* At 128 bytes neighbouring lines are one; their bytes do not meet, whatever their masks. */
static void test_larger_lines(void **state)
{
    struct behaviour right = left;
    struct answer answer;

    (void)state;
    right.line = 0x1000;
    right.first_ns = BURST_NS / 2;
    assert_int_equal(ask(&left, &right, 64).flows, 0);
    answer = ask(&left, &right, 128);
    assert_true(answer.all.value > 0 && answer.true_ones.value == 0);
    assert_int_equal(answer.offset, 0x1000);
}

static void test_other_memory(void **state)
{
    struct behaviour right = left;

    (void)state;
    right.inode = 8;
    assert_int_equal(ask(&left, &right, 64).flows, 0);
    right = left;
    right.host = "elsewhere";
    assert_int_equal(ask(&left, &right, 64).flows, 0);
    right = left;
    right.path = "/SYSV00000000 (deleted)"; /* the segment whose identifier is 7 */
    assert_int_equal(ask(&left, &right, 64).flows, 0);
    right = left;
    right.line = 0x2040;
    assert_int_equal(ask(&left, &right, 64).flows, 0);
    /* Read by both. */
    struct behaviour reader = left;

    reader.stores = 0;
    reader.written = 0;
    assert_int_equal(ask(&reader, &reader, 64).flows, 0);
}

/* One after the other: the line changes hands once, for certain. */
static void test_handed_over(void **state)
{
    struct behaviour right = left;
    struct answer answer;

    (void)state;
    right.first_ns = (uint64_t)BURSTS * BURST_NS + 500000000;
    answer = ask(&left, &right, 64);
    assert_true(answer.all.lo <= 1 && answer.all.lo > 0);
    assert_true(answer.all.lo <= answer.all.value && answer.all.value <= answer.all.hi);
}

/*
 * The line belongs to who came last. Both are at it all the time, in loops of so many ns, and
 * whoever comes for it waits transfer_ns: a simulation that knows no rates and no model.
 */
static double simulate(double loop_ns, double transfer_ns, double span_ns)
{
    double next[2] = {0, loop_ns / 3}, moves = 0;
    struct random random;
    int owner = 0;

    random_seed(&random, 1);
    while (next[0] < span_ns || next[1] < span_ns) {
        int who = next[1] < next[0];

        next[who] += loop_ns * (0.5 + random_below(&random, 1000) / 1000.);
        if (owner != who) {
            moves++;
            next[who] += transfer_ns;
        }
        owner = who;
    }
    return moves;
}

/* Both at it all the time: what a machine with any of the known transfer times does lies within;
 * the lower bound is no longer what was seen alone. */
static void test_contended(void **state)
{
    struct behaviour right = left;
    double span = (double)BURSTS * BURST_NS;

    (void)state;
    right.first_ns = BURST_NS / 2;
    struct answer answer = ask(&left, &right, 64);

    for (double transfer = 25; transfer <= 250; transfer += 75) {
        double moves = simulate(2, transfer, span);

        assert_true(answer.all.lo <= moves && moves <= answer.all.hi);
    }
    assert_true(answer.all.lo > 1000 * 200);
    /* A hundredth of their time each: they hardly meet, and what is certain is what was seen: the
     * bursts took turns 199 times. */
    struct behaviour rare = left, rarer = right;

    rare.weight_ns = rarer.weight_ns = BURST_NS / 100;
    answer = ask(&rare, &rarer, 64);
    assert_true(answer.all.lo > 195 && answer.all.lo < 205);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truth),        cmocka_unit_test(test_larger_lines),
        cmocka_unit_test(test_other_memory), cmocka_unit_test(test_handed_over),
        cmocka_unit_test(test_contended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
