/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of a thread. See pmu.h. Signal-safe. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptors.h"
#include "memory.h"
#include "perf_event.h"
#include "pmu/ibs.h"
#include "pmu/perf_plan.h"
#include "pmu/ring.h"
#include "pmu_internal.h"
#include "settings.h"
#include "tape.h"

#include "signal_safe.h"

/* Written once at start-up. */
struct pmu_engine pmu_engine;

bool pmu_in_use(void)
{
    return pmu_engine.in_use;
}

const char *pmu_description(void)
{
    return pmu_engine.description;
}

static const struct pmu_choice *choice(void)
{
    return &pmu_engine.choice;
}

static struct perf_event_attr attributes_of(const struct pmu_event *event)
{
    struct perf_event_attr attributes;

    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = event->type;
    attributes.config = event->config;
    attributes.config1 = event->config1;
    attributes.config2 = event->config2;
    attributes.disabled = 1;
    attributes.exclude_kernel = choice()->can_exclude_kernel;
    attributes.exclude_hv = choice()->can_exclude_kernel;
    attributes.remove_on_exec = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return attributes;
}

static int open_event(const struct perf_event_attr *attributes, int group)
{
    return descriptor_adopt(perf_event_open(attributes, group));
}

/* NULL instead of MAP_FAILED: locked memory is limited, and we can do without. */
static void *map_event(int descriptor, size_t size)
{
    int saved = errno;
    long result = -1;

    if (tape_supplies()) /* room for what the tape has of it */
        return tape_value(TAPE_CALL, 0) ? memory_map(size) : NULL;
    result = syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    errno = saved;
    return tape_value(TAPE_CALL, result != -1) ? (void *)result : NULL;
}

static size_t ring_bytes(void)
{
    return PMU_RING_PAGES * (size_t)settings.page_size;
}

/*
 * Signals come from sigtrap, one for each overflow. wakeup_events keeps PEBS from gathering records
 * until its buffer is full: their signals would then come together, long after.
 */
static int open_sampler(const struct pmu_event *event, uint64_t period, uint64_t cookie,
                        bool signals, int group)
{
    struct perf_event_attr attributes = attributes_of(event);

    attributes.precise_ip = event->precise & 3;
    attributes.sample_period = period;
    attributes.sample_type = choice()->sample_type;
    attributes.wakeup_events = 1;
    attributes.sigtrap = signals;
    attributes.sig_data = cookie;
    return open_event(&attributes, group);
}

/* Kernels before 5.12 do not know the newer weights. */
static int open_sampler_any_kernel(const struct pmu_event *event, uint64_t period, uint64_t cookie,
                                   bool signals, int group)
{
    int descriptor = open_sampler(event, period, cookie, signals, group);

    if (descriptor == -EINVAL && choice()->sample_type & PERF_SAMPLE_WEIGHT_STRUCT) {
        pmu_engine.choice.sample_type &= ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT;
        pmu_engine.choice.sample_type |= PERF_SAMPLE_WEIGHT;
        descriptor = open_sampler(event, period, cookie, signals, group);
    }
    return descriptor;
}

static int open_samplers(struct pmu_thread *thread, uint64_t cookie, bool signals,
                         const struct pmu_event **tried)
{
    for (unsigned i = 0; i < choice()->samplers; i++) {
        const struct pmu_event *event = &choice()->sampler[i];
        int descriptor;

        *tried = event;
        if (event->needs_leader && thread->leader < 0) {
            struct perf_event_attr attributes = attributes_of(&choice()->leader);

            thread->leader = open_event(&attributes, -1);
            if (thread->leader < 0)
                return thread->leader;
        }
        descriptor = open_sampler_any_kernel(event, thread->period, cookie, signals,
                                             event->needs_leader ? thread->leader : -1);
        if (descriptor < 0)
            return descriptor;
        thread->sampler[thread->samplers++] = descriptor;
        /* Each has its own: an event that writes to another's has no page to read its count from.
         */
        thread->ring[i] = map_event(descriptor, ring_bytes() + settings.page_size);
    }
    return 0;
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
        *counter = (struct pmu_counter){.descriptor = own ? -1 : thread->sampler[i],
                                        .accesses = event->accesses};
        if (own) {
            struct perf_event_attr attributes = attributes_of(event);

            counter->descriptor = open_event(&attributes, -1);
            if (counter->descriptor < 0)
                return counter->descriptor;
            counter->page = map_event(counter->descriptor, settings.page_size);
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

    return pmu_thread_open_events(thread, period, cookie, true, &tried);
}

void pmu_thread_forget(struct pmu_thread *thread)
{
    memset(thread, 0, sizeof *thread);
    thread->leader = -1;
}

void pmu_thread_close(struct pmu_thread *thread)
{
    bool own = choice()->counters > 0;

    for (unsigned i = 0; i < thread->counters && own; i++) {
        if (thread->counter[i].page)
            syscall(SYS_munmap, thread->counter[i].page, settings.page_size);
        descriptor_release(thread->counter[i].descriptor);
    }
    for (unsigned i = 0; i < thread->samplers; i++) {
        if (thread->ring[i])
            syscall(SYS_munmap, thread->ring[i], ring_bytes() + settings.page_size);
        descriptor_release(thread->sampler[i]);
    }
    if (thread->leader >= 0)
        descriptor_release(thread->leader);
    pmu_thread_forget(thread);
}

static int for_all(const struct pmu_thread *thread, unsigned long request)
{
    int result = 0;

    if (thread->leader >= 0)
        perf_event_control(thread->leader, request, NULL);
    for (unsigned i = 0; i < thread->samplers && result == 0; i++)
        result = perf_event_control(thread->sampler[i], request, NULL);
    for (unsigned i = 0; i < thread->counters && choice()->counters > 0; i++)
        perf_event_control(thread->counter[i].descriptor, request, NULL);
    return result;
}

int pmu_thread_enable(struct pmu_thread *thread)
{
    return for_all(thread, PERF_EVENT_IOC_ENABLE);
}

void pmu_thread_disable(struct pmu_thread *thread)
{
    for_all(thread, PERF_EVENT_IOC_DISABLE);
}

void pmu_thread_set_period(struct pmu_thread *thread, uint64_t period)
{
    uint64_t multiple = choice()->period_multiple;

    period = (period + multiple - 1) / multiple * multiple;
    if (period < choice()->period_least)
        period = choice()->period_least;
    thread->period = period;
    for (unsigned i = 0; i < thread->samplers; i++)
        perf_event_control(thread->sampler[i], PERF_EVENT_IOC_PERIOD, &thread->period);
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

static uint64_t read_kernel(const struct pmu_counter *counter, bool self)
{
    uint64_t values[3] = {0}; /* count, time enabled, time running */
    uint64_t count;
    int saved = errno;

    if (self && counter->page && read_register(counter->page, &count))
        return count;
    if (syscall(SYS_read, counter->descriptor, values, sizeof values) != sizeof values)
        values[0] = values[1] = values[2] = 0;
    errno = saved;
    if (values[2] == 0 || values[2] >= values[1])
        return values[0];
    return (uint64_t)((double)values[0] * (double)values[1] / (double)values[2]);
}

static uint64_t read_count(const struct pmu_counter *counter, bool self)
{
    return tape_value(TAPE_COUNT, tape_supplies() ? 0 : read_kernel(counter, self));
}

uint64_t pmu_thread_accesses(const struct pmu_thread *thread, bool self)
{
    uint64_t accesses = 0;

    for (unsigned i = 0; i < thread->counters; i++)
        accesses += read_count(&thread->counter[i], self) * thread->counter[i].accesses;
    return accesses > thread->ours ? accesses - thread->ours : 0;
}

uint64_t pmu_event_count(const struct pmu_thread *thread, unsigned counter)
{
    return read_count(&thread->counter[counter], true);
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
    return choice()->counts_accesses ? thread->period : since;
}

void pmu_thread_set_first_period(struct pmu_thread *thread, struct random *random, uint64_t mean)
{
    enum { LEAST = 1000 };

    thread->first = mean;
    pmu_thread_set_period(
        thread, LEAST + (uint64_t)((double)(random_next(random) >> 11) * 0x1p-53 * (double)mean));
}

/* ---- draining ---- */

/* One IBS sample as an access. False when it is none that can be used. */
static bool ibs_access(const struct perf_layout *layout, const uint8_t *record, size_t size,
                       struct access_record *access)
{
    const struct ibs_processor processor = {pmu_engine.processor.family,
                                            pmu_engine.processor.model};
    struct ibs_registers registers;
    struct perf_sample sample;

    return perf_sample_decode(layout, record, size, &sample) &&
           ibs_decode(sample.raw, sample.raw_size, &registers) &&
           ibs_to_record(&registers, &processor, access);
}

/* What the unit has written since the last time. */
static void open_ring(struct perf_event_mmap_page *page, struct ring *ring)
{
    uint8_t *data = (uint8_t *)page + settings.page_size;
    uint64_t size = ring_bytes();

    ring->data = data;
    ring->size = size;
    ring->head = tape_value(TAPE_COUNT, __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE));
    ring->tail = page->data_tail;
    ring->damaged = 0;
    if (tape_inside && ring->head - ring->tail <= size) {
        uint64_t from = ring->tail % size, fresh = ring->head - ring->tail;
        uint64_t straight = fresh < size - from ? fresh : size - from;

        tape_bytes(data + from, straight);
        tape_bytes(data, fresh - straight);
    }
}

static void drain_ring(struct pmu_thread *thread, struct perf_event_mmap_page *page,
                       void (*record)(void *, const struct access_record *), void *context)
{
    struct perf_layout layout = {.sample_type = choice()->sample_type};
    struct perf_record_header header;
    struct perf_plan plan;
    bool planned = perf_plan_make(&layout, UNIT_PEBS, 0, &plan);
    struct ring ring;
    const uint8_t *bytes;

    open_ring(page, &ring);
    while (ring_next(&ring, &header, &bytes)) {
        struct perf_stream_record stream;
        struct access_record access;

        if (header.type == PERF_RECORD_SAMPLE) {
            if (planned ? !perf_plan_record(&plan, bytes, &header, &access)
                        : !ibs_access(&layout, bytes, header.size, &access))
                thread->losses.damaged++;
            else if (record)
                record(context, &access);
        } else if (perf_stream_decode(bytes, header.size, &stream)) {
            thread->losses.records += stream.event == STREAM_LOST ? stream.count : 0;
            thread->losses.throttled += stream.event == STREAM_THROTTLED;
        }
    }
    thread->losses.damaged += ring.damaged;
    __atomic_store_n(&page->data_tail, ring.tail, __ATOMIC_RELEASE);
}

void pmu_thread_drain(struct pmu_thread *thread,
                      void (*record)(void *, const struct access_record *), void *context)
{
    for (unsigned i = 0; i < thread->samplers; i++)
        if (thread->ring[i])
            drain_ring(thread, thread->ring[i], record, context);
}

void pmu_thread_sum_losses(const struct pmu_thread *thread, struct pmu_losses *sum)
{
    int saved = errno;

    sum->records += thread->losses.records;
    sum->throttled += thread->losses.throttled;
    sum->damaged += thread->losses.damaged;
    sum->no_ring += thread->samplers > 0 && !thread->ring[0];
    for (unsigned i = 0; i < thread->counters; i++) {
        uint64_t values[3] = {0}; /* count, time enabled, time running */

        if (!tape_supplies() && syscall(SYS_read, thread->counter[i].descriptor, values,
                                        sizeof values) != sizeof values)
            memset(values, 0, sizeof values);
        tape_bytes(values, sizeof values);
        if (values[1] - values[2] > sum->off_ns && values[1] > values[2]) {
            sum->off_ns = values[1] - values[2];
            sum->enabled_ns = values[1];
        }
    }
    errno = saved;
}

void pmu_thread_move_descriptor(struct pmu_thread *thread, int from, int to)
{
    for (unsigned i = 0; i < thread->samplers; i++)
        if (thread->sampler[i] == from)
            thread->sampler[i] = to;
    for (unsigned i = 0; i < thread->counters; i++)
        if (thread->counter[i].descriptor == from)
            thread->counter[i].descriptor = to;
    if (thread->leader == from)
        thread->leader = to;
}
