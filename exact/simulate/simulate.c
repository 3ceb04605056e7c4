/* SPDX-License-Identifier: BSD-3-Clause */
/* See simulate.h. */
#include "simulate/simulate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "heap.h"
#include "instructions.h"
#include "objects.h"
#include "say.h"
#include "simulate/lines.h"
#include "simulate/processor.h"

enum { DUE_BYTES = 4 << 20 /* of a thread's records that wait */ };

/* What a thread's simulation is. */
struct simulation {
    struct processor processor;
    struct lines_thread lines;
    struct recorder recorder;
};

/* Written by simulate_start() alone. */
static struct processor_options options;
static unsigned place; /* among the consumers */
static uint64_t seed;
static bool on;
static bool sharing; /* communication is sampled */
static bool refused; /* the user does not want to know of it */

static uint64_t ip_of(void *user, uint32_t instruction)
{
    (void)user;
    return instruction_at(instruction)->ip;
}

static unsigned length_of(void *user, uint32_t instruction)
{
    (void)user;
    return instruction_at(instruction)->length;
}

static void identify(void *user, uint64_t address, struct burst_object *found)
{
    struct object_range range;
    struct object_identity object = object_identity(object_at(address, &range));
    struct block block;
    bool lasting;

    (void)user;
    *found = (struct burst_object){.low = range.low,
                                   .high = range.low + range.size,
                                   .reference = object.reference,
                                   .kind = (uint8_t)object.kind};
    if (object.kind == OBJECT_STACK) {
        found->base = range.low;
        found->size = range.size;
    } else if (heap_find(address, &block, &lasting) != OBJECT_UNKNOWN && block.size > 0) {
        found->base = found->low = block.base;
        found->size = block.size;
        found->high = block.base + block.size;
    }
}

static void communicate(void *user, struct record_sample *sample)
{
    if (sharing)
        lines_complete_sample(&((struct simulation *)user)->lines, sample);
}

static void append(void *user, enum record_type type, const void *record, size_t size)
{
    recorder_append(&((struct simulation *)user)->recorder, type, record, size);
}

static uint64_t monotonic_ns(void *user)
{
    struct timespec now;

    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const struct processor_host host = {
    .ip_of = ip_of,
    .length_of = length_of,
    .identify = identify,
    .append = append,
    .monotonic_ns = monotonic_ns,
    .communicate = communicate,
};

static void *thread_started(struct guest_thread *thread)
{
    struct simulation *simulation = calloc(1, sizeof *simulation);

    if (simulation != NULL && processor_begin(&simulation->processor, &options, &host, simulation,
                                              thread->thread_id, seed)) {
        lines_thread_begin(&simulation->lines, &simulation->processor, thread, seed);
        return simulation;
    }
    say("out of memory: thread %" PRIu32 " is not sampled", thread->thread_id);
    free(simulation);
    return NULL;
}

static void batch(void *state, const struct stream_access *accesses, size_t count)
{
    struct simulation *simulation = state;

    if (simulation == NULL)
        return;
    if (sharing)
        lines_batch(&simulation->lines, accesses, count);
    processor_run(&simulation->processor, accesses, count);
}

static void in_order(struct guest_thread *thread, const struct stream_access *access,
                     unsigned width)
{
    struct simulation *simulation = thread->consumer[place];

    if (simulation != NULL)
        lines_access(&simulation->lines, access, width);
}

/* What it recorded last is written with the records of the thread's end. */
static void *thread_ended(void *state)
{
    struct simulation *simulation = state;

    if (simulation == NULL)
        return NULL;
    if (sharing)
        lines_thread_end(&simulation->lines);
    processor_end(&simulation->processor, WATCH_THREAD_ENDED);
    processor_append_totals(&simulation->processor);
    processor_free(&simulation->processor);
    return simulation;
}

const struct stream_consumer simulate_consumer = {
    .thread_started = thread_started,
    .batch = batch,
    .thread_ended = thread_ended,
};

void simulate_start(const struct settings *settings, unsigned consumer)
{
    const struct options *given = &settings->options;

    options = (struct processor_options){
        .pmu = {.period = given->period ? given->period : SIMULATE_PERIOD,
                .skid = given->simulate_skid,
                .loss = given->simulate_loss_percent / 100},
        .layout = given->simulate_layout,
        .trap_before = given->simulate_trap_before,
        .register_size = given->simulate_register < given->line_size ? given->simulate_register
                                                                     : given->line_size,
        .registers = WATCHES_MAX,
        .line_size = given->line_size,
    };
    seed = given->seed;
    if (!given->seed_given) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        seed = ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) % 1000000000;
    }
    place = consumer;
    /* A record that comes late moves its sample to an access that nobody knows in time. */
    refused = !given->sharing;
    sharing = given->sharing && given->simulate_skid == 0;
    if (sharing) {
        lines_start(given->line_size);
        stream_in_order = in_order;
    }
    on = true;
}

bool simulate_is_on(void)
{
    return on;
}

static void append_number(void (*append_pair)(void *, const char *, const char *), void *context,
                          const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, value);
    append_pair(context, key, text);
}

void simulate_describe(void (*append_pair)(void *, const char *, const char *), void *context)
{
    char loss[32];

    append_pair(context, "clock", "accesses");
    append_number(append_pair, context, "period", options.pmu.period);
    append_number(append_pair, context, "seed", seed);
    append_number(append_pair, context, "slots", options.registers);
    append_number(append_pair, context, "burst", BURST_ACCESSES);
    append_pair(context, "simulate_layout", simulated_layout_names[options.layout]);
    append_number(append_pair, context, "simulate_skid", options.pmu.skid);
    snprintf(loss, sizeof loss, "%g", 100 * options.pmu.loss);
    append_pair(context, "simulate_loss_percent", loss);
    append_pair(context, "simulate_trap", options.trap_before ? "before" : "after");
    append_number(append_pair, context, "simulate_register", options.register_size);
    if (refused)
        append_pair(context, "sharing", "0");
}

static struct simulation *simulation_of(const struct guest_thread *thread)
{
    return on ? thread->consumer[place] : NULL;
}

void simulate_collect(struct guest_thread *thread, struct recorder *into)
{
    struct simulation *simulation = simulation_of(thread);

    if (simulation == NULL)
        return;
    if (!thread->ended)
        processor_append_totals(&simulation->processor);
    recorder_move(&simulation->recorder, into);
    if (thread->ended) {
        recorder_free(&simulation->recorder);
        free(simulation);
        thread->consumer[place] = NULL;
    }
}

void simulate_collect_shared(struct recorder *into, bool finishing)
{
    if (sharing)
        lines_collect(into, finishing);
}

void simulate_after_fork(void)
{
    if (sharing)
        lines_after_fork();
}

bool simulate_is_due(const struct guest_thread *thread)
{
    const struct simulation *simulation = simulation_of(thread);

    return simulation != NULL && simulation->recorder.used > DUE_BYTES;
}

void simulate_end(struct guest_thread *thread)
{
    struct simulation *simulation = simulation_of(thread);

    if (simulation == NULL)
        return;
    if (sharing)
        lines_thread_end(&simulation->lines);
    processor_end(&simulation->processor, WATCH_PROCESS_ENDED);
}
