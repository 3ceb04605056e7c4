/* SPDX-License-Identifier: BSD-3-Clause */
/* See processor.h. */
#include "simulate/processor.h"

#include <stdlib.h>
#include <string.h>

#include "isa/interpreter.h"

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

/* ---- bursts ---- */

uint64_t processor_sample_id(const struct processor *processor, uint64_t n)
{
    return n | (uint64_t)processor->thread_id << 40;
}

/* Of the samples that are watched in that slot. */
static uint64_t open_sample_id(const struct processor *processor, unsigned slot)
{
    return processor->under_way.id | (uint64_t)(slot + 1) << 36;
}

uint32_t processor_burst_left(const struct processor *processor)
{
    return processor->under_way.open ? burst_wants(processor->burst) : 0;
}

/* The record is there: the burst begins with what it tells, or, if that is past, with the next
 * access: nobody knows what was used in between. */
static void deliver(struct processor *processor)
{
    struct burst_under_way *burst = &processor->under_way;
    uint32_t line_size = processor->options->line_size;
    bool wide = random_below(&processor->random, BURST_WIDE_ONE_IN) == 0;

    if (burst->app_ns == processor->accesses) {
        burst_begin_after(processor->burst, line_size, wide, &burst->recorded);
    } else {
        burst_begin(processor->burst, line_size, wide);
        burst->app_ns = processor->accesses + 1;
    }
}

/* The counter has run over at this access, the last one made. */
static void overflow(struct processor *processor, const struct access *access)
{
    uint64_t weight = processor->options->pmu.period + processor->carried;
    struct burst_under_way *burst = &processor->under_way;
    struct access recorded;

    processor->totals.expirations++;
    if (!pmu_overflow(&processor->pmu) ||
        !layout_pass(processor->options->layout, access, monotonic_ns(processor), &recorded)) {
        processor->totals.lost[LOSS_BUFFER]++;
        return;
    }
    /* The next burst stands for this one's accesses, too. */
    if (burst->open) {
        processor->carried = weight;
        return;
    }
    processor->carried = 0;
    *burst = (struct burst_under_way){
        .open = true,
        .id = processor_sample_id(processor, processor->totals.expirations),
        .weight = weight,
        .app_ns = processor->accesses,
        .undelivered = processor->options->pmu.skid,
        .recorded = recorded,
    };
    if (burst->undelivered == 0)
        deliver(processor);
}

/* What addresses are made of is not known: there is no code to look at. */
static void append_steps(struct processor *processor)
{
    struct record_steps *record = (struct record_steps *)processor->record;
    uint64_t burst_id = processor->record->burst_id;

    record->burst_id = burst_id;
    record->reserved = 0;
    record->count = address_steps_find(&processor->steps, processor->burst,
                                       processor->options->line_size, NULL, record->steps);
    set_conflicts_count(&processor->sets, conflict_cache_of(0, 0, processor->options->line_size),
                        processor->burst, record->steps, record->count);
    if (record->count > 0)
        append(processor, RECORD_STEPS, record,
               sizeof *record + record->count * sizeof *record->steps);
}

static void append_burst(struct processor *processor, enum interpreter_stop stop)
{
    const struct burst_under_way *burst = &processor->under_way;
    struct record_burst *record = processor->record;
    size_t size;

    *record = (struct record_burst){
        .burst_id = burst->id,
        .thread_id = processor->thread_id,
        .monotonic_ns = monotonic_ns(processor),
        .app_ns = burst->app_ns,
        .weight_ns = burst->weight,
        .stop = (uint8_t)stop,
    };
    if (!burst_encode(processor->burst, record, record->tail,
                      PROFILE_RECORD_MAX - sizeof *record)) {
        processor->totals.lost[LOSS_BUFFER]++;
        return;
    }
    size = (record->probe_size + 7u) & ~7u;
    memset(record->tail + record->probe_size, 0, size - record->probe_size);
    append(processor, RECORD_BURST, record, sizeof *record + size);
    append_steps(processor);
    processor->totals.bursts++;
}

/* All that samples have in common, and what the burst tells of one at the probe. */
static struct record_sample describe(struct processor *processor, const struct burst_probe *probe)
{
    struct record_sample sample = {
        .thread_id = processor->thread_id,
        .monotonic_ns = monotonic_ns(processor),
        .app_ns = processor->under_way.app_ns + probe->index,
        .weight_ns = processor->under_way.weight,
        .burst_id = processor->under_way.id,
        .weight_factor = 1,
    };
    struct burst_object object = {0};

    burst_describe(processor->burst, probe, &sample);
    processor->host->identify(processor->user, sample.address, &object);
    sample.object_kind = object.kind;
    sample.object_reference = object.reference;
    sample.object_base = object.base;
    sample.object_size = object.size;
    return sample;
}

/*
 * One of all probes. The recorded access is as good as any, and what became of its line was
 * followed as it was made.
 */
static void take_any(struct processor *processor)
{
    struct burst_probe probe = burst_draw(processor->burst, &processor->random);
    struct record_sample sample;

    if (processor->options->pmu.skid == 0)
        probe = burst_draw_of(processor->burst, &processor->random, 0);
    sample = describe(processor, &probe);
    sample.sample_id = processor->under_way.id;
    if (processor->host->communicate != NULL)
        processor->host->communicate(processor->user, &sample);
    append(processor, RECORD_SAMPLE, &sample, sizeof sample);
    processor->totals.samples++;
}

/* Registers for some of those that are open. */
static void take_open(struct processor *processor)
{
    uint32_t slots = private_watches_accept(&processor->watches);
    struct burst_probe probes[WATCHES_MAX];
    unsigned count = burst_draw_open(processor->burst, &processor->random,
                                     (unsigned)__builtin_popcount(slots), probes);

    for (unsigned i = 0; i < count; i++, slots &= slots - 1) {
        unsigned slot = (unsigned)__builtin_ctz(slots);
        struct record_sample sample = describe(processor, &probes[i]);

        sample.sample_id = open_sample_id(processor, slot);
        sample.flags |= SAMPLE_OPEN;
        sample.marker_accesses = sample.accesses_ahead;
        watch_plan_make(&sample, &processor->random, processor->options->register_size,
                        processor->options->line_size);
        processor->totals.samples +=
            private_watch_start(&processor->watches, slot, &sample, processor->accesses);
    }
}

/* It is complete, or the thread has ended: INTERPRETER_FULL, or why not. */
static void take_burst(struct processor *processor, enum interpreter_stop stop)
{
    const struct burst_host surroundings = {.identify = processor->host->identify,
                                            .user = processor->user};

    if (burst_close(processor->burst, &surroundings) == 0) {
        processor->totals.lost[LOSS_UNREADABLE]++;
    } else {
        append_burst(processor, stop);
        take_any(processor);
        if (stop == INTERPRETER_FULL)
            take_open(processor);
    }
    processor->under_way.open = false;
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

static void feed_burst(struct processor *processor, const struct access *access)
{
    struct burst_under_way *burst = &processor->under_way;

    if (burst->undelivered > 0) {
        if (--burst->undelivered == 0)
            deliver(processor);
        return;
    }
    burst_feed(processor->burst, access, 1);
    if (burst_wants(processor->burst) == 0)
        take_burst(processor, INTERPRETER_FULL);
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
    if (processor->under_way.open)
        feed_burst(processor, access);
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

    if (processor->under_way.open || processor->visits_open)
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
    processor->burst = calloc(1, burst_memory_size());
    processor->record = malloc(PROFILE_RECORD_MAX);
    if (processor->burst == NULL || processor->record == NULL) {
        processor_free(processor);
        return false;
    }
    return true;
}

void processor_end(struct processor *processor, enum watch_end reason)
{
    struct watch_ending ending = {
        .reason = reason, .app_now = processor->accesses, .by_thread = processor->thread_id};

    if (processor->under_way.open && processor->under_way.undelivered > 0)
        processor->totals.lost[LOSS_BUFFER]++;
    else if (processor->under_way.open)
        take_burst(processor, INTERPRETER_SYSTEM_CALL); /* the last thing that a thread does */
    processor->under_way.open = false;
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
    free(processor->burst);
    free(processor->record);
}
