/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/thread_usage.h"

#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "own/raw_call.h"
#include "perf_events/timebase.h"
#include "recording/tape.h"

#include "signal_safe.h"

enum {
    PAGE = 4096,
    TELLING = 8, /* faults that say what one costs, at least */
};

static _Atomic uint64_t fault_ns; /* as the last memory that was touched had it */

struct thread_usage thread_usage_now(void)
{
    struct rusage usage = {0};

    if (!tape_supplies())
        raw_call(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0, 0, 0);
    return (struct thread_usage){
        .switches = tape_value(TAPE_COUNT, (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw),
        .faults = tape_value(TAPE_COUNT, (uint64_t)usage.ru_minflt),
    };
}

void thread_usage_touch(void *memory, size_t bytes)
{
    volatile unsigned char *at = memory;
    uint64_t before = thread_cpu_ns(), faults = thread_usage_now().faults;

    for (size_t i = 0; i < bytes; i += PAGE)
        at[i] = 0;
    faults = thread_usage_now().faults - faults;
    if (faults >= TELLING)
        atomic_store(&fault_ns, (thread_cpu_ns() - before) / faults);
}

uint64_t thread_usage_fault_ns(void)
{
    return atomic_load(&fault_ns);
}
