/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Caches that threads share, from sampled and censored observations of synthetic traces, against
 * brute force: one LRU stack for all accesses of a group in their order. And the policy by which
 * the next use of a loaded line is watched for.
 */
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
#include "reuse/exact_stack.h"
#include "sampling/burst.h"
#include "sampling/line_watch.h"
#include "sampling/random.h"
#include "support/instrumented.h"
#include "support/profile_builder.h"

enum {
    ACCESSES = 1 << 20,
    THREADS = 4,
    LINES = 1 << 15,
    SEEDS = SEEDS_OF(3),
    PERIOD = 1000,
    LINE = 64,
    BASE = 0x100000,
};

/* What all threads do, in the order in which a cache that they share sees it. */
static struct {
    uint8_t thread; /* 1 .. THREADS */
    uint8_t place;  /* instruction */
    uint32_t line;
    uint32_t again, own; /* next use of the line, by anybody and by the thread; ACCESSES: none */
    uint32_t made[THREADS + 1]; /* accesses of each thread so far, this one included */
} trace[ACCESSES];

static void put(size_t i, unsigned thread, unsigned place, uint32_t line)
{
    trace[i].thread = (uint8_t)thread;
    trace[i].place = (uint8_t)place;
    trace[i].line = line;
}

/* ---- programs ---- */

typedef void (*program)(struct random *);

/* Popular lines of its own for each thread. */
static void apart(struct random *random)
{
    for (size_t i = 0; i < ACCESSES; i++) {
        unsigned thread = 1 + (unsigned)i % THREADS;
        double u = (double)random_below(random, 1 << 30) * 0x1p-30;

        put(i, thread, thread, thread * 4096 + (uint32_t)(4000 * u * u));
    }
}

/* All threads at random in one table. */
static void together(struct random *random)
{
    for (size_t i = 0; i < ACCESSES; i++)
        put(i, 1 + (unsigned)i % THREADS, 1, random_below(random, 6000));
}

/* A table that all share and lines of their own; the first thread is three times as fast. */
static void mixed(struct random *random)
{
    for (size_t i = 0; i < ACCESSES; i++) {
        unsigned turn = (unsigned)i % 6, thread = turn < 3 ? 1 : turn - 1;

        if (random_below(random, 2))
            put(i, thread, 1, random_below(random, 3000));
        else
            put(i, thread, 1 + thread, 4096 * thread + random_below(random, 1000));
    }
}

/* One thread at a time sweeps what the one before it has left. */
static void handed_over(struct random *random)
{
    for (size_t i = 0; i < ACCESSES;) {
        uint32_t block = 512 * random_below(random, 16);

        for (unsigned thread = 1; thread <= THREADS; thread++)
            for (uint32_t k = 0; k < 2048 && i < ACCESSES; k++, i++)
                put(i, thread, thread, block + k / 4);
    }
}

/* Threads 1 and 2 share one table, 3 and 4 another one. */
static void pairs(struct random *random)
{
    for (size_t i = 0; i < ACCESSES; i++) {
        unsigned thread = 1 + (unsigned)i % THREADS, pair = (thread - 1) / 2;

        put(i, thread, 1 + pair, pair * 8192 + random_below(random, pair ? 4000 : 1500));
    }
}

static void link_uses(void)
{
    static uint32_t again[LINES], own[THREADS + 1][LINES];
    uint32_t made[THREADS + 1] = {0};

    for (uint32_t line = 0; line < LINES; line++) {
        again[line] = ACCESSES;
        for (int thread = 0; thread <= THREADS; thread++)
            own[thread][line] = ACCESSES;
    }
    for (uint32_t i = ACCESSES; i-- > 0;) {
        uint32_t *next = &own[trace[i].thread][trace[i].line];

        trace[i].again = again[trace[i].line];
        trace[i].own = *next;
        again[trace[i].line] = *next = i;
    }
    for (size_t i = 0; i < ACCESSES; i++) {
        made[trace[i].thread]++;
        memcpy(trace[i].made, made, sizeof made);
    }
}

/* ---- truth ---- */

struct truth {
    double distances[LINES], crossed[LINES]; /* uses by distance; by another than the last user */
    double accesses;
};

static void count(bool divided, struct truth *truth)
{
    struct exact_stack stacks[2];
    uint8_t *user = calloc(2 * LINES, 1);

    memset(truth, 0, sizeof *truth);
    for (int g = 0; g < 2; g++)
        assert_true(exact_stack_create(&stacks[g]));
    for (size_t i = 0; i < ACCESSES; i++) {
        unsigned group = divided && trace[i].thread > 2;
        uint8_t *last = &user[group * LINES + trace[i].line];
        struct exact_reuse reuse = exact_stack_use(&stacks[group], trace[i].line);

        truth->accesses++;
        if (reuse.distance != EXACT_STACK_COLD) {
            truth->distances[reuse.distance]++;
            truth->crossed[reuse.distance] += *last != trace[i].thread;
        }
        *last = trace[i].thread;
    }
    for (int g = 0; g < 2; g++)
        exact_stack_destroy(&stacks[g]);
    free(user);
}

static double hits(const double *distances, double accesses, double lines)
{
    double sum = 0;

    for (size_t d = 0; d < LINES && (double)d < lines; d++)
        sum += distances[d] * fmin(1, lines - (double)d);
    return sum / accesses;
}

/* ---- what an engine with scarce registers would have written ---- */

static struct profile_builder builder;

static uint16_t cpu_of(unsigned thread)
{
    return thread > 2;
}

/* All memory is one object. */
static void identify(void *user, uint64_t address, struct burst_object *object)
{
    (void)user;
    (void)address;
    *object = (struct burst_object){.high = UINT64_MAX, .base = BASE};
}

/* Feeds the thread's accesses from there on; of each its place in the trace. */
static void feed(struct burst *burst, size_t at, uint32_t places[BURST_ACCESSES])
{
    size_t n = 0;

    burst_begin(burst, LINE, false);
    for (size_t i = at; i < ACCESSES && burst_wants(burst); i++) {
        struct access access = {.ip = 0x401000 + trace[i].place,
                                .address = BASE + LINE * (uint64_t)trace[i].line,
                                .width = 8,
                                .kind = ACCESS_LOAD};

        if (trace[i].thread != trace[at].thread)
            continue;
        places[n++] = (uint32_t)i;
        burst_feed(burst, &access, 1);
    }
}

/* Registers are taken away at random, half of the time long before the line is used. */
static size_t taken_away(struct random *random, size_t at)
{
    return at + (random_below(random, 2) ? 20000 : 400000) * (size_t)(1 + random_below(random, 4));
}

static void watch_privately(struct random *random, size_t at, const struct record_sample *sample)
{
    size_t until = taken_away(random, at), back = trace[at].own, last = until < back ? until : back;
    struct record_watch_end end = {
        .sample_id = sample->sample_id,
        .thread_id = sample->thread_id,
        .reason = last == back ? WATCH_REUSED : WATCH_EVICTED,
        .flags = WATCH_END_VISIT_KNOWN | WATCH_END_VISIT_ENDS_HERE,
        .cpu = sample->cpu,
    };

    if (last >= ACCESSES) {
        last = ACCESSES - 1;
        end.reason = WATCH_PROCESS_ENDED;
    }
    end.monotonic_ns = last;
    end.app_ns = trace[last].made[trace[at].thread];
    profile_builder_record(&builder, RECORD_WATCH_END, &end, sizeof end);
}

/* All threads are watched: whoever comes next, on whatever CPU. */
static void watch_everybody(struct random *random, size_t at, const struct record_sample *sample)
{
    size_t until = taken_away(random, at), i = trace[at].again;
    struct record_line_watch watch = {
        .sample_id = sample->sample_id,
        .monotonic_ns = at,
        .address = sample->address,
        .probability = 1,
        .flags = LINE_WATCH_USE,
    };
    struct record_line_end end = {.sample_id = sample->sample_id, .reason = LINE_END_EVICTED};

    if (i < ACCESSES && i < until) {
        struct record_line_event event = {
            .sample_id = sample->sample_id,
            .thread_id = trace[i].thread,
            .monotonic_ns = i,
            .elapsed_ns = i - at,
            .width = 8,
            .kind = ACCESS_LOAD,
            .flags = LINE_EVENT_KIND_KNOWN | LINE_EVENT_VISIT_KNOWN | LINE_EVENT_READ_ENDS,
            .cpu = cpu_of(trace[i].thread),
        };

        end.reason = LINE_END_USED;
        if (trace[i].thread != trace[at].thread)
            profile_builder_record(&builder, RECORD_LINE_EVENT, &event, sizeof event);
    } else {
        i = until < ACCESSES ? until : ACCESSES;
    }
    end.monotonic_ns = i;
    end.elapsed_ns = end.loads_ns = i - at;
    profile_builder_record(&builder, RECORD_LINE_WATCH, &watch, sizeof watch);
    profile_builder_record(&builder, RECORD_LINE_END, &end, sizeof end);
}

static struct record_sample sample_of(const struct burst *burst, const struct record_burst *record,
                                      const struct burst_probe *probe, size_t at)
{
    struct record_sample sample = profile_builder_default_sample(record->thread_id, 0);

    burst_describe(burst, probe, &sample);
    sample.sample_id = ++builder.samples;
    sample.burst_id = record->burst_id;
    sample.monotonic_ns = at;
    sample.app_ns = trace[at].made[record->thread_id];
    sample.weight_ns = PERIOD;
    sample.cpu = record->cpu;
    sample.loop = 0;
    return sample;
}

/* Two of the open lines, from their use on. */
static void draw_watches(struct random *random, const struct burst *burst,
                         const struct record_burst *record, const uint32_t *places)
{
    struct burst_probe probes[2];
    unsigned n = burst_draw_open(burst, random, 2, probes);

    for (unsigned i = 0; i < n; i++) {
        size_t at = places[probes[i].index];
        struct record_sample sample = sample_of(burst, record, &probes[i], at);

        sample.flags |= SAMPLE_OPEN;
        sample.watch_mode = WATCH_ACCESSED;
        sample.watch_address = sample.address;
        sample.watch_length = LINE;
        sample.words_accessed = 1;
        watch_privately(random, at, &sample);
        profile_builder_record(&builder, RECORD_SAMPLE, &sample, sizeof sample);
    }
}

static void take_burst(struct random *random, size_t at)
{
    static struct burst *burst;
    static uint32_t places[BURST_ACCESSES];
    static unsigned char tail[PROFILE_RECORD_MAX / 4];
    const struct burst_host host = {.identify = identify};
    unsigned thread = trace[at].thread;
    struct record_burst record = {.burst_id = ++builder.bursts,
                                  .thread_id = thread,
                                  .monotonic_ns = at,
                                  .app_ns = trace[at].made[thread],
                                  .weight_ns = PERIOD,
                                  .cpu = cpu_of(thread)};

    if (!burst)
        burst = calloc(1, burst_memory_size());
    assert_non_null(burst);
    feed(burst, at, places);
    if (burst_close(burst, &host) == 0)
        return;
    assert_true(burst_encode(burst, &record, tail, sizeof tail));
    profile_builder_record_with_tail(&builder, RECORD_BURST, &record,
                                     offsetof(struct record_burst, tail), tail,
                                     (record.probe_size + 7) & ~7u);
    struct burst_probe probe = burst_draw(burst, random);
    struct record_sample sample = sample_of(burst, &record, &probe, places[probe.index]);
    sample.flags |= SAMPLE_USE_OFFERED;
    if (sample.reuse_time[line_size_index(LINE)] == REUSE_TIME_NONE && random_below(random, 4))
        watch_everybody(random, places[probe.index], &sample);
    profile_builder_record(&builder, RECORD_SAMPLE, &sample, sizeof sample);
    draw_watches(random, burst, &record, places);
}

static struct profile *record(uint64_t seed)
{
    char path[] = "/tmp/test_shared_caches.XXXXXX";
    struct random random;
    struct profile *profile;
    int descriptor = mkstemp(path);

    assert_true(descriptor >= 0);
    close(descriptor);
    random_seed(&random, seed);
    profile_builder_begin(&builder, path);
    profile_builder_run(&builder, "engine", "pmu");
    profile_builder_run(&builder, "clock", "accesses");
    profile_builder_run_number(&builder, "line_size", 64);
    for (int thread = 1; thread <= THREADS; thread++)
        profile_builder_thread(&builder, 1000 + thread, "thread");
    for (size_t i = 0; i < ACCESSES; i++)
        if (random_below(&random, PERIOD) == 0)
            take_burst(&random, i);
    for (uint32_t thread = 1; thread <= THREADS; thread++) {
        struct record_totals totals = {.thread_id = thread,
                                       .app_ns = trace[ACCESSES - 1].made[thread]};

        profile_builder_record(&builder, RECORD_TOTALS, &totals, sizeof totals);
    }
    profile_builder_finish(&builder);
    profile = profile_builder_load(path);
    unlink(path);
    return profile;
}

/* ---- the comparison ---- */

static struct analysis *analyse(const struct profile *profile, const struct cache_groups *groups)
{
    char message[256];
    struct analysis_options options = {.seed = 5, .groups = groups};
    struct analysis *analysis = analysis_create(&profile, 1, &options, message, sizeof message);

    if (!analysis)
        fail_msg("%s", message);
    return analysis;
}

static const uint32_t two_caches[] = {0, 1};
static const struct cache_groups by_cpu = {two_caches, 2}, one_group = {0};

struct quality {
    double error, bias, covered, crossing;
};

static void compare(const struct truth *truth, const struct analysis *analysis, struct quality *sum)
{
    double bytes[ANALYSIS_CURVE_SIZES], known = 0, error = 0, bias = 0, covered = 0, crossing = 0;
    struct curve_point points[ANALYSIS_CURVE_SIZES];

    analysis_curve_sizes(bytes);
    analysis_miss_ratio_curve(analysis, (struct subset){0}, bytes, ANALYSIS_CURVE_SIZES, points);
    for (int i = 0; i < ANALYSIS_CURVE_SIZES; i++) {
        double expected = 1 - hits(truth->distances, truth->accesses, bytes[i] / 64);
        const struct estimate *ratio = &points[i].miss_ratio;

        if (points[i].beyond)
            continue;
        known++;
        error += fabs(ratio->value - expected);
        bias += ratio->value - expected;
        covered += expected >= ratio->lo - 5e-3 && expected <= ratio->hi + 5e-3;
    }
    assert_true(known >= 30);
    for (int i = 24; i < ANALYSIS_CURVE_SIZES && !points[i].beyond; i += 4)
        crossing = fmax(
            crossing, fabs(analysis_misses(analysis, (struct subset){0}, bytes[i]).crossing.value -
                           hits(truth->crossed, truth->accesses, bytes[i] / 64)));
    sum->error += error / known / SEEDS;
    sum->bias += bias / known / SEEDS;
    sum->covered += covered / known / SEEDS;
    sum->crossing += crossing / SEEDS;
}

static void check(const char *name, program run, bool divided)
{
    static struct truth truth;
    struct quality quality = {0};
    struct random random;

    random_seed(&random, 77);
    run(&random);
    link_uses();
    count(divided, &truth);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct profile *profile = record(seed);
        struct analysis *analysis = analyse(profile, divided ? &by_cpu : &one_group);

        assert_int_equal(analysis_group_count(analysis), divided ? 2 : 1);
        compare(&truth, analysis, &quality);
        analysis_free(analysis);
        profile_free(profile);
    }
    print_message("%-12s error %.2f pp, bias %+.2f, covered %.0f %%, crossing off by %.1f pp at "
                  "most\n",
                  name, 100 * quality.error, 100 * quality.bias, 100 * quality.covered,
                  100 * quality.crossing);
    assert_on_average(quality.error < 0.015);
    assert_on_average(quality.covered > 0.85);
    assert_on_average(quality.crossing < 0.04);
}

static void data_apart(void **state)
{
    (void)state;
    check("apart", apart, false);
}

static void data_in_common(void **state)
{
    (void)state;
    check("together", together, false);
}

static void both_at_different_speeds(void **state)
{
    (void)state;
    check("mixed", mixed, false);
}

static void one_thread_after_the_other(void **state)
{
    (void)state;
    check("handed over", handed_over, false);
}

static void two_groups(void **state)
{
    (void)state;
    check("pairs", pairs, true);
}

/* Watches that never saw another thread claim none, but cannot exclude a few. */
static void nothing_crosses_where_data_is_apart(void **state)
{
    (void)state;
    struct random random;
    struct profile *profile;
    struct analysis *analysis;

    random_seed(&random, 3);
    apart(&random);
    link_uses();
    profile = record(1);
    analysis = analyse(profile, &one_group);
    struct estimate crossing = analysis_misses(analysis, (struct subset){0}, 1 << 18).crossing;
    assert_true(crossing.value == 0 && crossing.hi > 0 && crossing.hi < 0.03);
    analysis_free(analysis);
    profile_free(profile);
}

/* ---- the policy: who uses a line next that was loaded ---- */

struct registers {
    bool armed, loads;
    unsigned watches, events, ends;
    struct record_line_watch watch;
    struct record_line_end end;
};

static bool arm(void *context, uint64_t address, uint64_t address2, bool loads, uint32_t generation)
{
    struct registers *registers = context;

    (void)address;
    (void)address2;
    (void)generation;
    registers->armed = true;
    registers->loads = loads;
    return true;
}

static void disarm(void *context)
{
    ((struct registers *)context)->armed = false;
}

static void append(void *context, enum record_type type, const void *record, size_t size)
{
    struct registers *registers = context;

    (void)size;
    registers->watches += type == RECORD_LINE_WATCH;
    registers->events += type == RECORD_LINE_EVENT;
    registers->ends += type == RECORD_LINE_END;
    if (type == RECORD_LINE_WATCH)
        memcpy(&registers->watch, record, sizeof registers->watch);
    if (type == RECORD_LINE_END)
        memcpy(&registers->end, record, sizeof registers->end);
}

enum { READER = 1, OTHER = 2, SAMPLED_IP = 0x401000 };

/* The load is still to come; the thread executes it at 100 ns. */
static void begin_use(struct line_watch *watch, struct registers *registers)
{
    struct line_watch_mechanism mechanism = {
        .arm = arm, .disarm = disarm, .append = append, .context = registers, .line_size = 64};
    struct record_sample sample = {.sample_id = 9, .address = 0x1008, .ip = SAMPLED_IP};
    struct line_watch_offer offer = {.thread_id = READER, .uses = true, .time_ns = 50};
    struct line_trap trap = {.thread_id = READER,
                             .time_ns = 100,
                             .ip = SAMPLED_IP,
                             .kind = ACCESS_LOAD,
                             .width = 8,
                             .address = 0x1008};
    struct line_arrival arrival;
    struct random random;

    memset(watch, 0, sizeof *watch);
    *registers = (struct registers){0};
    random_seed(&random, 1);
    line_watch_begin(watch, &mechanism);
    assert_true(line_watch_offer(watch, &random, &offer, &sample));
    assert_true(sample.flags & SAMPLE_USE_OFFERED && !(sample.flags & SAMPLE_LINE_OFFERED));
    assert_true(registers->armed && registers->loads && registers->watches == 0);
    trap.generation = watch->generation;
    assert_int_equal(line_watch_trap(watch, &trap, &arrival), LINE_TRAP_STARTED);
    assert_int_equal(registers->watches, 1);
    assert_true(registers->watch.flags & LINE_WATCH_USE);
}

static enum line_trap_answer use(struct line_watch *watch, uint32_t thread_id, uint8_t kind,
                                 struct line_arrival *arrival)
{
    struct line_trap trap = {.thread_id = thread_id,
                             .generation = watch->generation,
                             .time_ns = 350,
                             .ip = 0x402000,
                             .kind = kind,
                             .width = 8,
                             .address = 0x1008};

    return line_watch_trap(watch, &trap, arrival);
}

static void the_first_use_ends_the_watch(void **state)
{
    (void)state;
    static struct line_watch watch;
    struct registers registers;
    struct line_arrival arrival;

    for (uint8_t kind = ACCESS_LOAD; kind <= ACCESS_STORE; kind++) {
        begin_use(&watch, &registers);
        assert_int_equal(use(&watch, OTHER, kind, &arrival), LINE_TRAP_EVENT);
        line_watch_event(&watch, &arrival.event);
        assert_int_equal(registers.events, 1);
        assert_int_equal(arrival.event.elapsed_ns, 250);
        assert_int_equal(registers.ends, 1);
        assert_int_equal(registers.end.reason, LINE_END_USED);
        assert_int_equal(registers.end.loads_ns, 250);
        assert_false(registers.armed);
    }
}

static void the_thread_itself_ends_it_without_an_event(void **state)
{
    (void)state;
    static struct line_watch watch;
    struct registers registers;
    struct line_arrival arrival;

    begin_use(&watch, &registers);
    assert_int_equal(use(&watch, READER, ACCESS_LOAD, &arrival), LINE_TRAP_NOTHING);
    assert_int_equal(registers.events, 0);
    assert_int_equal(registers.end.reason, LINE_END_USED);
    assert_false(registers.armed);
}

/* Replaced as stubbornly as it would replace others. */
static void watches_yield_as_to_samples(void **state)
{
    (void)state;
    static struct line_watch watch;
    struct registers registers;
    struct random random;
    unsigned yields = 0, expected, draws = 200000;

    begin_use(&watch, &registers);
    random_seed(&random, 2);
    for (unsigned i = 0; i < draws; i++)
        yields += line_watch_yields(&watch, &random);
    expected = draws >> watch.stubbornness;
    assert_in_range(yields, expected * 8 / 10, expected * 12 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_apart),
        cmocka_unit_test(data_in_common),
        cmocka_unit_test(both_at_different_speeds),
        cmocka_unit_test(one_thread_after_the_other),
        cmocka_unit_test(two_groups),
        cmocka_unit_test(nothing_crosses_where_data_is_apart),
        cmocka_unit_test(the_first_use_ends_the_watch),
        cmocka_unit_test(the_thread_itself_ends_it_without_an_event),
        cmocka_unit_test(watches_yield_as_to_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
