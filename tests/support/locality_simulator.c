/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/locality_simulator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampling/burst.h"
#include "sampling/random.h"
#include "sampling/slots.h"
#include "sampling/watch_plan.h"
#include "support/profile_builder.h"

enum { WORD = 8, VISIT_LENGTH = 60, SLOTS = 16, BASE = 0x10000000 };

static void *need(void *memory)
{
    if (!memory) {
        (void)fprintf(stderr, "locality_simulator: no memory\n");
        exit(1);
    }
    return memory;
}

void trace_add(struct trace *trace, uint32_t word, uint8_t words, uint16_t place, bool store,
               double cost_ns)
{
    if (trace->count == trace->capacity) {
        trace->capacity = trace->capacity ? 2 * trace->capacity : 1 << 16;
        trace->accesses = need(realloc(trace->accesses, trace->capacity * sizeof *trace->accesses));
        trace->end_ns = need(realloc(trace->end_ns, trace->capacity * sizeof *trace->end_ns));
    }
    trace->now_ns += cost_ns;
    trace->end_ns[trace->count] = trace->now_ns;
    trace->accesses[trace->count++] = (struct trace_access){word, place, words, store};
}

void trace_free(struct trace *trace)
{
    free(trace->accesses);
    free(trace->end_ns);
    *trace = (struct trace){0};
}

/* Counts of marked positions up to a position (Fenwick 1994). */
static void tree_add(int32_t *tree, size_t n, size_t at, int32_t value)
{
    for (size_t i = at + 1; i <= n; i += i & -i)
        tree[i] += value;
}

static int64_t tree_sum(const int32_t *tree, size_t at)
{
    int64_t sum = 0;

    for (size_t i = at + 1; i > 0; i -= i & -i)
        sum += tree[i];
    return sum;
}

void truth_create(const struct trace *trace, const struct trace *other, uint32_t line_size,
                  struct truth *truth)
{
    uint32_t words = line_size / WORD, top = 0;
    size_t n = trace->count;

    for (size_t i = 0; i < n; i++)
        top = trace->accesses[i].word > top ? trace->accesses[i].word : top;
    for (size_t i = 0; other && i < other->count; i++)
        top = other->accesses[i].word > top ? other->accesses[i].word : top;
    *truth = (struct truth){.accesses = n, .lines = top / words + 2};
    truth->distances = need(calloc(truth->lines, sizeof *truth->distances));
    truth->invalidated = need(calloc(truth->lines, sizeof *truth->invalidated));
    truth->reuse_times = need(calloc(n + 1, sizeof *truth->reuse_times));
    int32_t *tree = need(calloc(n + 2, sizeof *tree));
    size_t *last = need(calloc(truth->lines, sizeof *last)); /* index + 1 */
    size_t *stored = need(calloc(truth->lines, sizeof *stored));
    for (size_t i = 0; i < n; i++) {
        uint32_t line = trace->accesses[i].word / words;
        if (last[line]) {
            size_t before = last[line] - 1;
            int64_t distance = tree_sum(tree, i) - tree_sum(tree, before);
            if (stored[line] > before)
                truth->invalidated[distance]++;
            else
                truth->distances[distance]++;
            truth->reuse_times[i - before]++;
            tree_add(tree, n, before, -1);
        } else {
            truth->cold++;
        }
        tree_add(tree, n, i, 1);
        last[line] = i + 1;
        if (other && i < other->count && other->accesses[i].store)
            stored[other->accesses[i].word / words] = i + 1;
    }
    free(tree);
    free(last);
    free(stored);
}

void truth_free(struct truth *truth)
{
    free(truth->distances);
    free(truth->invalidated);
    free(truth->reuse_times);
}

double truth_miss_ratio(const struct truth *truth, double lines)
{
    uint64_t misses = truth->cold;

    for (size_t d = 0; d < truth->lines; d++) {
        if ((double)d >= lines)
            misses += truth->distances[d];
        misses += truth->invalidated[d];
    }
    return (double)misses / (double)truth->accesses;
}

double truth_coherence(const struct truth *truth, double lines)
{
    uint64_t misses = 0;

    for (size_t d = 0; d < truth->lines && (double)d < lines; d++)
        misses += truth->invalidated[d];
    return (double)misses / (double)truth->accesses;
}

double truth_survival(const struct truth *truth, double time)
{
    uint64_t sooner = 0;

    for (size_t t = 0; t <= truth->accesses && (double)t <= time; t++)
        sooner += truth->reuse_times[t];
    return 1 - (double)sooner / (double)truth->accesses;
}

uint64_t place_ip(uint16_t place)
{
    return 0x400000 + 0x10000 * (uint64_t)(place / 16) + 16 * (uint64_t)(place % 16);
}

uint64_t place_loop(uint16_t place)
{
    return place_ip((uint16_t)(place / 16 * 16));
}

static struct access access_of(const struct trace_access *access)
{
    return (struct access){.ip = place_ip(access->place),
                           .address = BASE + (uint64_t)access->word * WORD,
                           .width = (uint8_t)(access->words * WORD),
                           .kind = access->store ? ACCESS_STORE : ACCESS_LOAD};
}

struct watch {
    struct record_sample sample;
    size_t from; /* index of the access with which it begins */
    bool begun;
    bool foreign_stores; /* other threads' stores are looked for */
};

/* One thread under the simulated engine. */
struct engine {
    const struct sampling *options;
    const struct trace *trace, *other;
    struct profile_builder *builder;
    struct random random;
    struct slots slots;
    struct watch watches[SLOTS];
    uint32_t thread_id;
    double next_ns;
    double weight_ns; /* of the next burst */
    uint64_t bursts;
    uint32_t line_size;
};

/* What the look-ahead after a trap on a word of the sample's line tells of the visit. */
static unsigned look_at_visit(const struct engine *engine, const struct watch *watch,
                              uint64_t trapped, size_t at, const struct trace *visitor,
                              bool stores_only, unsigned *words_after)
{
    struct visit visit;

    visit_begin(&visit, watch->sample.address, trapped, WATCH_WORD, engine->line_size);
    for (size_t i = at + 1; i < visitor->count && i <= at + VISIT_LENGTH; i++) {
        struct access access = access_of(&visitor->accesses[i]);
        if (!stores_only || access.kind == ACCESS_STORE)
            visit_feed(&visit, &access, 1);
    }
    *words_after = visit_words_after(&visit);
    return visit_flags(&visit);
}

static uint64_t host_ns(const struct engine *engine, size_t at)
{
    return 1000000000000u * engine->thread_id + (uint64_t)engine->trace->end_ns[at];
}

static void end_watch(struct engine *engine, unsigned slot, enum watch_end reason, size_t at)
{
    const struct watch *watch = &engine->watches[slot];
    struct record_watch_end end = {
        .sample_id = watch->sample.sample_id,
        .thread_id = engine->thread_id,
        .monotonic_ns = host_ns(engine, at),
        .app_ns = (uint64_t)engine->trace->end_ns[at],
        .reason = (uint8_t)reason,
    };

    if (reason == WATCH_REUSED) {
        end.ip = place_ip(engine->trace->accesses[at].place);
        bool blind = engine->options->blind || (engine->options->blind_accessed &&
                                                watch->sample.watch_mode == WATCH_ACCESSED);
        unsigned words_after;
        if (!blind) {
            end.flags = (uint8_t)look_at_visit(engine, watch, watch->sample.watch_address, at,
                                               engine->trace, false, &words_after);
            end.words_after = (uint8_t)words_after;
        }
    }
    profile_builder_record(engine->builder, RECORD_WATCH_END, &end, sizeof end);
    engine->slots.busy &= ~(1u << slot);
}

static void invalidate(struct engine *engine, unsigned slot, size_t at)
{
    struct watch *watch = &engine->watches[slot];
    struct record_invalidation record = {
        .sample_id = watch->sample.sample_id,
        .thread_id = engine->thread_id,
        .monotonic_ns = host_ns(engine, at),
        .app_ns = (uint64_t)engine->trace->end_ns[at],
        .ip = place_ip(engine->other->accesses[at].place),
    };
    unsigned words_after;

    if (!engine->options->blind) {
        record.flags = (uint8_t)look_at_visit(engine, watch, watch->sample.invalidation_address, at,
                                              engine->other, true, &words_after);
        record.words_after = (uint8_t)words_after;
    }
    watch->foreign_stores = false;
    profile_builder_record(engine->builder, RECORD_INVALIDATION, &record, sizeof record);
}

static bool touches(const struct trace_access *access, uint64_t address)
{
    uint32_t word = (uint32_t)((address - BASE) / WORD);

    return word >= access->word && word < access->word + access->words;
}

/* Each thread stands for a process with one such register. Whether a new sample gets the register
 * for other threads' stores, as the runtime decides it. */
static bool offer_register(struct engine *engine)
{
    enum { REPLACE_ONE_IN = 8 };

    for (unsigned slot = 0; slot < engine->slots.count; slot++) {
        struct watch *watch = &engine->watches[slot];
        if (!(engine->slots.busy & (1u << slot)) || !watch->foreign_stores)
            continue;
        if (random_below(&engine->random, REPLACE_ONE_IN))
            return false;
        watch->foreign_stores = false;
    }
    return true;
}

/* All memory is one object that begins where addresses do. */
static void identify(void *user, uint64_t address, struct burst_object *object)
{
    (void)user;
    (void)address;
    *object = (struct burst_object){.low = 0, .high = UINT64_MAX, .base = BASE};
}

static struct record_burst write_burst(struct engine *engine, const struct burst *burst, size_t at)
{
    static unsigned char tail[PROFILE_RECORD_MAX / 4];
    struct record_burst record = {
        .burst_id = ++engine->bursts | (uint64_t)engine->thread_id << 40,
        .thread_id = engine->thread_id,
        .monotonic_ns = host_ns(engine, at),
        .app_ns = (uint64_t)engine->trace->end_ns[at],
        .weight_ns = (uint64_t)engine->weight_ns,
        .loop = place_loop(engine->trace->accesses[at].place),
    };

    if (!burst_encode(burst, &record, tail, sizeof tail)) {
        (void)fprintf(stderr, "locality_simulator: a burst of too many groups\n");
        exit(1);
    }
    profile_builder_record_with_tail(engine->builder, RECORD_BURST, &record,
                                     offsetof(struct record_burst, tail), tail,
                                     (record.probe_size + 7) & ~7u);
    return record;
}

static struct record_sample describe(struct engine *engine, const struct burst *burst,
                                     const struct record_burst *record,
                                     const struct burst_probe *probe, size_t at)
{
    struct record_sample sample = profile_builder_default_sample(engine->thread_id, 0);

    burst_describe(burst, probe, &sample);
    sample.burst_id = record->burst_id;
    sample.weight_factor = 1;
    sample.app_ns = (uint64_t)engine->trace->end_ns[at];
    sample.monotonic_ns = host_ns(engine, at);
    sample.weight_ns = record->weight_ns;
    sample.loop = record->loop;
    return sample;
}

/* A register on an open line; it begins when the program has come to the marker. */
static void plan_watch(struct engine *engine, unsigned slot, struct record_sample *sample,
                       size_t marker, size_t now)
{
    if (engine->slots.busy & 1u << slot)
        end_watch(engine, slot, WATCH_EVICTED, now);
    sample->flags |= SAMPLE_OPEN;
    watch_plan_make(sample, &engine->random, WATCH_WORD, engine->line_size);
    sample->watch_slot = (uint8_t)slot;
    sample->app_ns = (uint64_t)engine->trace->end_ns[marker];
    sample->monotonic_ns = host_ns(engine, marker);
    if (engine->other && offer_register(engine)) {
        sample->invalidation_address =
            watch_plan_any_word(sample->address, &engine->random, engine->line_size);
        sample->flags |= SAMPLE_INVALIDATION_WATCH;
    }
    profile_builder_sample(engine->builder, sample);
    engine->slots.busy |= 1u << slot;
    engine->watches[slot] =
        (struct watch){*sample, marker, true, sample->flags & SAMPLE_INVALIDATION_WATCH};
}

static void draw_watches(struct engine *engine, const struct burst *burst,
                         const struct record_burst *record, size_t at)
{
    uint32_t accepting = slots_accept(&engine->slots, &engine->random);
    struct burst_probe probes[SLOTS];
    struct burst_marker marker;
    unsigned n =
        burst_draw_open(burst, &engine->random, (unsigned)__builtin_popcount(accepting), probes);
    uint32_t latest = 0;

    for (unsigned i = 0; i < n; i++)
        latest = probes[i].index > latest ? probes[i].index : latest;
    /* Without a word to trap on nothing is watched. */
    if (n == 0 || !burst_marker_find(burst, latest, 0, WATCH_WORD, &marker))
        return;
    for (unsigned i = 0; i < n; i++, accepting &= accepting - 1) {
        struct record_sample sample =
            describe(engine, burst, record, &probes[i], at + probes[i].index);

        sample.marker_accesses = marker.index - probes[i].index;
        plan_watch(engine, (unsigned)__builtin_ctz(accepting), &sample, at + marker.index, at);
    }
}

static void take_burst(struct engine *engine, size_t at)
{
    static struct burst *burst;
    const struct burst_host host = {.identify = identify};
    const struct trace *trace = engine->trace;
    bool wide = random_below(&engine->random, BURST_WIDE_ONE_IN) == 0;

    if (!burst)
        burst = need(calloc(1, burst_memory_size()));
    burst_begin(burst, engine->line_size, wide);
    for (size_t i = at; i < trace->count && burst_wants(burst); i++) {
        struct access access = access_of(&trace->accesses[i]);
        burst_feed(burst, &access, 1);
    }
    if (burst_close(burst, &host) == 0)
        return;
    struct record_burst record = write_burst(engine, burst, at);
    struct burst_probe probe = burst_draw(burst, &engine->random);
    struct record_sample sample = describe(engine, burst, &record, &probe, at + probe.index);
    profile_builder_sample(engine->builder, &sample);
    draw_watches(engine, burst, &record, at);
}

static void step(struct engine *engine, size_t at)
{
    const struct trace *trace = engine->trace;

    for (unsigned slot = 0; slot < engine->slots.count; slot++) {
        const struct watch *watch = &engine->watches[slot];
        if (!(engine->slots.busy & (1u << slot)) || at <= watch->from)
            continue;
        if (touches(&trace->accesses[at], watch->sample.watch_address))
            end_watch(engine, slot, WATCH_REUSED, at);
        else if (watch->foreign_stores && at < engine->other->count &&
                 engine->other->accesses[at].store &&
                 touches(&engine->other->accesses[at], watch->sample.invalidation_address))
            invalidate(engine, slot, at);
    }
    if (trace->end_ns[at] >= engine->next_ns) {
        double mean = engine->options->period_ns;
        if (engine->options->period_late_ns > 0 && at > trace->count / 2)
            mean = engine->options->period_late_ns;
        take_burst(engine, at);
        double jitter = (double)random_below(&engine->random, 1000) / 2000 - 0.25;
        engine->next_ns = trace->end_ns[at] + mean * (1 + jitter);
        engine->weight_ns = mean;
    }
}

static double normal(struct random *random)
{
    double sum = 0;

    for (int i = 0; i < 12; i++)
        sum += (double)(random_next(random) >> 11) / 9007199254740992.0;
    return sum - 6;
}

/* Readings of every loop that the trace runs: accesses per time of it, with noise. */
static void read_rates(struct engine *engine)
{
    enum { LOOPS = 64 };
    double time[LOOPS] = {0}, accesses[LOOPS] = {0};
    const struct trace *trace = engine->trace;

    for (size_t i = 0; i < trace->count; i++) {
        unsigned loop = trace->accesses[i].place / 16 % LOOPS;
        accesses[loop]++;
        time[loop] += trace->end_ns[i] - (i ? trace->end_ns[i - 1] : 0);
    }
    for (unsigned loop = 0; loop < LOOPS; loop++) {
        for (unsigned i = 0; i < engine->options->readings && accesses[loop] > 0; i++) {
            double rate = accesses[loop] / time[loop];
            rate *= exp(engine->options->reading_noise * normal(&engine->random));
            double dice = (double)(random_next(&engine->random) >> 11) / 9007199254740992.0;
            if (dice < engine->options->wrapped)
                rate -= 2 * accesses[loop] / time[loop];
            profile_builder_rate(engine->builder, engine->thread_id,
                                 place_loop((uint16_t)(loop * 16)), 0, rate * 1e6, 1000000);
        }
    }
}

static void run(struct engine *engine)
{
    slots_begin(&engine->slots, engine->options->slots);
    engine->next_ns = engine->options->period_ns / 2;
    engine->weight_ns = engine->options->period_ns;
    for (size_t i = 0; i < engine->trace->count; i++)
        step(engine, i);
    for (unsigned slot = 0; slot < engine->slots.count; slot++) {
        if (engine->slots.busy & (1u << slot))
            end_watch(engine, slot, WATCH_PROCESS_ENDED, engine->trace->count - 1);
    }
    read_rates(engine);
}

struct profile *simulate(const struct trace *const *traces, size_t threads,
                         const struct sampling *options)
{
    struct profile_builder builder;
    char path[] = "/tmp/locality-XXXXXX";
    int descriptor = mkstemp(path);

    if (descriptor < 0) {
        perror("locality_simulator: mkstemp");
        exit(1);
    }
    close(descriptor);
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    if (options->line_size)
        profile_builder_run_number(&builder, "line_size", options->line_size);
    for (size_t t = 0; t < threads; t++) {
        struct engine engine = {
            .options = options,
            .trace = traces[t],
            .other = threads > 1 ? traces[1 - t] : NULL,
            .builder = &builder,
            .thread_id = profile_builder_thread(&builder, 1000 + (int32_t)t, "worker"),
            .line_size = options->line_size ? options->line_size : LINE_SIZE_DEFAULT,
        };
        random_seed(&engine.random, options->seed * 16 + t);
        run(&engine);
    }
    profile_builder_finish(&builder);
    struct profile *profile = profile_builder_load(path);
    unlink(path);
    return profile;
}
