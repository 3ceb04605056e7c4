/* SPDX-License-Identifier: BSD-3-Clause */
/* From records to judged samples: whose, in which loop, what they stand for, how long watched. */
#include <math.h>
#include <stdlib.h>

#include "analysis/access_clock.h"
#include "analysis/internal.h"
#include "reuse/sort_keys.h"

/*
 * Clock expiries that gave no sample still stand for the program's time. So do those in our
 * wrappers of malloc and its kin: rates are accesses per time that includes them.
 */
static double expiries_per_sample(const struct profile *profile, uint32_t thread_id)
{
    for (size_t i = 0; i < profile->totals.count; i++) {
        const struct record_totals *totals = &profile->totals.items[i];
        if (totals->thread_id != thread_id || totals->samples == 0)
            continue;
        uint64_t lost = totals->lost[LOSS_UNREADABLE] + totals->lost[LOSS_BUFFER] +
                        totals->lost[LOSS_IN_RUNTIME];
        return 1 + (double)lost / (double)totals->samples;
    }
    return 1;
}

static bool wanted_thread(const struct analysis *analysis, uint32_t thread_id)
{
    return !analysis->options.thread_id || thread_id == analysis->options.thread_id;
}

static bool wanted(const struct analysis *analysis, const struct record_sample *sample)
{
    return wanted_thread(analysis, sample->thread_id);
}

static void find_invalidation(const struct profile *profile, struct analysed_sample *sample)
{
    const struct record_sample *record = sample->record;
    const struct record_invalidation *found =
        record->invalidation_address ? profile_invalidation(profile, record->sample_id) : NULL;

    if (found && found->flags & INVALIDATION_NOT_SEEN)
        sample->left = found;
    else
        sample->invalidation = found;
}

/* Lists the threads and tells each sample which one is its own. */
static int list_threads(struct analysis *analysis)
{
    size_t n = analysis->count;
    struct sort_key *keys = malloc((2 * n + 1) * sizeof *keys);
    size_t threads = 0;

    if (!keys)
        return -1;
    for (size_t i = 0; i < n; i++)
        keys[i] = (struct sort_key){(uint64_t)analysis->samples[i].profile << 32 |
                                        analysis->samples[i].record->thread_id,
                                    (uint32_t)i};
    const struct sort_key *sorted = sort_keys(keys, keys + n, n);
    for (size_t i = 0; i < n; i++)
        threads += i == 0 || sorted[i].key != sorted[i - 1].key;
    analysis->threads = calloc(threads + 1, sizeof *analysis->threads);
    for (size_t i = 0; i < n && analysis->threads; i++) {
        struct analysed_sample *sample = &analysis->samples[sorted[i].index];

        if (i == 0 || sorted[i].key != sorted[i - 1].key)
            analysis->threads[analysis->thread_count++] = (struct analysed_thread){
                .profile = sample->profile,
                .thread_id = sample->record->thread_id,
                .scale = expiries_per_sample(analysis->profiles[sample->profile],
                                             sample->record->thread_id)};
        sample->thread = (uint32_t)analysis->thread_count - 1;
        analysis->threads[sample->thread].samples++;
    }
    free(keys);
    return analysis->threads ? 0 : -1;
}

static int list_samples(struct analysis *analysis)
{
    size_t capacity = 1, n = 0;

    for (size_t p = 0; p < analysis->profile_count; p++)
        capacity += analysis->profiles[p]->samples.count;
    analysis->samples = calloc(capacity, sizeof *analysis->samples);
    if (!analysis->samples)
        return -1;
    for (size_t p = 0; p < analysis->profile_count; p++) {
        const struct profile *profile = analysis->profiles[p];
        for (size_t i = 0; i < profile->samples.count; i++) {
            const struct record_sample *record = &profile->samples.items[i];
            if (!wanted(analysis, record))
                continue;
            analysis->samples[n++] = (struct analysed_sample){
                .record = record,
                .end = profile_watch_end(profile, record->sample_id),
                .profile = (uint32_t)p,
                .loop = (uint32_t)loop_rates_find(&analysis->rates, p, record->loop),
                .dilation = 1};
            find_invalidation(profile, &analysis->samples[n - 1]);
            analysis->invalidations_seen |= analysis->samples[n - 1].invalidation != NULL;
            const struct record_watch_end *end = analysis->samples[n - 1].end;
            if (record->watch_mode == WATCH_ACCESSED && end && end->reason == WATCH_REUSED &&
                end->flags & WATCH_END_VISIT_KNOWN)
                analysis->accessed_visits_known = true;
            if (record->window_accesses > analysis->pivot)
                analysis->pivot = record->window_accesses;
        }
    }
    analysis->count = n;
    return list_threads(analysis);
}

static bool ended_in_order(const struct profile *profile, uint32_t thread_id)
{
    const struct record_thread *thread = profile_thread(profile, thread_id);
    const struct record_origin *origin =
        thread && thread->origin_id ? profile_origin(profile, thread->origin_id) : NULL;

    return origin ? origin->flags & ORIGIN_COMPLETE : profile->complete;
}

/*
 * Accesses between a sample and the end of its watch. A watch that is shorter than the time to the
 * next sample and ended inside the sample's own loop ran at that loop's rate; any other is read off
 * the clock. 0: there was no watch, or nothing is known of it.
 */
static double watched_accesses(const struct analysis *analysis,
                               const struct analysed_sample *sample,
                               const struct access_clock *clock)
{
    const struct record_sample *record = sample->record;
    const struct record_watch_end *end = sample->end;
    const struct loop_rate *loop = &analysis->rates.loops[sample->loop];
    double accesses = 0;

    if (record->watch_mode != WATCH_ACCESSED && record->watch_mode != WATCH_OTHER)
        return 0;
    if (!end) {
        /* Cut short by a kill: still armed at the thread's last sign of life. In a profile that
         * ended in order the end was lost, and nothing is known of the watch. */
        if (ended_in_order(analysis->profiles[sample->profile], record->thread_id) ||
            clock->count == 0)
            return 0;
        accesses =
            access_clock_between(clock, record->app_ns, clock->ticks[clock->count - 1].app_ns);
    } else if (sample->elapsed_ns > 0) {
        uint64_t elapsed = (uint64_t)sample->elapsed_ns;
        double net = refill_set_off(&analysis->rates.refills[sample->profile], sample->elapsed_ns);
        if (end->reason == WATCH_REUSED && elapsed < access_clock_gap(clock, record->app_ns) &&
            loop_rates_contains(loop, end->ip))
            accesses = net * loop->per_ns.value;
        else
            accesses = net / sample->elapsed_ns *
                       access_clock_between(clock, record->app_ns, record->app_ns + elapsed);
    }
    return fmax(accesses, 1);
}

/*
 * Accesses between a sample and the first store of another thread, else the end of its watch. The
 * store lies within the watch, on the same scale: what came first must stay first.
 */
static double covered_accesses(const struct analysed_sample *sample,
                               const struct access_clock *clock)
{
    const struct record_sample *record = sample->record;
    const struct record_watch_end *end = sample->end;

    const struct record_invalidation *last =
        sample->invalidation ? sample->invalidation : sample->left;

    if (sample->watched <= 0 || !record->invalidation_address || !last)
        return record->invalidation_address ? sample->watched : 0;
    uint64_t at = last->app_ns;
    if (at <= record->app_ns)
        return fmin(1, sample->watched);
    if (!end)
        return fmin(sample->watched, fmax(1, access_clock_between(clock, record->app_ns, at)));
    if (at >= end->app_ns)
        return sample->watched;
    return sample->watched * (double)(at - record->app_ns) / (double)(end->app_ns - record->app_ns);
}

/*
 * Where accesses were counted it is known what all samples of a profile stand for together: they
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
    for (size_t i = 0; i < analysis->count; i++)
        if (analysis->samples[i].profile == p)
            estimated += analysis->samples[i].weight;
    factor = known > 0 && estimated > 0 ? known / estimated : 1;
    for (size_t i = 0; i < analysis->count; i++)
        if (analysis->samples[i].profile == p)
            analysis->samples[i].weight *= factor;
    for (size_t t = 0; t < analysis->thread_count; t++) {
        struct analysed_thread *thread = &analysis->threads[t];
        const struct record_totals *totals = profile_thread_totals(profile, thread->thread_id);

        if (thread->profile == p && totals && totals->app_ns > 0)
            thread->accesses = (double)totals->app_ns;
    }
}

/* An access to two lines counts for each of them; the sample is one of the two. */
static uint8_t lines_touched(const struct analysis *analysis, const struct record_sample *record)
{
    uint64_t end = record->address + record->width;

    return record->flags & SAMPLE_STRADDLES &&
                   (record->address % analysis->line_size == 0 || end % analysis->line_size == 0)
               ? 2
               : 1;
}

static int convert_times(struct analysis *analysis)
{
    /* Samples by thread: offsets by counting. */
    size_t *first = calloc(analysis->thread_count + 2, sizeof *first);
    uint32_t *order = malloc((analysis->count + 1) * sizeof *order);
    struct clock_sample *ticks = malloc((analysis->count + 1) * sizeof *ticks);
    int result = first && order && ticks ? 0 : -1;

    for (size_t i = 0; i < analysis->count && result == 0; i++)
        first[analysis->samples[i].thread + 2]++;
    for (size_t t = 0; t < analysis->thread_count && result == 0; t++)
        first[t + 2] += first[t + 1];
    for (size_t i = 0; i < analysis->count && result == 0; i++)
        order[first[analysis->samples[i].thread + 1]++] = (uint32_t)i;
    for (size_t t = 0; t < analysis->thread_count && result == 0; t++) {
        struct access_clock clock;
        size_t n = first[t + 1] - first[t];
        for (size_t i = 0; i < n; i++) {
            struct analysed_sample *sample = &analysis->samples[order[first[t] + i]];
            double rate = analysis->rates.loops[sample->loop].per_ns.value;
            double weight = (double)sample->record->weight_ns * rate * analysis->threads[t].scale;
            sample->lines = lines_touched(analysis, sample->record);
            sample->weight = weight * sample->lines;
            analysis->threads[t].accesses += weight;
            ticks[i] = (struct clock_sample){sample->record->app_ns, weight, rate};
        }
        bool counted = profile_counts_accesses(analysis->profiles[analysis->threads[t].profile]);
        result = access_clock_create(ticks, n, counted, &clock);
        for (size_t i = 0; i < n && result == 0; i++) {
            struct analysed_sample *sample = &analysis->samples[order[first[t] + i]];
            sample->watched = watched_accesses(analysis, sample, &clock);
            sample->covered = covered_accesses(sample, &clock);
            /* The window was free of reuse, so the watch of the line lasted longer. */
            if (sample->watched > 0)
                sample->watched =
                    fmax(sample->watched, (double)sample->record->window_accesses + 1);
        }
        access_clock_free(&clock);
    }
    free(first);
    free(order);
    free(ticks);
    return result;
}

/* A sample whose line other threads' stores were watched for. */
struct coverage {
    uint32_t profile, origin;
    uint64_t monotonic_ns;
    uint64_t sample_id;
    size_t sample; /* SIZE_MAX: of a thread that is not asked for */
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
static void end_coverage(struct analysed_sample *sample, uint64_t taken_ns)
{
    const struct record_watch_end *end = sample->end;

    if (!end || sample->invalidation || sample->left || end->monotonic_ns <= taken_ns)
        return;
    sample->covered *= (double)(taken_ns - sample->record->monotonic_ns) /
                       (double)(end->monotonic_ns - sample->record->monotonic_ns);
}

static int find_coverage(struct analysis *analysis)
{
    struct coverage *covered;
    size_t capacity = 1, n = 0, next = 0;

    for (size_t p = 0; p < analysis->profile_count; p++)
        capacity += analysis->profiles[p]->samples.count;
    covered = malloc(capacity * sizeof *covered);
    if (!covered)
        return -1;
    for (size_t p = 0; p < analysis->profile_count; p++) {
        const struct profile *profile = analysis->profiles[p];
        for (size_t i = 0; i < profile->samples.count; i++) {
            const struct record_sample *record = &profile->samples.items[i];
            size_t index = wanted(analysis, record) ? next++ : SIZE_MAX;
            if (!record->invalidation_address)
                continue;
            const struct record_thread *thread = profile_thread(profile, record->thread_id);
            covered[n++] = (struct coverage){(uint32_t)p, thread ? thread->origin_id : 0,
                                             record->monotonic_ns, record->sample_id, index};
        }
    }
    qsort(covered, n, sizeof *covered, compare_coverage);
    for (size_t i = 0; i + 1 < n; i++) {
        if (covered[i].sample != SIZE_MAX && covered[i + 1].profile == covered[i].profile &&
            covered[i + 1].origin == covered[i].origin)
            end_coverage(&analysis->samples[covered[i].sample], covered[i + 1].monotonic_ns);
    }
    free(covered);
    return 0;
}

/* Private caches: each thread's clock is its own. */
static int divide_by_thread(struct analysis *analysis)
{
    analysis->domain_count = analysis->thread_count;
    analysis->domains = calloc(analysis->thread_count + 1, sizeof *analysis->domains);
    if (!analysis->domains)
        return -1;
    for (size_t t = 0; t < analysis->thread_count; t++)
        analysis->domains[t] =
            (struct clock_domain){analysis->threads[t].samples, analysis->threads[t].accesses};
    for (size_t i = 0; i < analysis->count; i++)
        analysis->samples[i].domain = analysis->samples[i].thread;
    return 0;
}

int analysis_judge_samples(struct analysis *analysis)
{
    if (list_samples(analysis) || analysis_time_watches(analysis) || convert_times(analysis))
        return -1;
    for (size_t p = 0; p < analysis->profile_count; p++)
        match_counts(analysis, (uint32_t)p);
    if (find_coverage(analysis))
        return -1;
    return analysis->options.groups ? analysis_merge_clocks(analysis) : divide_by_thread(analysis);
}
