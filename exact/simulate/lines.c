/* SPDX-License-Identifier: BSD-3-Clause */
/* See lines.h. */
#define _GNU_SOURCE /* sched_getcpu */
#include "simulate/lines.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "sampling/board.h"
#include "sampling/line_mask.h"

/* Over everything here that is not atomic: threads come to the watch one after the other. */
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static struct line_watch watch;
static struct board board;
static struct recorder recorder;
static uint32_t line_size;

/* The registers; written under the lock, looked at with every access. */
static uint64_t words[2]; /* atomic; 0: not armed */
static bool loads;        /* atomic */

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* That the guest thread runs on. */
static uint16_t cpu(void)
{
    int number = sched_getcpu();

    return (uint16_t)(number > 0 ? number : 0);
}

/*
 * What the profiler does at a sampled store must not give other threads the time to come to its
 * line: they stand still meanwhile.
 */
static void stop_all(void)
{
    pthread_mutex_lock(&order);
    __atomic_store_n(&stream_halted, true, __ATOMIC_RELAXED);
}

static void go_on_all(void)
{
    __atomic_store_n(&stream_halted, false, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&order);
}

/* ---- the mechanism behind sampling/line_watch.h ---- */

static void set_registers(uint64_t address, uint64_t address2, bool with_loads)
{
    __atomic_store_n(&loads, with_loads, __ATOMIC_RELAXED);
    __atomic_store_n(&words[0], address, __ATOMIC_RELAXED);
    __atomic_store_n(&words[1], address2, __ATOMIC_RELAXED);
}

static bool arm(void *context, uint64_t address, uint64_t address2, bool with_loads,
                uint32_t generation)
{
    (void)context;
    (void)generation; /* no trap is late: the lock is held from the look at the registers on */
    set_registers(address, address2, with_loads);
    return true;
}

static void disarm(void *context)
{
    (void)context;
    set_registers(0, 0, false);
}

static void append(void *context, enum record_type type, const void *record, size_t size)
{
    (void)context;
    recorder_append(&recorder, type, record, size);
}

void lines_start(uint32_t size)
{
    struct line_watch_mechanism mechanism = {
        .arm = arm, .disarm = disarm, .append = append, .line_size = size};

    line_size = size;
    line_watch_begin(&watch, &mechanism);
}

static void publish(uint32_t thread_id, uint64_t line, uint64_t bytes, unsigned kind, uint64_t now)
{
    struct board_entry entry = {
        .line = line, .bytes = bytes, .time_ns = now, .thread = thread_id, .kinds = kind};

    board_publish(&board, &entry);
}

/* ---- traps, and visits after them ---- */

static bool touches(unsigned which, uint64_t address, unsigned width)
{
    uint64_t word = __atomic_load_n(&words[which], __ATOMIC_RELAXED);

    return address - word < WATCH_WORD || word - address < width;
}

static void hand_back(const struct lines_thread *thread, const struct line_arrival *arrival)
{
    const struct record_line_event *event = &arrival->event;

    line_watch_event(&watch, event);
    publish(thread->guest->thread_id, arrival->line, event->visit_read | event->visit_written,
            STREAM_READ_MODIFY_WRITE, event->monotonic_ns);
}

static void end_visit(struct lines_thread *thread, unsigned index)
{
    struct line_visit_open *open = &thread->visits[index];

    line_visit_end(&open->visit, &open->arrival.event);
    pthread_mutex_lock(&order);
    hand_back(thread, &open->arrival);
    pthread_mutex_unlock(&order);
    *open = thread->visits[--thread->visits_open];
}

/* With the lock held. */
static void follow(struct lines_thread *thread, const struct stream_access *access,
                   const struct line_arrival *arrival)
{
    struct line_visit_open *open;

    if (thread->visits_open == LINES_VISITS_OPEN) {
        hand_back(thread, arrival);
        return;
    }
    open = &thread->visits[thread->visits_open++];
    open->arrival = *arrival;
    open->arrival.event.cpu = cpu();
    open->next = (size_t)(access - thread->guest->begin) + 1;
    open->seen = 0;
    line_visit_begin(&open->visit, arrival, line_size);
}

/* The load of a read-modify-write instruction stands for all of it, as x86 traps once, after it. */
static __attribute__((noinline)) void trap(struct lines_thread *thread,
                                           const struct stream_access *access, unsigned width)
{
    const struct processor *processor = thread->processor;
    unsigned kind = stream_kind(access) | (stream_modifies(access) ? ACCESS_STORE : 0);
    struct line_trap event = {
        .thread_id = thread->guest->thread_id,
        .ip = processor->host->ip_of(processor->user, access->instruction),
        .kind = (uint8_t)kind,
        .width = (uint8_t)width,
        .address = stream_address(access),
    };
    struct line_arrival arrival;

    stop_all();
    event.time_ns = now_ns();
    for (unsigned which = 0; which < 2; which++) {
        if (!touches(which, event.address, width) || !(loads || kind & ACCESS_STORE))
            continue;
        event.generation = watch.generation;
        event.second = which == 1;
        if (line_watch_trap(&watch, &event, &arrival) == LINE_TRAP_EVENT)
            follow(thread, access, &arrival);
    }
    go_on_all();
}

static void feed(struct line_visit *visit, const struct stream_access *entry)
{
    struct access access = {
        .address = stream_address(entry),
        .width = (uint8_t)stream_width(entry),
        .kind = (uint8_t)stream_kind(entry),
        .read_modify_write = stream_modifies(entry),
    };

    if (access.kind == STREAM_READ_MODIFY_WRITE) {
        access.read_modify_write = true;
        access.kind = ACCESS_LOAD;
        line_visit_feed(visit, &access, 1);
        access.kind = ACCESS_STORE;
    }
    line_visit_feed(visit, &access, 1);
}

void lines_batch(struct lines_thread *thread, const struct stream_access *entries, size_t count)
{
    for (unsigned i = 0; i < thread->visits_open;) {
        struct line_visit_open *open = &thread->visits[i];

        for (; open->next < count && open->seen < VISIT_ACCESSES; open->next++) {
            feed(&open->visit, &entries[open->next]);
            open->seen += stream_uses(&entries[open->next]);
        }
        open->next = 0;
        if (open->seen >= VISIT_ACCESSES)
            end_visit(thread, i);
        else
            i++;
    }
}

/* ---- samples ---- */

/* What the thread did to the line before, as far as the batch reaches back. */
static void find_own_visit(const struct lines_thread *thread, const struct stream_access *access,
                           struct line_offered *offered)
{
    const struct stream_access *begin = thread->guest->begin;
    uint64_t line = line_start(stream_address(access), line_size);

    if (access - begin < VISIT_ACCESSES)
        return;
    offered->flags |= SAMPLE_LINE_VISIT;
    for (begin = access - VISIT_ACCESSES; begin <= access; begin++) {
        uint64_t bytes = line_mask(line, line_size, stream_address(begin), stream_width(begin));

        offered->accessed |= bytes;
        if (stream_kind(begin) & ACCESS_STORE)
            offered->written |= bytes;
    }
}

/*
 * With the lock held. Nobody can tell yet whether the thread itself uses a line soon that it loads:
 * most do, and such loads are not to drive out watches of those that do not.
 */
static void offer(struct lines_thread *thread, const struct stream_access *access,
                  struct line_offered *offered, struct record_sample *sample)
{
    uint64_t line = line_start(sample->address, line_size), now = offered->time_ns;
    struct line_watch_offer candidate = {.thread_id = sample->thread_id,
                                         .uses = sample->kind == ACCESS_LOAD,
                                         .executed = true,
                                         .time_ns = now};

    candidate.shared =
        board_others(&board, line, sample->thread_id, board_since(now), &candidate.others);
    if (!candidate.uses)
        find_own_visit(thread, access, offered);
    if (candidate.uses && random_below(&thread->random, LINE_WATCH_ALL_LOADS_ONE_IN) != 0)
        sample->flags |= SAMPLE_USE_OFFERED;
    else
        line_watch_offer(&watch, &thread->random, &candidate, sample);
    offered->flags |= sample->flags;
}

/* The counter has run over at this access. */
static __attribute__((noinline)) void overflow(struct lines_thread *thread,
                                               const struct stream_access *access, unsigned width,
                                               uint8_t kind)
{
    const struct processor *processor = thread->processor;
    uint64_t address = stream_address(access), line = line_start(address, line_size);
    struct record_sample sample = {
        .sample_id = processor_sample_id(processor, ++thread->expirations),
        .thread_id = thread->guest->thread_id,
        .ip = processor->host->ip_of(processor->user, access->instruction),
        .address = address,
        .width = (uint8_t)width,
        .kind = kind,
    };
    struct line_offered *offered =
        &thread->offered[thread->expirations & (LINES_OFFERS_PENDING - 1)];

    if (!pmu_overflow(&thread->pmu) || thread->burst_left > 0)
        return;
    thread->burst_left = BURST_ACCESSES - 1;
    *offered =
        (struct line_offered){.sample_id = sample.sample_id, .cpu = cpu(), .time_ns = now_ns()};
    /* Of an access to two lines the processor chooses one later. */
    if (address + width > line + line_size)
        return;
    stop_all();
    offer(thread, access, offered, &sample);
    publish(sample.thread_id, line, line_mask(line, line_size, address, width), kind,
            offered->time_ns);
    go_on_all();
}

void lines_complete_sample(const struct lines_thread *thread, struct record_sample *sample)
{
    const struct line_offered *offered =
        &thread->offered[sample->sample_id & (LINES_OFFERS_PENDING - 1)];

    if (offered->sample_id != sample->sample_id)
        return;
    sample->flags |= offered->flags;
    sample->cpu = offered->cpu;
    sample->monotonic_ns = offered->time_ns;
    sample->visit_accessed = offered->accessed;
    sample->visit_written = offered->written;
    sample->next_store = REUSE_TIME_NONE; /* nobody looks ahead for it */
}

/* ---- the thread's accesses ---- */

/* A batch begins: the processor has seen everything before. */
static void synchronise(struct lines_thread *thread)
{
    thread->pmu_random = *thread->processor->pmu.random;
    thread->pmu = thread->processor->pmu;
    thread->pmu.random = &thread->pmu_random;
    thread->expirations = thread->processor->totals.expirations;
    thread->burst_left = processor_burst_left(thread->processor);
}

/* One access more. Whether the counter runs over at it. */
static inline bool expires(struct lines_thread *thread)
{
    thread->burst_left -= thread->burst_left > 0;
    return --thread->pmu.left == 0;
}

void lines_access(struct lines_thread *thread, const struct stream_access *access, unsigned width)
{
    uint64_t address = stream_address(access);
    unsigned kind = stream_kind(access);

    if (access <= thread->last)
        synchronise(thread);
    thread->last = access;
    if (__builtin_expect(touches(0, address, width) || touches(1, address, width), 0))
        trap(thread, access, width);
    /* What this access begins does not see it. */
    if (kind == STREAM_READ_MODIFY_WRITE) {
        if (expires(thread))
            overflow(thread, access, width, ACCESS_LOAD);
        kind = ACCESS_STORE;
    }
    if (expires(thread))
        overflow(thread, access, width, (uint8_t)kind);
}

void lines_thread_begin(struct lines_thread *thread, const struct processor *processor,
                        const struct guest_thread *guest, uint64_t seed)
{
    memset(thread, 0, sizeof *thread);
    thread->processor = processor;
    thread->guest = guest;
    thread->last = guest->end;
    random_seed(&thread->random, seed ^ UINT64_C(0x6c696e65) << 32 ^ guest->thread_id);
}

void lines_thread_end(struct lines_thread *thread)
{
    while (thread->visits_open > 0)
        end_visit(thread, 0);
    pthread_mutex_lock(&order);
    line_watch_thread_ended(&watch, thread->guest->thread_id, now_ns());
    pthread_mutex_unlock(&order);
}

void lines_collect(struct recorder *into, bool finishing)
{
    pthread_mutex_lock(&order);
    if (finishing)
        line_watch_stop(&watch, LINE_END_PROCESS, now_ns());
    recorder_move(&recorder, into);
    pthread_mutex_unlock(&order);
}

void lines_after_fork(void)
{
    struct line_watch_mechanism mechanism = watch.mechanism;

    pthread_mutex_init(&order, NULL);
    stream_halted = false;
    set_registers(0, 0, false);
    memset(&watch, 0, sizeof watch);
    memset(&board, 0, sizeof board);
    recorder.used = 0;
    line_watch_begin(&watch, &mechanism);
}
