/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared caches: the clock on which the accesses of all threads of a group count, and the times of
 * each burst and watch on it (docs/estimators.md, "Shared caches").
 *
 * A thread's accesses between two of its bursts are spread evenly over that time; a group's clock
 * is the sum. What lies between two uses of a thread is known best on its own clock: the group's
 * accesses are those times what the group made per access of the thread, over the time in between
 * and no less than some bursts.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/internal.h"
#include "analysis/rates/summed_clocks.h"
#include "reuse/sort_keys.h"
#include "support/memory.h"

enum {
    /* How many of a thread's sampling intervals, on either side, tell what the others do
     * meanwhile: with fewer it is chance, with more turns of threads are not told apart. */
    SMOOTHED_INTERVALS = 4,
    /* Where threads wait for processors, who runs with whom is the scheduler's doing: only what
     * they make in many of its slices tells what they would do together. */
    SCHEDULED_NS = 250 * 1000 * 1000,
};
/* Part of the processors that are busy when threads are taken to wait for them. */
#define SATURATED 0.9

struct group_clocks {
    uint32_t *by_thread;   /* bursts in order of thread and time */
    size_t *first;         /* of each thread in by_thread; and one more */
    uint64_t *interval_ns; /* of each thread: median between bursts */
    /* Accesses by thread and by domain, CPU time (ns) by profile, over monotonic time; the last
     * NULL where no profile is contended. */
    struct access_clock *threads, *groups, *processors;
    double *contended; /* by profile: see contended_processors() */
};

static int compare_times(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* The usual time between a thread's bursts; what a single one stands for. */
static uint64_t interval_of(const struct analysis *analysis, const uint32_t *bursts, size_t n,
                            uint64_t *times)
{
    if (n <= 1)
        return n ? analysis->bursts[bursts[0]].record->weight_ns : 0;
    for (size_t i = 1; i < n; i++) {
        uint64_t before = analysis->bursts[bursts[i - 1]].record->monotonic_ns;
        uint64_t at = analysis->bursts[bursts[i]].record->monotonic_ns;

        times[i - 1] = at > before ? at - before : 0;
    }
    qsort(times, n - 1, sizeof *times, compare_times);
    return times[(n - 1) / 2];
}

static void order_bursts(struct analysis *analysis, struct group_clocks *clocks)
{
    size_t threads = analysis->thread_count;
    struct sort_key *keys = allocate(2 * analysis->burst_count, sizeof *keys);
    uint64_t *times = allocate(analysis->burst_count, sizeof *times);
    const struct sort_key *sorted;

    clocks->by_thread = allocate(analysis->burst_count, sizeof *clocks->by_thread);
    clocks->first = allocate_zeroed(threads + 2, sizeof *clocks->first);
    clocks->interval_ns = allocate_zeroed(threads, sizeof *clocks->interval_ns);
    for (size_t i = 0; i < analysis->burst_count; i++)
        keys[i] = (struct sort_key){analysis->bursts[i].record->app_ns, (uint32_t)i};
    sorted = sort_keys(keys, keys + analysis->burst_count, analysis->burst_count);
    /* One place ahead: filling in moves each to where the next thread begins. */
    for (size_t t = 0; t < threads; t++)
        clocks->first[t + 2] = clocks->first[t + 1] + analysis->threads[t].bursts;
    for (size_t i = 0; i < analysis->burst_count; i++)
        clocks->by_thread[clocks->first[analysis->bursts[sorted[i].index].thread + 1]++] =
            sorted[i].index;
    for (size_t t = 0; t < threads; t++)
        clocks->interval_ns[t] = interval_of(analysis, clocks->by_thread + clocks->first[t],
                                             analysis->threads[t].bursts, times);
    free(keys);
    free(times);
}

enum summed { BY_THREAD, BY_GROUP, CPU_TIME };

static uint32_t clock_of(const struct analysed_burst *burst, enum summed what)
{
    return what == BY_THREAD ? burst->thread : what == BY_GROUP ? burst->domain : burst->profile;
}

/*
 * What is added from a thread's burst to the next one, NULL: after the last. CPU time and accesses
 * that are counted are read off the thread's clock; else half of a burst's accesses lie before it,
 * half after.
 */
static double amount_after(const struct analysis *analysis, const struct analysed_burst *burst,
                           const struct analysed_burst *next, uint64_t half_ns, enum summed what)
{
    bool read_off = what == CPU_TIME || profile_counts_accesses(analysis->profiles[burst->profile]);

    if (read_off && next)
        return (double)(next->record->app_ns - burst->record->app_ns);
    if (what == CPU_TIME)
        return (double)half_ns;
    return burst->accesses / 2 + (next ? next->accesses / 2 : 0);
}

static struct access_clock *sum_of(const struct analysis *analysis,
                                   const struct group_clocks *clocks, enum summed what,
                                   size_t count)
{
    struct stretch *stretches =
        allocate(analysis->burst_count + analysis->thread_count, sizeof *stretches);
    struct access_clock *out;
    size_t n = 0;

    for (size_t t = 0; t < analysis->thread_count; t++) {
        uint64_t half = clocks->interval_ns[t] / 2;

        for (size_t i = clocks->first[t]; i < clocks->first[t + 1]; i++) {
            const struct analysed_burst *burst = &analysis->bursts[clocks->by_thread[i]];
            const struct analysed_burst *next =
                i + 1 < clocks->first[t + 1] ? &analysis->bursts[clocks->by_thread[i + 1]] : NULL;
            uint64_t at = burst->record->monotonic_ns;

            if (i == clocks->first[t])
                stretches[n++] =
                    (struct stretch){clock_of(burst, what), at > half ? at - half : 0, at,
                                     amount_after(analysis, burst, NULL, half, what)};
            stretches[n++] = (struct stretch){clock_of(burst, what), at,
                                              next ? next->record->monotonic_ns : at + half,
                                              amount_after(analysis, burst, next, half, what)};
        }
    }
    out = summed_clocks_create(stretches, n, count);
    free(stretches);
    return out;
}

/* ---- bursts and watches ---- */

/* Processors of a run whose threads may wait for one; 0: they cannot, or nothing tells. */
static double contended_processors(const struct profile *profile)
{
    double cpus = (double)profile_run_number(profile, "cpus", 0);

    /* Application time that counts accesses tells nothing of processors. */
    return profile_counts_accesses(profile) || (double)profile->threads.count <= cpus ? 0 : cpus;
}

/* All processors of the run are busy around that time. */
static bool is_saturated(const struct group_clocks *clocks, const struct analysed_burst *burst)
{
    double cpus = clocks->contended[burst->profile];
    uint64_t at = burst->record->monotonic_ns, half = SCHEDULED_NS / 2;

    if (cpus <= 0)
        return false;
    return access_clock_between(&clocks->processors[burst->profile], at > half ? at - half : 0,
                                at + half) >= SATURATED * cpus * SCHEDULED_NS;
}

/* Accesses of the group per access of the thread from one time to another and around it. */
static double dilation(const struct group_clocks *clocks, const struct analysed_burst *burst,
                       uint64_t to_ns, bool saturated)
{
    uint64_t from_ns = burst->record->monotonic_ns;
    uint64_t around = SMOOTHED_INTERVALS * clocks->interval_ns[burst->thread];
    double own, all;

    if (saturated && around < SCHEDULED_NS / 2)
        around = SCHEDULED_NS / 2;
    if (to_ns < from_ns)
        to_ns = from_ns;
    from_ns = from_ns > around ? from_ns - around : 0;
    to_ns += around;
    own = access_clock_between(&clocks->threads[burst->thread], from_ns, to_ns);
    all = access_clock_between(&clocks->groups[burst->domain], from_ns, to_ns);
    return own > 0 ? fmax(1, all / own) : 1;
}

/* When the watch was last known to run; its own clock has told how many accesses that is. */
static uint64_t last_seen_ns(const struct analysis *analysis, const struct group_clocks *clocks,
                             const struct analysed_watch *watch)
{
    size_t last = clocks->first[analysis->bursts[watch->burst].thread + 1] - 1;

    return watch->end ? watch->end->monotonic_ns
                      : analysis->bursts[clocks->by_thread[last]].record->monotonic_ns;
}

static void dilate(const struct group_clocks *clocks, struct analysed_burst *burst)
{
    burst->dilation =
        dilation(clocks, burst, burst->record->monotonic_ns, is_saturated(clocks, burst));
}

static void dilate_watch(struct analysis *analysis, const struct group_clocks *clocks,
                         struct analysed_watch *watch)
{
    const struct analysed_burst *burst = &analysis->bursts[watch->burst];
    uint32_t group = analysis_group_of(analysis, burst->record->cpu);
    double factor =
        dilation(clocks, burst, last_seen_ns(analysis, clocks, watch), is_saturated(clocks, burst));

    double all = (watch->ahead + watch->open.exit) * factor;

    watch->ahead *= burst->dilation;
    watch->open.exit = fmax(all - watch->ahead, 1);
    watch->covered *= factor;
    watch->elsewhere = watch->end && watch->end->reason == WATCH_REUSED &&
                       analysis_group_of(analysis, watch->end->cpu) != group;
    /* A store of the group's own threads leaves the line where it is. */
    if (watch->invalidation && analysis_group_of(analysis, watch->invalidation->cpu) == group) {
        watch->left = watch->invalidation;
        watch->invalidation = NULL;
    }
    analysis_observe(analysis, watch);
}

void analysis_merge_clocks(struct analysis *analysis)
{
    struct group_clocks clocks = {
        .contended = allocate_zeroed(analysis->profile_count, sizeof *clocks.contended)};
    bool contended = false;

    analysis_divide_into_groups(analysis);
    order_bursts(analysis, &clocks);
    for (size_t p = 0; p < analysis->profile_count; p++) {
        clocks.contended[p] = contended_processors(analysis->profiles[p]);
        contended |= clocks.contended[p] > 0;
    }
    clocks.threads = sum_of(analysis, &clocks, BY_THREAD, analysis->thread_count);
    clocks.groups = sum_of(analysis, &clocks, BY_GROUP, analysis->domain_count);
    if (contended)
        clocks.processors = sum_of(analysis, &clocks, CPU_TIME, analysis->profile_count);
    for (size_t i = 0; i < analysis->burst_count; i++)
        dilate(&clocks, &analysis->bursts[i]);
    for (size_t i = 0; i < analysis->watch_count; i++)
        dilate_watch(analysis, &clocks, &analysis->watches[i]);
    for (size_t i = 0; i < analysis->count; i++)
        if (analysis->samples[i].burst != NO_BURST)
            analysis->samples[i].dilation = analysis->bursts[analysis->samples[i].burst].dilation;
    analysis_find_crossings(analysis, clocks.groups);
    summed_clocks_free(clocks.threads);
    summed_clocks_free(clocks.groups);
    summed_clocks_free(clocks.processors);
    free(clocks.by_thread);
    free(clocks.first);
    free(clocks.interval_ns);
    free(clocks.contended);
}
