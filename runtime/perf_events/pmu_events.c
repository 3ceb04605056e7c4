/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of a thread. See pmu.h. Signal-safe. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposition/descriptors.h"
#include "perf_events/perf_event.h"
#include "perf_events/pmu_internal.h"
#include "pmu/counted.h"
#include "process/settings.h"
#include "recording/tape.h"
#include "sampling/sample.h"

#include "signal_safe.h"

/* Written once at start-up. */
struct pmu_engine pmu_engine;

bool pmu_in_use(void)
{
    return pmu_engine.in_use;
}

bool pmu_has_kinds_of_cores(void)
{
    return pmu_engine.choice.core_kinds > 1;
}

const char *pmu_description(void)
{
    return pmu_engine.description;
}

const char *pmu_served_by(void)
{
    return pmu_engine.served_by;
}

const char *pmu_witness_refusal(void)
{
    return pmu_engine.witness_refusal;
}

static const struct pmu_choice *choice(void)
{
    return &pmu_engine.choice;
}

static int open_samplers(struct pmu_thread *thread, uint64_t cookie, bool signals,
                         const struct pmu_event **tried)
{
    for (unsigned i = 0; i < choice()->samplers; i++) {
        const struct pmu_event *event = &choice()->sampler[i];
        int descriptor;

        *tried = event;
        if (event->needs_leader && thread->leader < 0) {
            struct perf_event_attr attributes = pmu_attributes(&choice()->leader);

            descriptor = pmu_open_event(&attributes, -1, &thread->leader);
            if (descriptor < 0)
                return descriptor;
        }
        descriptor =
            pmu_open_sampler(&pmu_engine.choice, event, thread->period, cookie, signals,
                             event->needs_leader ? thread->leader : -1, &thread->sampler[i]);
        if (descriptor < 0)
            return descriptor;
        thread->samplers++;
        /* Each has its own: an event that writes to another's has no page to read its count from.
         */
        thread->ring[i] = pmu_map(descriptor, pmu_ring_mapping(), 0);
    }
    return 0;
}

/* Where the samplers count as well, theirs. */
static const int *counting(const struct pmu_thread *thread, unsigned i)
{
    return choice()->counters > 0 ? &thread->counter[i].descriptor : &thread->sampler[i];
}

static int open_counters(struct pmu_thread *thread, const struct pmu_event **tried)
{
    const struct pmu_choice *chosen = choice();
    bool own = chosen->counters > 0; /* else the samplers count as well */
    unsigned count = own ? chosen->counters : thread->samplers;

    for (unsigned i = 0; i < count; i++) {
        struct pmu_counter *counter = &thread->counter[i];
        const struct pmu_event *event = own ? &chosen->counter[i] : &chosen->sampler[i];

        *tried = event;
        *counter = (struct pmu_counter){
            .descriptor = -1, .accesses = event->accesses, .core_kind = event->core_kind};
        if (own) {
            struct perf_event_attr attributes = pmu_attributes(event);

            int opened = pmu_open_event(&attributes, -1, &counter->descriptor);

            if (opened < 0)
                return opened;
            counter->page = pmu_map(counter->descriptor, settings.page_size, 0);
        } else {
            counter->page = thread->ring[i];
        }
        thread->counters = i + 1;
    }
    return 0;
}

int pmu_thread_open_events(struct pmu_thread *thread, uint64_t period, uint64_t cookie,
                           bool signals, const struct pmu_event **tried)
{
    int result;

    pmu_thread_forget(thread);
    thread->period = period;
    result = open_samplers(thread, cookie, signals, tried);
    if (result == 0)
        result = open_counters(thread, tried);
    if (result < 0)
        pmu_thread_close(thread);
    return result;
}

int pmu_thread_open(struct pmu_thread *thread, uint64_t period, uint64_t cookie)
{
    const struct pmu_event *tried;
    int result = pmu_thread_open_events(thread, period, cookie, true, &tried);

    if (result == 0 && pmu_engine.has_witness) {
        int refused = pmu_witness_open(&thread->witness, pmu_witness_interval(NULL, period));

        thread->losses.no_witness = refused != 0;
        thread->losses.refusal = -refused;
    }
    return result;
}

void pmu_thread_forget(struct pmu_thread *thread)
{
    memset(thread, 0, sizeof *thread);
    thread->leader = -1;
    pmu_witness_forget(&thread->witness);
}

void pmu_thread_close(struct pmu_thread *thread)
{
    bool own = choice()->counters > 0;

    for (unsigned i = 0; i < thread->counters && own; i++) {
        if (thread->counter[i].page)
            syscall(SYS_munmap, thread->counter[i].page, settings.page_size);
        descriptor_release(&thread->counter[i].descriptor);
    }
    for (unsigned i = 0; i < thread->samplers; i++) {
        if (thread->ring[i])
            syscall(SYS_munmap, thread->ring[i], pmu_ring_mapping());
        descriptor_release(&thread->sampler[i]);
    }
    descriptor_release(&thread->leader);
    pmu_witness_close(&thread->witness);
    pmu_thread_forget(thread);
}

static int for_all(const struct pmu_thread *thread, unsigned long request)
{
    int result = 0;

    if (thread->leader >= 0)
        perf_event_control(&thread->leader, request, NULL);
    for (unsigned i = 0; i < thread->samplers && result == 0; i++)
        result = perf_event_control(&thread->sampler[i], request, NULL);
    for (unsigned i = 0; i < thread->counters && choice()->counters > 0; i++)
        perf_event_control(&thread->counter[i].descriptor, request, NULL);
    if (thread->witness.leader >= 0)
        perf_event_control(&thread->witness.leader, request, NULL);
    if (thread->witness.descriptor >= 0)
        perf_event_control(&thread->witness.descriptor, request, NULL);
    return result;
}

int pmu_thread_enable(struct pmu_thread *thread)
{
    atomic_store_explicit(&thread->enabled, true, memory_order_relaxed);
    return for_all(thread, PERF_EVENT_IOC_ENABLE);
}

void pmu_thread_disable(struct pmu_thread *thread)
{
    atomic_store_explicit(&thread->enabled, false, memory_order_relaxed);
    for_all(thread, PERF_EVENT_IOC_DISABLE);
}

/* Events from one sample to the next that were of our handlers, since the period was set. */
static uint64_t ours_in_period(const struct pmu_thread *thread, uint64_t now)
{
    uint64_t ours = thread->ours - thread->ours_then, target = now - thread->set_at;

    if (ours == 0 || now < thread->set_at)
        return 0;
    return (uint64_t)((double)thread->period * (double)ours / (double)(ours + target));
}

void pmu_thread_set_period(struct pmu_thread *thread, uint64_t period, uint64_t now)
{
    uint64_t multiple = choice()->period_multiple;

    thread->asked = period;
    period += ours_in_period(thread, now);
    thread->set_at = now;
    thread->ours_then = thread->ours;
    period = (period + multiple - 1) / multiple * multiple;
    if (period < choice()->period_least)
        period = choice()->period_least;
    thread->period = thread->stands_for = period;
    for (unsigned i = 0; i < thread->samplers; i++)
        perf_event_control(&thread->sampler[i], PERF_EVENT_IOC_PERIOD, &thread->period);
}

/* ---- reading ---- */

#if defined __x86_64__
/* The count without a system call, as the kernel's header describes it; false if the counter is not
 * on a register at this moment. */
static bool read_register(const struct perf_event_mmap_page *page, uint64_t *count)
{
    uint32_t sequence, index;

    do {
        sequence = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
        index = page->index;
        if (!page->cap_user_rdpmc || index == 0 || page->time_enabled != page->time_running)
            return false;
        uint32_t low, high;
        unsigned shift = 64u - page->pmc_width;
        int64_t value;

        __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index - 1));
        value = (int64_t)(((uint64_t)high << 32 | low) << shift) >> shift;
        *count = (uint64_t)(page->offset + value);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while (__atomic_load_n(&page->lock, __ATOMIC_RELAXED) != sequence);
    return true;
}
#else
static bool read_register(const struct perf_event_mmap_page *page, uint64_t *count)
{
    (void)page;
    (void)count;
    return false;
}
#endif

static uint64_t read_kernel(const struct pmu_thread *thread, unsigned i, bool self)
{
    const struct pmu_counter *counter = &thread->counter[i];
    uint64_t values[3] = {0}; /* count, time enabled, time running */
    uint64_t count;

    if (self && counter->page && read_register(counter->page, &count))
        return count;
    if (descriptor_read(counting(thread, i), values, sizeof values) != sizeof values)
        values[0] = values[1] = values[2] = 0;
    if (values[2] == 0 || values[2] >= values[1])
        return values[0];
    return (uint64_t)((double)values[0] * (double)values[1] / (double)values[2]);
}

static uint64_t read_count(const struct pmu_thread *thread, unsigned i, bool self)
{
    return tape_value(TAPE_COUNT, tape_supplies() ? 0 : read_kernel(thread, i, self));
}

static void read_all(const struct pmu_thread *thread, struct pmu_reading readings[PMU_EVENTS_MAX])
{
    for (unsigned i = 0; i < thread->counters; i++) {
        uint64_t values[3] = {0};

        pmu_read_event(counting(thread, i), values);
        readings[i] = (struct pmu_reading){.count = values[0],
                                           .enabled_ns = values[1],
                                           .running_ns = values[2],
                                           .accesses = thread->counter[i].accesses,
                                           .core_kind = thread->counter[i].core_kind};
    }
}

/* On several kinds of cores how long each event was on a counter matters, which a register does not
 * tell. */
static uint64_t accesses_of_kinds(const struct pmu_thread *thread)
{
    struct pmu_reading readings[PMU_EVENTS_MAX];

    read_all(thread, readings);
    return pmu_counted_accesses(readings, thread->counters, choice()->core_kinds);
}

uint64_t pmu_thread_accesses(const struct pmu_thread *thread, bool self)
{
    uint64_t accesses = 0;

    if (pmu_has_kinds_of_cores())
        accesses = accesses_of_kinds(thread);
    for (unsigned i = 0; i < thread->counters && !pmu_has_kinds_of_cores(); i++)
        accesses += read_count(thread, i, self) * thread->counter[i].accesses;
    return accesses > thread->ours ? accesses - thread->ours : 0;
}

uint64_t pmu_event_count(const struct pmu_thread *thread, unsigned counter)
{
    uint64_t values[3] = {0};

    if (!pmu_has_kinds_of_cores())
        return read_count(thread, counter, true);
    pmu_read_event(counting(thread, counter), values);
    return values[0];
}

uint64_t pmu_thread_weight(struct pmu_thread *thread, uint64_t now)
{
    uint64_t since = now > thread->last ? now - thread->last : 0;

    thread->last = now;
    if (thread->first) {
        since = thread->first;
        thread->first = 0;
        return since;
    }
    return choice()->counts_accesses ? thread->asked : since;
}

void pmu_thread_set_first_period(struct pmu_thread *thread, struct random *random, uint64_t mean)
{
    thread->first = mean;
    pmu_thread_set_period(thread, sample_first_period(random, mean, SAMPLE_FIRST_LEAST), 0);
    thread->stands_for = mean;
}

void pmu_read_event(const int *descriptor, uint64_t values[3])
{
    size_t size = 3 * sizeof *values;

    if (!tape_supplies() && descriptor_read(descriptor, values, size) != (long)size)
        memset(values, 0, size);
    tape_bytes(values, size);
}

/* Keeps the event that was off for the longest time. */
static void add_time_off(const int *descriptor, uint64_t *off_ns, uint64_t *enabled_ns)
{
    uint64_t values[3] = {0}; /* count, time enabled, time running */

    pmu_read_event(descriptor, values);
    if (values[1] > values[2] && values[1] - values[2] > *off_ns) {
        *off_ns = values[1] - values[2];
        *enabled_ns = values[1];
    }
}

static void add_uncounted(const struct pmu_thread *thread, struct pmu_losses *sum)
{
    struct pmu_reading readings[PMU_EVENTS_MAX];
    uint64_t enabled, off;

    read_all(thread, readings);
    off = pmu_uncounted_ns(readings, thread->counters, &enabled);
    if (off > sum->off_ns) {
        sum->off_ns = off;
        sum->enabled_ns = enabled;
    }
}

static void sum_witness(const struct pmu_witness *witness, struct pmu_losses *sum)
{
    const struct aux_faults *faults = &witness->aux.faults;

    sum->never_begun += witness->aux.bytes && !witness->begun && witness->aux.tail == 0;
    add_time_off(&witness->descriptor, &sum->witness_off_ns, &sum->witness_enabled_ns);
    sum->aux.truncated += faults->truncated;
    sum->aux.partial += faults->partial;
    sum->aux.collisions += faults->collisions;
    sum->aux.gaps += faults->gaps;
    sum->aux.bad_bytes += faults->bad_bytes;
    sum->aux.cut += faults->cut;
}

void pmu_thread_sum_losses(const struct pmu_thread *thread, struct pmu_losses *sum)
{
    sum->records += thread->losses.records;
    sum->throttled += thread->losses.throttled;
    sum->damaged += thread->losses.damaged;
    sum->no_ring += thread->samplers > 0 && !thread->ring[0];
    sum->by_clock += thread->losses.by_clock;
    sum->no_witness += thread->losses.no_witness;
    if (thread->losses.refusal)
        sum->refusal = thread->losses.refusal;
    if (pmu_has_kinds_of_cores())
        add_uncounted(thread, sum);
    for (unsigned i = 0; i < thread->counters && !pmu_has_kinds_of_cores(); i++)
        add_time_off(counting(thread, i), &sum->off_ns, &sum->enabled_ns);
    if (thread->witness.descriptor >= 0)
        sum_witness(&thread->witness, sum);
}
