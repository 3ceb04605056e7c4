/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A view: samples that are estimated together, with their events in order and their strata.
 *
 * Strata are sampled instructions: how many watches are evicted differs between the parts of a
 * program, so censoring tells something about the reuse time unless like is compared with like.
 * Instructions with too few watches share a stratum with those of their loop, or with all others.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "reuse/sort_keys.h"
#include "sampling/watch_plan.h"

/* Watches of each kind that a stratum of its own needs. */
enum { STRATUM_WATCHES_MIN = 16 };

/* What each sample's events say about whether a group of samples can stand alone. */
struct evidence {
    bool unresolved, accessed, other, crossing, covered;
};

static bool stands_alone(const struct sort_key *members, size_t n, const struct evidence *evidence)
{
    size_t unresolved = 0, accessed = 0, other = 0;

    for (size_t i = 0; i < n; i++) {
        unresolved += evidence[members[i].index].unresolved;
        accessed += evidence[members[i].index].accessed;
        other += evidence[members[i].index].other;
    }
    return unresolved == 0 || (accessed >= STRATUM_WATCHES_MIN && other >= STRATUM_WATCHES_MIN);
}

/* Members are samples of the view: a key (ip, or loop) and their index in it. Gives groups of equal
 * key that stand alone a stratum; moves the members of the others to the front of `members`, which
 * has room for twice as many, and returns how many they are. */
static size_t take_groups(struct view *view, struct sort_key *members, size_t n,
                          const struct evidence *evidence)
{
    const struct sort_key *sorted = sort_keys(members, members + n, n);
    size_t left = 0;

    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && sorted[end].key == sorted[i].key; end++)
            ;
        bool alone = stands_alone(sorted + i, end - i, evidence);
        for (size_t k = i; k < end; k++) {
            if (alone)
                view->stratum_of[sorted[k].index] = view->strata;
            else
                members[left++] = sorted[k];
        }
        view->strata += alone;
    }
    return left;
}

static void assign_strata(const struct analysis *analysis, struct view *view,
                          struct sort_key *members, const struct evidence *evidence)
{
    size_t n = view->count;

    for (size_t i = 0; i < n; i++)
        members[i] = (struct sort_key){analysis->samples[view->sample[i]].record->ip, (uint32_t)i};
    n = take_groups(view, members, n, evidence);
    for (size_t i = 0; i < n; i++)
        members[i].key = analysis->samples[view->sample[members[i].index]].loop;
    if (n)
        n = take_groups(view, members, n, evidence);
    for (size_t i = 0; i < n; i++)
        view->stratum_of[members[i].index] = view->strata;
    view->strata += n > 0;
}

static int mark_sharing(struct view *view, const struct evidence *evidence)
{
    uint32_t *covered = calloc(2 * view->strata + 1, sizeof *covered);
    uint32_t *crossing = covered + view->strata;

    view->shares_invalidation = calloc(view->strata + 1, sizeof *view->shares_invalidation);
    view->shares_crossing = calloc(view->strata + 1, sizeof *view->shares_crossing);
    if (!covered || !view->shares_invalidation || !view->shares_crossing) {
        free(covered);
        return -1;
    }
    for (size_t i = 0; i < view->count; i++) {
        covered[view->stratum_of[i]] += evidence[i].covered;
        crossing[view->stratum_of[i]] += evidence[i].crossing;
    }
    for (uint32_t k = 0; k < view->strata; k++) {
        view->shares_invalidation[k] = covered[k] < STRATUM_WATCHES_MIN;
        view->shares_crossing[k] = crossing[k] < STRATUM_WATCHES_MIN;
    }
    free(covered);
    return 0;
}

static int list_events(const struct analysis *analysis, struct view *view,
                       struct evidence *evidence)
{
    size_t capacity = view->count * 2 + OBSERVATION_EVENTS_MAX;

    view->events = malloc(capacity * sizeof *view->events);
    if (!view->events)
        return -1;
    for (size_t i = 0; i < view->count; i++) {
        if (view->event_count + OBSERVATION_EVENTS_MAX > capacity) {
            capacity *= 2;
            struct survival_event *events = realloc(view->events, capacity * sizeof *view->events);
            if (!events)
                return -1;
            view->events = events;
        }
        struct survival_event *events = view->events + view->event_count;
        size_t n = analysis_observe(analysis, view->sample[i], events);
        for (size_t k = 0; k < n; k++) {
            events[k].sample = (uint32_t)i;
            evidence[i].unresolved |=
                events[k].observer == OBSERVER_WINDOW && !(events[k].multiplicity > 0);
            evidence[i].accessed |= events[k].observer == OBSERVER_ACCESSED;
            evidence[i].other |= events[k].observer == OBSERVER_OTHER;
            evidence[i].crossing |= events[k].observer == OBSERVER_CROSSING;
            evidence[i].covered |= events[k].observer == OBSERVER_INVALIDATION;
        }
        view->event_count += n;
    }
    return survival_sort(view->events, view->event_count);
}

/*
 * Numbers the samples of one cell in the order in which their windows end, as their events come:
 * every estimate then reads what it needs of them from memory in that order. Samples of several
 * cells keep their order, which is by cell. 0, or -1: out of memory.
 */
static int number_by_end(struct view *view, struct evidence *evidence)
{
    size_t n = view->count, next = 0;
    uint32_t *number;
    struct evidence *before;

    if (!view->one_cell)
        return 0;
    number = malloc(2 * n * sizeof *number);
    before = malloc(n * sizeof *before);
    if (!number || !before) {
        free(number);
        free(before);
        return -1;
    }
    for (size_t i = 0; i < view->event_count; i++)
        if (view->events[i].observer == OBSERVER_WINDOW)
            number[view->events[i].sample] = (uint32_t)next++;
    for (size_t i = 0; i < view->event_count; i++)
        view->events[i].sample = number[view->events[i].sample];
    memcpy(number + n, view->sample, n * sizeof *number);
    memcpy(before, evidence, n * sizeof *before);
    for (size_t i = 0; i < n; i++) {
        view->sample[number[i]] = number[n + i];
        evidence[number[i]] = before[i];
    }
    free(number);
    free(before);
    return 0;
}

/* Traps of watches of one kind, and how many visits to their lines they stand for. */
struct trap_count {
    double traps, visits;
};

static bool is_watch_end(const struct survival_event *event)
{
    return !event->begins &&
           (event->observer == OBSERVER_ACCESSED || event->observer == OBSERVER_OTHER);
}

/* The sample, or the first of a cohort. */
static const struct analysed_sample *sample_of(const struct analysis *analysis,
                                               const struct view *view,
                                               const struct survival_event *event)
{
    return &analysis->samples[view->sample[view->first_of[event->sample]]];
}

static bool was_reused(const struct analysis *analysis, const struct view *view,
                       const struct survival_event *event)
{
    const struct record_watch_end *end = sample_of(analysis, view, event)->end;

    return end && end->reason == WATCH_REUSED;
}

/* Visits to a line per visit to one of its words. */
static double visits_per_word(const struct analysis *analysis, const struct view *view)
{
    struct trap_count accessed = {0}, other = {0};

    for (size_t i = 0; i < view->event_count; i++) {
        const struct survival_event *event = &view->events[i];
        struct trap_count *count = event->observer == OBSERVER_ACCESSED ? &accessed : &other;
        if (!is_watch_end(event) || !was_reused(analysis, view, event))
            continue;
        count->traps++;
        count->visits += (double)event->multiplicity;
    }
    return (accessed.traps > 0 ? accessed.visits / accessed.traps : 1) +
           (other.traps > 0 ? other.visits / other.traps : 0);
}

/*
 * Lines are estimated from words as if all lines of a stratum were used equally often. If they are
 * not, the words that are still untouched are those of little used lines, but not as much so as
 * the lines that are: a word that is visited m times as seldom as its line survives t as its line
 * survives t / m, whatever the mixture, if visits come at random.
 */
static int list_word_events(const struct analysis *analysis, struct view *view)
{
    double factor = fmax(1, visits_per_word(analysis, view));

    view->word_events = malloc((view->event_count + 1) * sizeof *view->word_events);
    if (!view->word_events)
        return -1;
    for (size_t i = 0; i < view->event_count; i++) {
        struct survival_event *event = &view->word_events[i];
        *event = view->events[i];
        const struct analysed_sample *sample = sample_of(analysis, view, event);
        double window = sample->record->window_accesses * sample->dilation;

        if (event->observer != OBSERVER_ACCESSED && event->observer != OBSERVER_OTHER)
            continue;
        event->observer = OBSERVER_ACCESSED;
        event->design = 1;
        if (event->begins)
            continue;
        event->multiplicity = was_reused(analysis, view, event);
        if (event->time > window)
            event->time = window + (event->time - window) / factor;
    }
    return survival_sort(view->word_events, view->event_count);
}

/* What a replicate assumes of the part of the analysed line that lies outside the run's. */
static void assume_rest(const struct analysis *analysis, const struct view *view,
                        uint32_t replicate, struct survival_input *input)
{
    double others = (double)analysis->line_size / WATCH_WORD - 1;
    double own = (double)analysis->run_line_size / WATCH_WORD - 1;

    input->other_factor = input->beyond_pivot = 1;
    if (analysis->line_size <= analysis->run_line_size)
        return;
    input->other_factor = own / others;
    switch (replicate_rest(analysis, replicate)) {
    case REST_LIKE_OTHERS:
        input->other_factor = (view->sooner * (own + 1) - 1) / others;
        break;
    case REST_TOGETHER:
        break;
    case REST_BETWEEN:
        input->scale /= view->sooner;
        break;
    case REST_BEHIND_WINDOW:
        input->beyond_pivot = 1 / view->sooner;
        break;
    }
}

void view_free(struct view *view)
{
    free(view->sample);
    free(view->own);
    free(view->events);
    free(view->word_events);
    free(view->stratum_of);
    free(view->shares_invalidation);
    free(view->shares_crossing);
    free(view->weight);
    free(view->cohort_of);
    free(view->first_of);
    free(view->cohort_stratum);
    free(view->cohort_weight);
    *view = (struct view){0};
}

int view_estimate(const struct analysis *analysis, struct view *view, uint32_t replicate,
                  struct survival_curve *out)
{
    double weights = 0, stretched = 0;
    bool by_word = replicate_unequal_lines(analysis, replicate);
    const float *factors = replicate_rate_factors(analysis, replicate);
    const uint8_t *drawn = replicate_draws(analysis, replicate);

    if (by_word && !view->word_events && list_word_events(analysis, view))
        return -1;
    memset(view->cohort_weight, 0, view->cohorts * sizeof *view->cohort_weight);
    for (size_t i = 0; i < view->count; i++) {
        double stretch = factors ? (double)factors[view->own[i].loop] : 1;
        view->weight[i] = view->own[i].weight * stretch * (drawn ? drawn[view->sample[i]] : 1);
        view->cohort_weight[view->cohort_of[i]] += view->weight[i];
        if (view->own[i].watched) {
            weights += view->own[i].weight;
            stretched += view->own[i].weight * stretch;
        }
    }
    struct survival_input input = {
        .events = by_word ? view->word_events : view->events,
        .event_count = view->event_count,
        .sample_count = view->cohorts,
        .weight_of = view->cohort_weight,
        .stratum_of = view->cohort_stratum,
        .strata = view->strata,
        .shares_invalidation = view->shares_invalidation,
        .shares_crossing = view->shares_crossing,
        .one_visit = replicate_one_visit(analysis, replicate),
        .pivot = analysis->pivot,
        .scale = weights > 0 ? stretched / weights : 1,
    };
    assume_rest(analysis, view, replicate, &input);
    return survival_estimate(&input, out);
}

/* Of the run's lines and the analysed ones: the share of samples whose line is not used again in
 * the window, and the mean time in it until that happens. */
struct window_use {
    double unused, time;
};

static struct window_use window_use(const struct analysis *analysis, const struct view *view,
                                    uint32_t line_size)
{
    struct window_use use = {0};
    double weights = 0;

    for (size_t i = 0; i < view->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[view->sample[i]];
        uint32_t reuse = sample->record->window_reuse[line_size_index(line_size)];
        bool unused = reuse == REUSE_TIME_NONE;

        weights += sample->weight;
        use.unused += unused ? sample->weight : 0;
        use.time +=
            sample->weight * sample->dilation * (unused ? sample->record->window_accesses : reuse);
    }
    use.unused /= weights > 0 ? weights : 1;
    use.time /= weights > 0 ? weights : 1;
    return use;
}

/*
 * The mean time between uses of a line is the run's accesses over the lines used, so lines k times
 * as large have times k times as short at the most: when all of each is in use. What the windows
 * found to be used there makes a part of that; the remaining times, behind them, are shorter by
 *
 *     remaining unused / ((run_time + run_unused remaining) / k - time),    1 .. k,
 *
 * with `remaining` the mean if the rest of the line were never used alone.
 */
static int find_times_sooner(const struct analysis *analysis, struct view *view)
{
    double k = (double)analysis->line_size / analysis->run_line_size;
    uint32_t together = analysis->options.bootstrap + REST_TOGETHER;
    struct survival_curve curve = {0};
    struct window_use run, use;

    view->sooner = 1;
    if (k <= 1)
        return 0;
    run = window_use(analysis, view, analysis->run_line_size);
    use = window_use(analysis, view, analysis->line_size);
    if (use.unused <= 0)
        return 0;
    if (view_estimate(analysis, view, together, &curve))
        return -1;
    if (curve.count) {
        const struct survival_point *last = &curve.points[curve.count - 1];
        double remaining =
            fmax(0, last->survival_area - use.time) / use.unused; /* after a window */
        double left = (run.time + run.unused * remaining) / k - use.time;

        view->sooner = left > 0 ? fmin(k, fmax(1, remaining * use.unused / left)) : k;
    }
    survival_free(&curve);
    return 0;
}

int view_create(const struct analysis *analysis, const uint32_t *samples, size_t n,
                struct view *out)
{
    struct sort_key *members = malloc((2 * n + 1) * sizeof *members);
    struct evidence *evidence = calloc(n + 1, sizeof *evidence);
    int result = -1;

    *out = (struct view){.count = n};
    out->sample = malloc((n + 1) * sizeof *out->sample);
    out->stratum_of = calloc(n + 1, sizeof *out->stratum_of);
    out->weight = malloc((n + 1) * sizeof *out->weight);
    out->own = malloc((n + 1) * sizeof *out->own);
    if (members && evidence && out->sample && out->stratum_of && out->weight && out->own) {
        memcpy(out->sample, samples, n * sizeof *samples);
        out->one_cell =
            n > 0 && analysis->samples[samples[0]].cell == analysis->samples[samples[n - 1]].cell;
        result = list_events(analysis, out, evidence);
    }
    if (result == 0)
        result = number_by_end(out, evidence);
    if (result == 0) {
        for (size_t i = 0; i < n; i++) {
            const struct analysed_sample *sample = &analysis->samples[out->sample[i]];
            out->own[i] = (struct view_sample){sample->weight, sample->loop, sample->watched > 0};
        }
        assign_strata(analysis, out, members, evidence);
        result = mark_sharing(out, evidence);
    }
    if (result == 0)
        result = view_form_cohorts(out);
    if (result == 0)
        result = find_times_sooner(analysis, out);
    free(members);
    free(evidence);
    if (result)
        view_free(out);
    return result;
}

void miss_shares_add(struct miss_shares *sum, struct miss_shares one, double weight)
{
    sum->missed += weight * one.missed;
    sum->invalidated += weight * one.invalidated;
    sum->unknown += weight * one.unknown;
    sum->crossing += weight * one.crossing;
}

void miss_shares_divide(struct miss_shares *sum, double weight)
{
    if (weight <= 0) {
        *sum = (struct miss_shares){.missed = 1, .unknown = 1};
        return;
    }
    sum->missed /= weight;
    sum->invalidated /= weight;
    sum->unknown /= weight;
    sum->crossing /= weight;
}
