/* SPDX-License-Identifier: BSD-3-Clause */
/* What bursts stand for, how long watches on their open lines ran, and the single accesses. */
#include <math.h>
#include <stdlib.h>

#include "analysis/internal.h"
#include "analysis/rates/access_clock.h"
#include "analysis/rates/refill.h"
#include "reuse/sort_keys.h"
#include "support/memory.h"

static bool wanted_thread(const struct analysis *analysis, uint32_t thread_id)
{
    return !analysis->options.thread_id || thread_id == analysis->options.thread_id;
}

/* ---- bursts ---- */

/*
 * Where accesses were counted it is known what all bursts of a profile stand for together: they
 * are brought to that sum. By threads it would be wrong for those too short to be sampled each.
 */
static void match_counts(struct analysis *analysis, uint32_t p)
{
    const struct profile *profile = analysis->profiles[p];
    double known = 0, estimated = 0, factor;

    if (!profile_counts_accesses(profile))
        return;
    for (size_t i = 0; i < profile->totals.count; i++)
        if (wanted_thread(analysis, profile->totals.items[i].thread_id))
            known += (double)profile->totals.items[i].app_ns;
    for (size_t i = 0; i < analysis->burst_count; i++)
        if (analysis->bursts[i].profile == p)
            estimated += analysis->bursts[i].accesses;
    factor = known > 0 && estimated > 0 ? known / estimated : 1;
    for (size_t i = 0; i < analysis->burst_count; i++)
        if (analysis->bursts[i].profile == p)
            analysis->bursts[i].accesses *= factor;
    for (size_t t = 0; t < analysis->thread_count; t++) {
        struct analysed_thread *thread = &analysis->threads[t];
        const struct record_totals *totals = profile_thread_totals(profile, thread->thread_id);

        if (thread->profile == p && totals && totals->app_ns > 0)
            thread->accesses = (double)totals->app_ns;
    }
}

/* Bursts that are evaluated, and tell the analysed line size, stand for those of their thread that
 * are not, or do not; threads without any are stood for by the others of the profile. */
static void weigh_probes(struct analysis *analysis)
{
    double *all =
        allocate_zeroed(2 * analysis->thread_count + 2 * analysis->profile_count + 1, sizeof *all);
    double *told = all + analysis->thread_count, *of_profile = told + analysis->thread_count;
    double *in_threads_told = of_profile + analysis->profile_count;

    for (size_t i = 0; i < analysis->burst_count; i++) {
        const struct analysed_burst *burst = &analysis->bursts[i];

        all[burst->thread] += burst->accesses;
        told[burst->thread] += burst->touches ? burst->accesses : 0;
    }
    for (size_t t = 0; t < analysis->thread_count; t++) {
        of_profile[analysis->threads[t].profile] += all[t];
        in_threads_told[analysis->threads[t].profile] += told[t] > 0 ? all[t] : 0;
    }
    for (size_t i = 0; i < analysis->burst_count; i++) {
        struct analysed_burst *burst = &analysis->bursts[i];
        uint32_t t = burst->thread, p = burst->profile;

        burst->weight = burst->touches && told[t] > 0
                            ? burst->accesses / burst->record->probes * (all[t] / told[t]) *
                                  (of_profile[p] / in_threads_told[p])
                            : 0;
    }
    free(all);
}

static void weigh_bursts(struct analysis *analysis)
{
    for (size_t i = 0; i < analysis->burst_count; i++) {
        struct analysed_burst *burst = &analysis->bursts[i];
        struct analysed_thread *thread = &analysis->threads[burst->thread];

        burst->accesses =
            burst->time_ns * analysis->rates.loops[burst->loop].per_ns.value * thread->scale;
        thread->accesses += burst->accesses;
    }
    for (uint32_t p = 0; p < analysis->profile_count; p++)
        match_counts(analysis, p);
    weigh_probes(analysis);
    analysis_weigh_small_blocks(analysis);
}

/* ---- single accesses and watches ---- */

static void add_watch(struct analysis *analysis, const struct profile *profile, uint32_t burst,
                      const struct record_sample *record)
{
    const struct record_watch_end *end = profile_watch_end(profile, record->sample_id);
    const struct record_invalidation *found =
        record->invalidation_address ? profile_invalidation(profile, record->sample_id) : NULL;
    bool left = found && found->flags & INVALIDATION_NOT_SEEN;

    analysis->watches[analysis->watch_count++] =
        (struct analysed_watch){.record = record,
                                .end = end,
                                .invalidation = left ? NULL : found,
                                .left = left ? found : NULL,
                                .burst = burst};
    analysis->bursts[burst].drawn++;
    analysis->invalidations_seen |= found && !left;
    if (record->watch_mode == WATCH_ACCESSED && end && end->reason == WATCH_REUSED &&
        end->flags & WATCH_END_VISIT_KNOWN)
        analysis->accessed_visits_known = true;
}

static uint32_t find_thread(const struct analysis *analysis, uint32_t profile, uint32_t thread_id)
{
    for (uint32_t t = 0; t < analysis->thread_count; t++)
        if (analysis->threads[t].profile == profile && analysis->threads[t].thread_id == thread_id)
            return t;
    return UINT32_MAX;
}

static void add_sample(struct analysis *analysis, uint32_t p, uint32_t index,
                       const struct record_sample *record)
{
    const struct analysed_burst *burst = index != NO_BURST ? &analysis->bursts[index] : NULL;
    struct analysed_sample sample = {
        .record = record,
        .profile = p,
        .burst = index,
        .loop = (uint32_t)loop_rates_find(&analysis->rates, p, record->loop),
        .thread = burst ? burst->thread : find_thread(analysis, p, record->thread_id),
        .dilation = 1};

    if (sample.thread == UINT32_MAX)
        return;
    if (burst)
        sample.weight = burst->accesses * burst->record->touches / burst->record->probes *
                        record->weight_factor;
    analysis->samples[analysis->count++] = sample;
}

static void list_samples(struct analysis *analysis)
{
    size_t capacity = 1;

    for (size_t p = 0; p < analysis->profile_count; p++)
        capacity += analysis->profiles[p]->samples.count;
    analysis->samples = allocate_zeroed(capacity, sizeof *analysis->samples);
    analysis->watches = allocate_zeroed(capacity, sizeof *analysis->watches);
    for (uint32_t p = 0; p < analysis->profile_count; p++) {
        const struct profile *profile = analysis->profiles[p];

        for (size_t i = 0; i < profile->samples.count; i++) {
            const struct record_sample *record = &profile->samples.items[i];
            uint32_t burst = analysis_find_burst(analysis, p, record->burst_id);

            if (!wanted_thread(analysis, record->thread_id) ||
                (burst == NO_BURST && record->burst_id != 0))
                continue;
            if (!(record->flags & SAMPLE_OPEN))
                add_sample(analysis, p, burst, record);
            else if (burst != NO_BURST && !analysis->bursts[burst].left_out &&
                     record->watch_mode != WATCH_NONE)
                add_watch(analysis, profile, burst, record);
        }
    }
}

static bool ended_in_order(const struct profile *profile, uint32_t thread_id)
{
    const struct record_thread *thread = profile_thread(profile, thread_id);
    const struct record_origin *origin =
        thread && thread->origin_id ? profile_origin(profile, thread->origin_id) : NULL;

    return origin ? origin->flags & ORIGIN_COMPLETE : profile->complete;
}

/*
 * Accesses of the thread while the watch ran. One that is shorter than the time to the next burst
 * and ended inside the burst's own loop ran at that loop's rate; any other is read off the clock.
 * Below 0: nothing is known of it.
 */
static double accesses_of_watch(const struct analysis *analysis, const struct analysed_watch *watch,
                                const struct access_clock *clock)
{
    const struct record_sample *record = watch->record;
    const struct analysed_burst *burst = &analysis->bursts[watch->burst];
    const struct loop_rate *loop = &analysis->rates.loops[burst->loop];

    if (record->watch_mode == WATCH_PURSUED)
        return analysis_pursued_accesses(analysis, watch);
    if (!watch->end) {
        /* Cut short by a kill: still armed at the thread's last sign of life. In a profile that
         * ended in order the end was lost, and nothing is known of the watch. */
        if (ended_in_order(analysis->profiles[burst->profile], record->thread_id) ||
            clock->count == 0)
            return -1;
        return access_clock_between(clock, record->app_ns, clock->ticks[clock->count - 1].app_ns);
    }
    if (watch->elapsed_ns <= 0)
        return 0;
    uint64_t elapsed = (uint64_t)watch->elapsed_ns;
    double net = refill_set_off(analysis->rates.refills[burst->profile], watch->elapsed_ns);
    net = analysis_without_loss(burst->lost_ns, net);
    if (watch->end->reason == WATCH_REUSED && elapsed < access_clock_gap(clock, record->app_ns) &&
        loop_rates_contains(loop, watch->end->ip))
        return net * loop->per_ns.value;
    return net / watch->elapsed_ns *
           access_clock_between(clock, record->app_ns, record->app_ns + elapsed);
}

/* Accesses from the watch's beginning to a time within it, on the same scale: what came first must
 * stay first. */
static double part_until(const struct analysed_watch *watch, uint64_t app_ns)
{
    uint64_t begin = watch->record->app_ns;

    if (app_ns <= begin)
        return fmin(1, watch->ran);
    if (!watch->end || app_ns >= watch->end->app_ns)
        return watch->ran;
    return watch->ran * (double)(app_ns - begin) / (double)(watch->end->app_ns - begin);
}

/* Of its burst's opens at the analysed line size and at the run's: another number of lines in
 * between. */
static double lines_scale(const struct analysed_burst *burst)
{
    return burst->record->open ? (double)burst->open / burst->record->open : 1;
}

/* Sets times and weight; false: the watch tells nothing at this line size. */
static bool judge_watch(struct analysis *analysis, struct analysed_watch *watch,
                        const struct access_clock *clock)
{
    const struct record_sample *record = watch->record;
    const struct analysed_burst *burst = &analysis->bursts[watch->burst];
    const struct record_invalidation *last =
        watch->invalidation ? watch->invalidation : watch->left;

    if (burst->touches == 0 ||
        record->reuse_time[line_size_index(analysis->line_size)] != REUSE_TIME_NONE)
        return false;
    watch->ran = accesses_of_watch(analysis, watch, clock);
    if (watch->ran < 0)
        return false;
    watch->ahead = record->accesses_ahead;
    watch->open.exit = record->marker_accesses + watch->ran - watch->ahead;
    /* It was foreseen that the line is not used before the burst ends: what seems to end earlier
     * ends as soon as it can. */
    bool early = watch->open.exit < 1;
    watch->open.exit = fmax(1, watch->open.exit);
    watch->distance = (record->lines_ahead ? record->lines_ahead - 1 : 0) * lines_scale(burst);
    watch->weight = burst->weight * burst->record->open / burst->drawn;
    if (record->invalidation_address &&
        record->invalidation_address / analysis->line_size == record->address / analysis->line_size)
        watch->covered = fmax(1, last ? part_until(watch, last->app_ns) : watch->ran);
    /* One that was taken away until then tells nothing; but the run ends with a burst. */
    return analysis_observe(analysis, watch) && !(early && watch->open.end == OPEN_CENSORED);
}

/* Bursts by thread: offsets by counting. */
static void list_by_thread(const struct analysis *analysis, size_t **first, uint32_t **order)
{
    size_t *at = allocate_zeroed(analysis->thread_count + 2, sizeof *at);
    uint32_t *list = allocate(analysis->burst_count + 1, sizeof *list);

    *first = at;
    *order = list;
    for (size_t i = 0; i < analysis->burst_count; i++)
        at[analysis->bursts[i].thread + 2]++;
    for (size_t t = 0; t < analysis->thread_count; t++)
        at[t + 2] += at[t + 1];
    for (size_t i = 0; i < analysis->burst_count; i++)
        list[at[analysis->bursts[i].thread + 1]++] = (uint32_t)i;
}

static void create_clock(const struct analysis *analysis, const struct analysed_thread *thread,
                         const uint32_t *bursts, struct clock_sample *ticks,
                         struct access_clock *clock)
{
    const struct profile *profile = analysis->profiles[thread->profile];
    size_t n = thread->bursts;

    for (size_t i = 0; i < n; i++) {
        const struct analysed_burst *burst = &analysis->bursts[bursts[i]];

        ticks[i] = (struct clock_sample){burst->record->app_ns, burst->accesses,
                                         analysis->rates.loops[burst->loop].per_ns.value};
    }
    access_clock_create(ticks, n, profile_counts_accesses(profile), clock);
}

/* Watches on the clocks of their threads. Those that tell nothing are dropped. */
static void convert_times(struct analysis *analysis)
{
    size_t *first, kept = 0;
    uint32_t *order;
    struct clock_sample *ticks = allocate(analysis->burst_count + 1, sizeof *ticks);
    struct access_clock *clocks = allocate_zeroed(analysis->thread_count + 1, sizeof *clocks);

    list_by_thread(analysis, &first, &order);
    for (size_t t = 0; t < analysis->thread_count; t++)
        create_clock(analysis, &analysis->threads[t], order + first[t], ticks, &clocks[t]);
    for (size_t i = 0; i < analysis->watch_count; i++) {
        struct analysed_watch watch = analysis->watches[i];

        if (judge_watch(analysis, &watch, &clocks[analysis->bursts[watch.burst].thread]))
            analysis->watches[kept++] = watch;
    }
    analysis->watch_count = kept;
    for (size_t t = 0; t < analysis->thread_count; t++)
        access_clock_free(&clocks[t]);
    free(clocks);
    free(ticks);
    free(first);
    free(order);
}

/* ---- who else was watched for ---- */

struct coverage {
    uint32_t profile, origin;
    uint64_t monotonic_ns;
    uint64_t sample_id;
    size_t watch;
};

static int compare_coverage(const void *a, const void *b)
{
    const struct coverage *x = a, *y = b;

    if (x->profile != y->profile)
        return x->profile < y->profile ? -1 : 1;
    if (x->origin != y->origin)
        return x->origin < y->origin ? -1 : 1;
    if (x->monotonic_ns != y->monotonic_ns)
        return x->monotonic_ns < y->monotonic_ns ? -1 : 1;
    return x->sample_id != y->sample_id ? (x->sample_id < y->sample_id ? -1 : 1) : 0;
}

/*
 * A process has one register for other threads' stores. It leaves a watch when that ends, or when a
 * later sample takes it; the private watch then goes on alone.
 */
static void end_coverage(struct analysed_watch *watch, uint64_t taken_ns)
{
    const struct record_watch_end *end = watch->end;

    if (!end || watch->invalidation || watch->left || end->monotonic_ns <= taken_ns)
        return;
    watch->covered *= (double)(taken_ns - watch->record->monotonic_ns) /
                      (double)(end->monotonic_ns - watch->record->monotonic_ns);
}

static void find_coverage(struct analysis *analysis)
{
    struct coverage *covered = allocate(analysis->watch_count + 1, sizeof *covered);
    size_t n = 0;

    for (size_t i = 0; i < analysis->watch_count; i++) {
        const struct record_sample *record = analysis->watches[i].record;
        uint32_t p = analysis->bursts[analysis->watches[i].burst].profile;
        const struct record_thread *thread =
            profile_thread(analysis->profiles[p], record->thread_id);

        if (record->invalidation_address)
            covered[n++] = (struct coverage){p, thread ? thread->origin_id : 0,
                                             record->monotonic_ns, record->sample_id, i};
    }
    qsort(covered, n, sizeof *covered, compare_coverage);
    for (size_t i = 0; i + 1 < n; i++)
        if (covered[i + 1].profile == covered[i].profile &&
            covered[i + 1].origin == covered[i].origin)
            end_coverage(&analysis->watches[covered[i].watch], covered[i + 1].monotonic_ns);
    free(covered);
}

/* Those whose end was seen, by the part of their time in which other threads' stores were. */
static void count_guarded(struct analysis *analysis)
{
    for (size_t i = 0; i < analysis->watch_count; i++) {
        const struct analysed_watch *watch = &analysis->watches[i];

        if (watch->covered <= 0)
            continue;
        analysis->guarded = true;
        if (watch->invalidation)
            analysis->guarded_ends++;
        else if (watch->open.end == OPEN_USED)
            analysis->guarded_ends += fmin(1, watch->covered / fmax(1, watch->ran));
    }
}

/* Private caches: each thread's clock is its own. */
static void divide_by_thread(struct analysis *analysis)
{
    analysis->domain_count = analysis->thread_count;
    analysis->domains = allocate_zeroed(analysis->thread_count + 1, sizeof *analysis->domains);
    for (size_t t = 0; t < analysis->thread_count; t++)
        analysis->domains[t] =
            (struct clock_domain){analysis->threads[t].bursts, analysis->threads[t].accesses};
    for (size_t i = 0; i < analysis->burst_count; i++)
        analysis->bursts[i].domain = analysis->bursts[i].thread;
    for (size_t i = 0; i < analysis->count; i++)
        analysis->samples[i].domain = analysis->samples[i].thread;
}

void analysis_judge_samples(struct analysis *analysis)
{
    weigh_bursts(analysis);
    list_samples(analysis);
    analysis_time_watches(analysis);
    analysis_find_losses(analysis);
    convert_times(analysis);
    find_coverage(analysis);
    count_guarded(analysis);
    if (!analysis->options.groups)
        divide_by_thread(analysis);
    else
        analysis_merge_clocks(analysis);
}
