/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. What time threads take: theirs and ours, of those that have ended as well. */
#include <string.h>

#include "bursts/thread.h"
#include "bursts/thread_internal.h"
#include "perf_events/timebase.h"

#include "signal_safe.h"

static _Atomic uint64_t ended_app_ns, ended_overhead_ns;
static _Atomic uint64_t carried_ns; /* by threads that have ended */

/* Of finished threads; under its lock, which is held with signals blocked. */
static struct pmu_losses pmu_losses;
static atomic_flag pmu_losses_lock = ATOMIC_FLAG_INIT;

void thread_times_begin(void)
{
    atomic_store(&carried_ns, 0);
}

uint64_t thread_weight(struct thread *thread)
{
    uint64_t weight = thread->period_ns + thread->carried_ns;

    thread->period_ns = 0;
    thread->carried_ns = 0;
    if (atomic_load_explicit(&carried_ns, memory_order_relaxed))
        weight += atomic_exchange(&carried_ns, 0);
    return weight;
}

void thread_carry(struct thread *thread)
{
    thread->carried_ns += thread->period_ns;
    thread->period_ns = 0;
}

uint64_t thread_cpu_time(const struct thread *thread)
{
    uint64_t cpu = thread == thread_current()
                       ? thread_cpu_ns()
                       : clock_ns(thread_cpu_clock(atomic_load(&thread->tid)));
    uint64_t overhead = atomic_load_explicit(&thread->overhead_ns, memory_order_relaxed);

    overhead += thread->former.cpu_ns;
    return cpu > overhead ? cpu - overhead : 0;
}

uint64_t thread_app_ns(const struct thread *thread)
{
    if (thread->instead.rate > 0)
        return thread_clock_accesses(thread, thread_cpu_time(thread));
    return pmu_in_use() ? pmu_thread_accesses(&thread->pmu, thread == thread_current())
                        : thread_cpu_time(thread);
}

void thread_sum_losses(const struct thread *thread)
{
    while (atomic_flag_test_and_set_explicit(&pmu_losses_lock, memory_order_acquire))
        ;
    pmu_thread_sum_losses(&thread->pmu, &pmu_losses);
    atomic_flag_clear_explicit(&pmu_losses_lock, memory_order_release);
}

/* What the thread would have taken alone. */
static uint64_t own_time(uint64_t cpu, uint64_t besides)
{
    return cpu > besides ? cpu - besides : 0;
}

void thread_times_end(const struct thread *thread, uint64_t cpu_ns)
{
    atomic_fetch_add(&carried_ns, thread->carried_ns);
    atomic_fetch_add(&ended_app_ns, own_time(cpu_ns, thread->totals.besides_ns));
    atomic_fetch_add(&ended_overhead_ns, thread->totals.handler_ns + thread->totals.besides_ns);
}

void thread_times_forget(void)
{
    atomic_store(&ended_app_ns, 0);
    atomic_store(&ended_overhead_ns, 0);
    memset(&pmu_losses, 0, sizeof pmu_losses);
    atomic_flag_clear(&pmu_losses_lock);
}

void thread_pmu_losses(struct pmu_losses *losses)
{
    *losses = pmu_losses;
}

void thread_totals(uint64_t *app_ns, uint64_t *overhead_ns)
{
    *app_ns = atomic_load(&ended_app_ns);
    *overhead_ns = atomic_load(&ended_overhead_ns);
    for (struct thread *thread = thread_first(); thread; thread = thread->next)
        if (atomic_load(&thread->alive)) {
            const uint64_t besides = atomic_load(&thread->besides_ns);

            *app_ns += own_time(thread_cpu_time(thread), besides);
            *overhead_ns += atomic_load(&thread->overhead_ns) + besides;
        }
}
