/* SPDX-License-Identifier: BSD-3-Clause */
/* See sharing_trace.h. */
#include "support/sharing_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampling/board.h"
#include "sampling/line_mask.h"
#include "sampling/line_visit.h"
#include "sampling/line_watch.h"
#include "support/profile_builder.h"

enum { LINE = 64, WORD = 8, BASE = 0x100000, VISIT = 64, WINDOW = 500 };

void sharing_trace_add(struct sharing_trace *trace, uint32_t thread, uint32_t address,
                       uint8_t width, uint8_t kind, uint32_t ip)
{
    if (trace->count == trace->capacity) {
        trace->capacity = trace->capacity ? 2 * trace->capacity : 1024;
        trace->accesses = realloc(trace->accesses, trace->capacity * sizeof *trace->accesses);
        if (!trace->accesses) {
            fputs("out of memory\n", stderr);
            exit(1);
        }
    }
    trace->accesses[trace->count++] = (struct sharing_access){thread, ip, address, width, kind};
}

void sharing_trace_buffers(struct sharing_trace *trace, struct random *random, size_t accesses)
{
    while (trace->count < accesses) {
        uint32_t buffer = random_below(random, 8) * 32 * 64;

        for (uint32_t word = 0; word < 32 * 8; word++)
            sharing_trace_add(trace, 1, buffer + 8 * word, 8, ACCESS_STORE, 0x403000);
        for (uint32_t word = 0; word < 32 * 8; word++)
            sharing_trace_add(trace, 2, buffer + 8 * word, 8, ACCESS_LOAD, 0x403010);
    }
}

void sharing_trace_free(struct sharing_trace *trace)
{
    free(trace->accesses);
    *trace = (struct sharing_trace){0};
}

/* ---- truth, straight from the definition ---- */

struct line_state {
    uint32_t writer; /* last; 0 none */
    bool holds[SHARING_THREADS + 1];
    uint64_t touched[SHARING_THREADS + 1]; /* since the thread got its copy */
    uint64_t foreign[SHARING_THREADS + 1]; /* bytes others wrote while it has none */
};

static void count_write(struct line_state *line, uint32_t thread, uint64_t bytes,
                        struct sharing_truth *truth)
{
    for (uint32_t holder = 1; holder <= SHARING_THREADS; holder++) {
        if (holder == thread)
            continue;
        if (line->holds[holder]) {
            enum transfer_kind kind = line->writer == holder ? TRANSFER_WAW : TRANSFER_WAR;

            truth->transfers[kind][(line->touched[holder] & bytes) != 0][holder][thread]++;
            line->holds[holder] = false;
            line->touched[holder] = line->foreign[holder] = 0;
        }
        line->foreign[holder] |= bytes;
    }
    line->writer = thread;
}

void sharing_trace_count(const struct sharing_trace *trace, uint32_t line_size,
                         struct sharing_truth *truth)
{
    struct line_state *lines = calloc(SHARING_LINES, sizeof *lines);

    memset(truth, 0, sizeof *truth);
    for (size_t i = 0; lines && i < trace->count; i++) {
        const struct sharing_access *access = &trace->accesses[i];
        struct line_state *line = &lines[access->address / line_size];
        uint64_t bytes = line_mask(line_start(access->address, line_size), line_size,
                                   access->address, access->width);
        uint32_t thread = access->thread;

        if (access->kind & ACCESS_STORE)
            count_write(line, thread, bytes, truth);
        else if (!line->holds[thread] && line->writer && line->writer != thread)
            truth->transfers[TRANSFER_RAW][(line->foreign[thread] & bytes) != 0][line->writer]
                            [thread]++;
        if (!line->holds[thread])
            line->touched[thread] = 0;
        line->holds[thread] = true;
        line->foreign[thread] = 0;
        line->touched[thread] |= bytes;
    }
    free(lines);
}

/* ---- sampling on simulated registers ---- */

struct simulation {
    const struct sharing_trace *trace;
    const struct sharing_sampling *sampling;
    struct profile_builder builder;
    struct line_watch watch;
    struct board board;
    struct random random;
    uint64_t address[2];
    uint32_t generation;
    bool armed, loads;
    uint64_t made[SHARING_THREADS + 1]; /* accesses of each thread */
    unsigned threads;                   /* that take part: each makes so many fewer in a time */
};

static bool arm(void *context, uint64_t address, uint64_t address2, bool loads, uint32_t generation)
{
    struct simulation *simulation = context;

    simulation->address[0] = address;
    simulation->address[1] = address2;
    simulation->loads = loads;
    simulation->generation = generation;
    simulation->armed = true;
    return true;
}

static void disarm(void *context)
{
    ((struct simulation *)context)->armed = false;
}

static void append(void *context, enum record_type type, const void *record, size_t size)
{
    profile_builder_record(&((struct simulation *)context)->builder, type, record, size);
}

static uint64_t bytes_of(const struct sharing_access *access)
{
    return line_mask(access->address / LINE * LINE, LINE, access->address, access->width);
}

static void publish(struct simulation *simulation, const struct sharing_access *access, size_t now)
{
    struct board_entry entry = {.line = BASE + access->address / LINE * LINE,
                                .bytes = bytes_of(access),
                                .time_ns = now + 1,
                                .thread = access->thread,
                                .kinds = access->kind};

    board_publish(&simulation->board, &entry);
}

static bool meets(const struct sharing_access *access, uint64_t word)
{
    return BASE + access->address < word + WORD && BASE + access->address + access->width > word;
}

/* The rest of the visit, by the thread's next accesses. */
static void follow_visit(const struct simulation *simulation, size_t at,
                         struct line_arrival *arrival)
{
    const struct sharing_access *accesses = simulation->trace->accesses;
    struct line_visit visit;
    unsigned seen = 0;

    line_visit_begin(&visit, arrival, LINE);
    for (size_t i = at + 1; i < simulation->trace->count && seen < VISIT && i < at + 64 * VISIT;
         i++) {
        struct access access = {.address = BASE + accesses[i].address,
                                .width = accesses[i].width,
                                .kind = accesses[i].kind};

        /* It is over when another thread takes the line away. */
        if (accesses[i].thread != accesses[at].thread) {
            if (accesses[i].kind & ACCESS_STORE &&
                accesses[i].address / LINE == accesses[at].address / LINE)
                break;
            continue;
        }
        seen++;
        line_visit_feed(&visit, &access, 1);
    }
    line_visit_end(&visit, &arrival->event);
}

static void trap(struct simulation *simulation, size_t at, bool second)
{
    const struct sharing_access *access = &simulation->trace->accesses[at];
    struct line_arrival arrival;
    struct line_trap trap = {
        .thread_id = access->thread,
        .generation = simulation->generation,
        .second = second,
        .time_ns = at,
        .ip = access->ip,
        .kind = access->kind,
        .width = access->width,
        .address = BASE + access->address,
    };

    if (line_watch_trap(&simulation->watch, &trap, &arrival) != LINE_TRAP_EVENT)
        return;
    if (simulation->sampling->look_ahead)
        follow_visit(simulation, at, &arrival);
    publish(simulation, access, at);
    line_watch_event(&simulation->watch, &arrival.event);
}

static void check_registers(struct simulation *simulation, size_t at)
{
    const struct sharing_access *access = &simulation->trace->accesses[at];
    uint32_t generation = simulation->generation;
    bool wanted = simulation->loads || access->kind & ACCESS_STORE;
    bool first = meets(access, simulation->address[0]);
    bool second = simulation->address[1] && meets(access, simulation->address[1]);

    if (!simulation->armed || !wanted)
        return;
    if (first)
        trap(simulation, at, false);
    if (second && simulation->armed && simulation->generation == generation)
        trap(simulation, at, true);
}

/* What the thread's own accesses before and after the sampled one do to the line. */
static void follow_own_visit(const struct simulation *simulation, size_t at,
                             struct record_sample *sample)
{
    const struct sharing_access *accesses = simulation->trace->accesses, *own = &accesses[at];
    unsigned seen = 0;

    sample->flags |= SAMPLE_LINE_VISIT;
    sample->next_store = REUSE_TIME_NONE;
    for (size_t i = at + 1; i-- > 0 && seen < VISIT && i + 64 * VISIT > at;) {
        bool here = accesses[i].address / LINE == own->address / LINE;

        if (accesses[i].thread != own->thread) {
            if (here && accesses[i].kind & ACCESS_STORE)
                break;
            continue;
        }
        seen++;
        if (!here)
            continue;
        sample->visit_accessed |= bytes_of(&accesses[i]);
        if (accesses[i].kind & ACCESS_STORE)
            sample->visit_written |= bytes_of(&accesses[i]);
    }
    /* Others stand still meanwhile: a thread that waits for them is seen to wait. */
    seen = 0;
    for (size_t i = at + 1; i < simulation->trace->count && seen < VISIT && i < at + 64 * VISIT;
         i++) {
        seen += accesses[i].thread == own->thread;
        if (simulation->sampling->waits && accesses[i].thread != own->thread &&
            accesses[i].address / LINE == own->address / LINE)
            return;
        if (accesses[i].thread == own->thread && accesses[i].kind & ACCESS_STORE &&
            accesses[i].address / LINE == own->address / LINE) {
            sample->next_store = seen;
            return;
        }
    }
}

/* The window: the thread's next use of the line, at each size from the run's on. */
static void look_ahead(const struct simulation *simulation, size_t at, struct record_sample *sample)
{
    const struct sharing_access *accesses = simulation->trace->accesses, *own = &accesses[at];
    uint32_t seen = 0;

    for (size_t i = at + 1; i < simulation->trace->count && seen < WINDOW && i < at + 64 * WINDOW;
         i++) {
        if (accesses[i].thread != own->thread)
            continue;
        seen++;
        for (uint32_t size = LINE; size <= LINE_SIZE_MAX; size *= 2) {
            uint32_t *reuse = &sample->reuse_time[line_size_index(size)];

            if (*reuse == REUSE_TIME_NONE && accesses[i].address / size == own->address / size)
                *reuse = seen;
        }
        if (sample->reuse_time[line_size_index(LINE)] != REUSE_TIME_NONE)
            return;
    }
}

static void take_sample(struct simulation *simulation, size_t at)
{
    const struct sharing_access *access = &simulation->trace->accesses[at];
    struct record_sample sample = profile_builder_default_sample(access->thread, 0);
    struct line_watch_offer offer = {.thread_id = access->thread, .executed = true, .time_ns = at};

    sample.sample_id = ++simulation->builder.samples;
    sample.kind = access->kind & ACCESS_STORE ? ACCESS_STORE : ACCESS_LOAD;
    sample.address = BASE + access->address;
    sample.width = access->width;
    sample.ip = access->ip;
    sample.monotonic_ns = at;
    sample.app_ns = simulation->made[access->thread] * simulation->threads;
    sample.weight_ns = (uint64_t)simulation->sampling->period * simulation->threads;
    sample.loop = 0x401000;
    if (simulation->sampling->look_ahead)
        look_ahead(simulation, at, &sample);
    if (sample.kind == ACCESS_STORE) {
        if (simulation->sampling->look_ahead)
            follow_own_visit(simulation, at, &sample);
        offer.shared = board_others(&simulation->board, line_start(sample.address, LINE),
                                    access->thread, 0, &offer.others);
        line_watch_offer(&simulation->watch, &simulation->random, &offer, &sample);
    }
    publish(simulation, access, at);
    profile_builder_lone_burst(&simulation->builder, &sample);
    profile_builder_sample(&simulation->builder, &sample);
}

void sharing_trace_sample(const struct sharing_trace *trace,
                          const struct sharing_sampling *sampling, const char *path)
{
    struct simulation *simulation = calloc(1, sizeof *simulation);
    struct line_watch_mechanism mechanism = {
        .arm = arm, .disarm = disarm, .append = append, .context = simulation, .line_size = LINE};

    if (!simulation)
        exit(1);
    simulation->trace = trace;
    simulation->sampling = sampling;
    random_seed(&simulation->random, sampling->seed);
    for (size_t i = 0; i < trace->count; i++)
        simulation->made[trace->accesses[i].thread]++;
    for (unsigned i = 1; i <= SHARING_THREADS; i++)
        simulation->threads += simulation->made[i] > trace->count / (2 * SHARING_THREADS);
    memset(simulation->made, 0, sizeof simulation->made);
    profile_builder_begin(&simulation->builder, path);
    profile_builder_defaults(&simulation->builder);
    for (uint32_t i = 1; i <= SHARING_THREADS; i++) {
        profile_builder_thread(&simulation->builder, (int32_t)(1000 + i), "thread");
        for (unsigned reading = 0; reading < 20; reading++)
            profile_builder_rate(&simulation->builder, i, 0x401000, 1000 * reading, 1000000,
                                 1000000 * simulation->threads);
    }
    line_watch_begin(&simulation->watch, &mechanism);
    for (size_t i = 0; i < trace->count; i++) {
        simulation->made[trace->accesses[i].thread]++;
        if (simulation->armed)
            check_registers(simulation, i);
        if (random_below(&simulation->random, sampling->period) == 0)
            take_sample(simulation, i);
    }
    line_watch_stop(&simulation->watch, LINE_END_PROCESS, trace->count);
    profile_builder_finish(&simulation->builder);
    free(simulation);
}
