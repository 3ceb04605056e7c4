/* SPDX-License-Identifier: BSD-3-Clause */
/* See processor.h. */
#include "simulate/processor.h"

#include <stdlib.h>
#include <string.h>

#include "sampling/sample.h"

enum { CHUNK = 32 /* entries of the stream that are looked at together while nothing happens */ };

/* ---- the mechanism behind sampling/private_watch.h ---- */

static bool arm(void *thread, unsigned slot, uint64_t address, uint32_t generation)
{
    struct processor *processor = thread;

    registers_arm(&processor->registers, slot, address, processor->options->register_size,
                  generation);
    return true;
}

static void disarm(void *thread, unsigned slot)
{
    struct processor *processor = thread;

    registers_disarm(&processor->registers, slot);
}

static void append(void *thread, enum record_type type, const void *record, size_t size)
{
    struct processor *processor = thread;

    processor->host->append(processor->user, type, record, size);
}

static uint64_t monotonic_ns(void *thread)
{
    struct processor *processor = thread;

    return processor->host->monotonic_ns(processor->user);
}

static uint64_t app_now(void *thread)
{
    return ((struct processor *)thread)->accesses;
}

static uint16_t cpu(void *thread)
{
    (void)thread;
    return 0;
}

static void append_end(struct processor *processor, struct open_visit *visit)
{
    visit->end.flags = (uint8_t)visit_flags(&visit->visit);
    visit->end.words_after = (uint8_t)visit_words_after(&visit->visit);
    append(processor, RECORD_WATCH_END, &visit->end, sizeof visit->end);
}

/* The accesses after the trap have not been made yet: the end's record waits for them. */
static bool follow_visit(void *thread, const struct record_sample *sample,
                         const struct watch_trap *trap, struct record_watch_end *end)
{
    struct processor *processor = thread;
    struct open_visit *visit;

    (void)trap;
    if (processor->visits_open == PROCESSOR_VISITS_OPEN)
        return true; /* written as a visit of which nothing is known */
    visit = &processor->visits[processor->visits_open++];
    visit_begin(&visit->visit, sample->address, sample->watch_address,
                processor->options->register_size, processor->options->line_size);
    visit->seen = 0;
    visit->end = *end;
    return false;
}

static const struct watch_mechanism mechanism = {
    .arm = arm,
    .disarm = disarm,
    .append = append,
    .monotonic_ns = monotonic_ns,
    .app_ns = app_now,
    .cpu = cpu,
    .follow_visit = follow_visit,
};

/* ---- samples ---- */

/* The record is there: looking ahead from the last access made. */
static void deliver(struct processor *processor, struct open_sample *sample)
{
    window_begin_for_record(sample->window, &processor->random, &sample->access,
                            processor->accesses - sample->app_ns, processor->options->window,
                            processor->options->line_size);
    sample->delivered_ns = processor->accesses;
}

uint64_t processor_sample_id(const struct processor *processor, uint64_t n)
{
    return n | (uint64_t)processor->thread_id << 40;
}

/* The counter has run over at this access, the last one made. */
static void overflow(struct processor *processor, const struct access *access)
{
    uint64_t weight = processor->options->pmu.period + processor->carried;
    struct open_sample *sample;
    struct access recorded;

    processor->totals.expirations++;
    if (!pmu_overflow(&processor->pmu) ||
        !layout_pass(processor->options->layout, access, monotonic_ns(processor), &recorded)) {
        processor->totals.lost[LOSS_BUFFER]++;
        return;
    }
    /* Nobody looks ahead in so many places at once: the next sample stands for this one, too. */
    if (processor->samples_open == PROCESSOR_SAMPLES_OPEN) {
        processor->totals.lost[LOSS_ASYNCHRONOUS]++;
        processor->carried = weight;
        return;
    }
    processor->carried = 0;
    sample = &processor->samples[processor->samples_open];
    sample->window = processor->spare_windows[processor->samples_open++];
    sample->access = recorded;
    sample->sample_id = processor_sample_id(processor, processor->totals.expirations);
    sample->app_ns = processor->accesses;
    sample->weight = weight;
    sample->undelivered = processor->options->pmu.skid;
    if (sample->undelivered == 0)
        deliver(processor, sample);
}

static void close_sample(struct processor *processor, unsigned index)
{
    struct window *window = processor->samples[index].window;

    processor->samples[index] = processor->samples[--processor->samples_open];
    processor->spare_windows[processor->samples_open] = window;
}

/* The window of a sample is filled, or the thread ends within it. */
static void take_sample(struct processor *processor, struct open_sample *open, bool complete)
{
    struct window *window = open->window;
    struct record_sample sample = {
        .sample_id = open->sample_id,
        .thread_id = processor->thread_id,
        .monotonic_ns = monotonic_ns(processor),
        .weight_ns = open->weight,
    };

    if (!window_end(window, &processor->random)) {
        processor->totals.lost[LOSS_UNREADABLE]++;
        return;
    }
    sample.app_ns = window->executed ? open->app_ns : open->delivered_ns + window->sampled + 1;
    window->executed = true; /* by now, in any case */
    sample_from_window(&sample, window);
    processor->host->attribute(processor->user, &sample);
    if (processor->host->communicate != NULL)
        processor->host->communicate(processor->user, &sample);
    processor->totals.samples++;
    if (complete && !sample_is_resolved(&sample, processor->options->line_size))
        private_watch_start(&processor->watches, window, &sample, processor->accesses);
    else
        append(processor, RECORD_SAMPLE, &sample, sizeof sample);
}

/* ---- one access, with everything that may happen at it ---- */

static void feed_visits(struct processor *processor, const struct access *access)
{
    for (unsigned i = 0; i < processor->visits_open;) {
        struct open_visit *visit = &processor->visits[i];

        visit_feed(&visit->visit, access, 1);
        if (++visit->seen < VISIT_ACCESSES) {
            i++;
            continue;
        }
        append_end(processor, visit);
        *visit = processor->visits[--processor->visits_open];
    }
}

static void feed_samples(struct processor *processor, const struct access *access)
{
    for (unsigned i = 0; i < processor->samples_open;) {
        struct open_sample *sample = &processor->samples[i];

        if (sample->undelivered > 0) {
            if (--sample->undelivered == 0)
                deliver(processor, sample);
            i++;
        } else if (window_feed(sample->window, access, 1)) {
            take_sample(processor, sample, true);
            close_sample(processor, i);
        } else {
            i++;
        }
    }
}

/* x86 reports the instruction after the access, others the one that makes it. */
static void trap(struct processor *processor, const struct access *access, uint32_t instruction,
                 unsigned touched)
{
    unsigned length = processor->options->trap_before
                          ? 0
                          : processor->host->length_of(processor->user, instruction);
    struct watch_trap event = {.ip = access->ip + length, .app_now = processor->accesses};

    for (; touched; touched &= touched - 1) {
        unsigned slot = (unsigned)__builtin_ctz(touched);

        /* Trapping at one register may have freed another on the same word. */
        if (processor->registers.armed & 1u << slot)
            private_watch_trap(&processor->watches, slot,
                               processor->registers.slot[slot].generation, &event);
    }
}

static void step(struct processor *processor, const struct access *access, uint32_t instruction)
{
    unsigned touched =
        processor->registers.armed
            ? registers_touched(&processor->registers, access->address, access->width)
            : 0;

    processor->accesses++;
    /* What was under way before this access sees it; what it begins does not. */
    feed_visits(processor, access);
    if (touched)
        trap(processor, access, instruction, touched);
    feed_samples(processor, access);
    if (--processor->pmu.left == 0)
        overflow(processor, access);
}

/* An entry of the stream is one access, or two: a load and a store of the same bytes. */
static unsigned accesses_of(const struct stream_access *entry)
{
    return stream_kind(entry) == STREAM_READ_MODIFY_WRITE ? 2 : 1;
}

static void step_entry(struct processor *processor, const struct stream_access *entry)
{
    struct access access = {
        .address = stream_address(entry),
        .width = (uint8_t)stream_width(entry),
        .kind = (uint8_t)stream_kind(entry),
        .read_modify_write = stream_modifies(entry),
    };

    access.ip = processor->host->ip_of(processor->user, entry->instruction);
    if (access.kind != STREAM_READ_MODIFY_WRITE) {
        step(processor, &access, entry->instruction);
        return;
    }
    access.read_modify_write = true;
    access.kind = ACCESS_LOAD;
    step(processor, &access, entry->instruction);
    access.kind = ACCESS_STORE;
    step(processor, &access, entry->instruction);
}

/* Entries from the start of which nothing happens: multiples of CHUNK, and fewer than `count`. */
static size_t quiet_entries(struct processor *processor, const struct stream_access *entries,
                            size_t count)
{
    size_t quiet = 0;

    if (processor->samples_open || processor->visits_open)
        return 0;
    while (quiet + CHUNK <= count && processor->pmu.left > 2 * CHUNK) {
        unsigned accesses = 0;
        bool touched = false;

        for (size_t i = quiet; i < quiet + CHUNK; i++) {
            accesses += accesses_of(&entries[i]);
            touched |= registers_may_touch(&processor->registers, &entries[i]);
        }
        if (touched)
            break;
        processor->accesses += accesses;
        processor->pmu.left -= accesses;
        quiet += CHUNK;
    }
    return quiet;
}

void processor_run(struct processor *processor, const struct stream_access *entries, size_t count)
{
    for (size_t i = 0; i < count;) {
        size_t chunk;

        i += quiet_entries(processor, entries + i, count - i);
        chunk = count - i < CHUNK ? count - i : CHUNK;
        for (size_t end = i + chunk; i < end; i++)
            step_entry(processor, &entries[i]);
    }
}

/* ---- life ---- */

bool processor_begin(struct processor *processor, const struct processor_options *options,
                     const struct processor_host *host, void *user, uint32_t thread_id,
                     uint64_t seed)
{
    memset(processor, 0, sizeof *processor);
    processor->options = options;
    processor->host = host;
    processor->user = user;
    processor->thread_id = thread_id;
    processor->totals.thread_id = thread_id;
    random_seed(&processor->random, seed + thread_id);
    random_seed(&processor->pmu_random, random_next(&processor->random));
    pmu_begin(&processor->pmu, &options->pmu, &processor->pmu_random);
    private_watches_begin(&processor->watches, &mechanism, processor, thread_id, &processor->random,
                          &processor->totals, options->registers, options->register_size);
    for (unsigned i = 0; i < PROCESSOR_SAMPLES_OPEN; i++) {
        processor->spare_windows[i] = calloc(1, sizeof *processor->spare_windows[i]);
        if (processor->spare_windows[i] == NULL) {
            processor_free(processor);
            return false;
        }
    }
    return true;
}

void processor_end(struct processor *processor, enum watch_end reason)
{
    struct watch_ending ending = {
        .reason = reason, .app_now = processor->accesses, .by_thread = processor->thread_id};

    while (processor->samples_open > 0) {
        struct open_sample *sample = &processor->samples[0];

        if (sample->undelivered == 0)
            take_sample(processor, sample, false);
        else
            processor->totals.lost[LOSS_BUFFER]++;
        close_sample(processor, 0);
    }
    while (processor->visits_open > 0)
        append_end(processor, &processor->visits[--processor->visits_open]);
    for (unsigned i = 0; i < processor->watches.count; i++)
        private_watch_end(&processor->watches, i, &ending);
}

void processor_append_totals(struct processor *processor)
{
    processor->totals.monotonic_ns = monotonic_ns(processor);
    processor->totals.app_ns = processor->accesses;
    append(processor, RECORD_TOTALS, &processor->totals, sizeof processor->totals);
}

void processor_free(struct processor *processor)
{
    for (unsigned i = 0; i < processor->samples_open; i++)
        free(processor->samples[i].window);
    for (unsigned i = processor->samples_open; i < PROCESSOR_SAMPLES_OPEN; i++)
        free(processor->spare_windows[i]);
}
