/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and mapping one event. See pmu_internal.h. Signal-safe. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposition/descriptors.h"
#include "memory/memory.h"
#include "own/own_place.h"
#include "perf_events/perf_event.h"
#include "perf_events/pmu_internal.h"
#include "process/settings.h"
#include "recording/tape.h"

#include "signal_safe.h"

struct perf_event_attr pmu_attributes(const struct pmu_event *event)
{
    struct perf_event_attr attributes;

    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = event->type;
    attributes.config = event->config;
    attributes.config1 = event->config1;
    attributes.config2 = event->config2;
    attributes.disabled = 1;
    attributes.exclude_kernel = !event->with_kernel;
    attributes.exclude_hv = !event->with_kernel;
    attributes.remove_on_exec = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return attributes;
}

int pmu_open_event(const struct perf_event_attr *attributes, int group, int *holder)
{
    return descriptor_adopt(perf_event_open(attributes, group), holder);
}

void *pmu_map(int descriptor, size_t size, size_t offset)
{
    int saved = errno;
    long result = -1;

    if (tape_supplies()) /* room for what the tape has of it */
        return tape_value(TAPE_CALL, 0) ? memory_map(size) : NULL;
    result = syscall(SYS_mmap, own_place(size), size, PROT_READ | PROT_WRITE, MAP_SHARED,
                     descriptor, offset);
    errno = saved;
    return tape_value(TAPE_CALL, result != -1) ? (void *)result : NULL;
}

size_t pmu_ring_bytes(void)
{
    return PMU_RING_BYTES > settings.page_size ? PMU_RING_BYTES : (size_t)settings.page_size;
}

size_t pmu_ring_mapping(void)
{
    return pmu_ring_bytes() + settings.page_size;
}

/*
 * Signals come from sigtrap, one for each overflow. wakeup_events keeps PEBS from gathering records
 * until its buffer is full: their signals would then come together, long after. Where no signal is
 * wanted, a watermark in its place lets it gather them; of an AUX area the kernel tells by halves.
 */
static int open_once(const struct pmu_choice *choice, const struct pmu_event *event,
                     uint64_t period, uint64_t cookie, bool signals, int group, int *holder)
{
    struct perf_event_attr attributes = pmu_attributes(event);

    attributes.precise_ip = event->precise & 3;
    attributes.sample_period = period;
    attributes.sample_type = choice->sample_type;
    if (signals) {
        attributes.wakeup_events = 1;
        attributes.sigtrap = 1;
        attributes.sig_data = cookie;
    } else {
        attributes.watermark = 1;
        attributes.wakeup_watermark = (uint32_t)pmu_ring_bytes() / 2;
    }
    return pmu_open_event(&attributes, group, holder);
}

/* Kernels before 5.12 do not know the newer weights. */
int pmu_open_sampler(struct pmu_choice *choice, const struct pmu_event *event, uint64_t period,
                     uint64_t cookie, bool signals, int group, int *holder)
{
    int descriptor = open_once(choice, event, period, cookie, signals, group, holder);

    if (descriptor == -EINVAL && choice->sample_type & PERF_SAMPLE_WEIGHT_STRUCT) {
        choice->sample_type &= ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT;
        choice->sample_type |= PERF_SAMPLE_WEIGHT;
        descriptor = open_once(choice, event, period, cookie, signals, group, holder);
    }
    return descriptor;
}
