/* SPDX-License-Identifier: BSD-3-Clause */
/* See level_counts.h. */
#include "perf_events/level_counts.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "interposition/descriptors.h"
#include "large_table.h"
#include "memory/memory.h"
#include "output/output.h"
#include "perf_events/perf_event.h"
#include "perf_events/pmu.h"
#include "pmu/level_counters.h"

struct counting {
    struct level_counter counter;
    enum counter_trust trust;
    int descriptor; /* -1: not opened */
};

/* Written at start-up and by a forked child. */
static LARGE_TABLE struct counting events[LEVEL_COUNTERS_MAX];
static unsigned event_count;

struct reading {
    uint64_t count, enabled_ns, running_ns;
};

static int open_event(const struct level_counter *counter, bool inherited)
{
    struct perf_event_attr attributes;

    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = counter->type;
    attributes.config = counter->config;
    attributes.disabled = 1;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    attributes.remove_on_exec = 1;
    attributes.inherit = inherited;
    attributes.inherit_thread = inherited;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return perf_event_open(&attributes, -1);
}

static struct reading read_event(const int *descriptor)
{
    struct reading reading = {0};

    if (descriptor_read(descriptor, &reading, sizeof reading) != sizeof reading)
        memset(&reading, 0, sizeof reading);
    return reading;
}

/* ---- the trial ---- */

enum {
    PLACE = 256, /* bytes: a line of any machine that there is */
    /* A generator of full period modulo LEVEL_COUNTER_TRIAL: no prefetcher knows the next place. */
    FACTOR = 421,
    INCREMENT = 613,
};

static void touch_from_memory(volatile unsigned char *places)
{
    unsigned at = 0;

    for (unsigned i = 0; i < LEVEL_COUNTER_TRIAL; i++) {
        at = (at * FACTOR + INCREMENT) % LEVEL_COUNTER_TRIAL;
        (void)places[(size_t)at * PLACE];
    }
}

enum { PLACES_BYTES = LEVEL_COUNTER_TRIAL * PLACE };

/* Pages of its own; NULL without memory. */
static unsigned char *make_places(void)
{
    unsigned char *places = memory_map(PLACES_BYTES);

    return places ? memset(places, 1, PLACES_BYTES) : NULL;
}

/* Counts the trial with one event, alone, so that nothing shares its counter. *places are made for
 * the first event that opens: most machines open none. */
static enum counter_trust try_event(const struct level_counter *counter, unsigned char **places)
{
    struct reading reading;
    int descriptor = open_event(counter, false);

    if (descriptor < 0)
        return COUNTER_UNTRIED;
    if (!*places && !(*places = make_places())) {
        syscall(SYS_close, descriptor);
        return COUNTER_UNTRIED;
    }
    for (size_t i = 0; i < LEVEL_COUNTER_TRIAL; i++)
        arch_flush_line(*places + i * PLACE);
    arch_flush_done();
    perf_event_control(&descriptor, PERF_EVENT_IOC_ENABLE, NULL);
    touch_from_memory(*places);
    perf_event_control(&descriptor, PERF_EVENT_IOC_DISABLE, NULL);
    reading = read_event(&descriptor);
    syscall(SYS_close, descriptor);
    return level_counter_judge(counter, reading.count, reading.running_ns > 0);
}

/* ---- the run ---- */

static void choose(void)
{
    struct pmu_machine machine = {.read = pmu_read_sysfs, .context = getenv("REUSE_PMU_SYSFS")};
    struct level_counter counters[LEVEL_COUNTERS_MAX];
    unsigned char *places = NULL;

    if (!machine.context || !processor_of_folder(machine.context, &machine.processor))
        processor_here(&machine.processor);
    event_count = level_counters_choose(&machine, pmu_counters_taken(), counters);
    for (unsigned i = 0; i < event_count; i++)
        events[i] = (struct counting){counters[i], try_event(&counters[i], &places), -1};
    if (places)
        memory_unmap(places, PLACES_BYTES);
}

void level_counts_begin(void)
{
    int saved = errno;

    if (event_count == 0)
        choose();
    for (unsigned i = 0; i < event_count; i++) {
        struct counting *event = &events[i];

        descriptor_adopt(open_event(&event->counter, true), &event->descriptor);
        if (event->descriptor >= 0)
            perf_event_control(&event->descriptor, PERF_EVENT_IOC_ENABLE, NULL);
    }
    errno = saved;
}

bool level_counts_are_made(void)
{
    for (unsigned i = 0; i < event_count; i++)
        if (events[i].descriptor >= 0)
            return true;
    return false;
}

void level_counts_write(void)
{
    for (unsigned i = 0; i < event_count; i++) {
        const struct counting *event = &events[i];
        const struct level_counter *counter = &event->counter;
        struct reading reading;
        struct record_counter record;

        if (event->descriptor < 0)
            continue;
        reading = read_event(&event->descriptor);
        record = (struct record_counter){
            .type = counter->type,
            .flags = counter->flags,
            .kind = counter->kind,
            .trust = (uint8_t)event->trust,
            .config = counter->config,
            .levels = counter->levels,
            .count = reading.count,
            .enabled_ns = reading.enabled_ns,
            .running_ns = reading.running_ns,
            .estimate = (uint64_t)level_counter_scaled(counter, reading.count, reading.enabled_ns,
                                                       reading.running_ns),
            .processes = 1,
        };
        output_append(RECORD_COUNTER, &record, sizeof record, counter->name,
                      strlen(counter->name) + 1);
    }
}

void level_counts_pause(bool paused)
{
    for (unsigned i = 0; i < event_count; i++) {
        if (events[i].descriptor >= 0 && paused)
            perf_event_control(&events[i].descriptor, PERF_EVENT_IOC_DISABLE, NULL);
        else if (events[i].descriptor >= 0)
            perf_event_control(&events[i].descriptor, PERF_EVENT_IOC_ENABLE, NULL);
    }
}

void level_counts_forget(void)
{
    for (unsigned i = 0; i < event_count; i++)
        events[i].descriptor = -1;
}
