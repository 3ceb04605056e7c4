/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes of lines that stayed open in their bursts (docs/estimators.md, "Open lines"). In
 * every replicate:
 *
 *   1. by stratum, when they are used next: the survival of open lines, from watches;
 *   2. by cell, G(t): lines touched in t accesses, from resolved probes and from 1.;
 *   3. the stack distance of a watched line. D other lines were touched in the C accesses up to the
 *      end of its burst, so at its use after X accesses it is
 *
 *          d = D * G(X) / G(C)
 *
 *      for E[D] = G(C), E[distance] = G(X), and what a place has more or less than the mean up to C
 *      it is taken to keep.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/curves/memory_bound.h"
#include "analysis/curves/open_lines_internal.h"
#include "support/memory.h"

static void count_resolved(const struct open_lines *open, const struct analysed_probe *probe)
{
    float *times = open->times + (size_t)probe->burst * PROBE_TIME_BINS;

    for (uint32_t k = probe->first; k < probe->first + probe->entries; k++) {
        const struct probe_count *entry = &open->analysis->counts[k];

        if (!probe_code_open(entry->code))
            times[probe_code_time(entry->code)] += (float)entry->count;
    }
}

static void count_by_stratum(struct open_lines *open, const struct analysed_probe *probe,
                             uint32_t stratum)
{
    for (uint32_t k = probe->first; k < probe->first + probe->entries; k++) {
        const struct probe_count *entry = &open->analysis->counts[k];

        if (!probe_code_open(entry->code))
            open->resolved[open->resolved_count++] = (struct resolved_count){
                probe->burst, stratum, probe_code_time(entry->code), entry->count};
    }
}

/*
 * A stratum of which few lines were watched for other threads shares what all such strata saw; not
 * one in which nobody came to those that were.
 */
static void choose_visitors(struct open_lines *open)
{
    const struct analysis *analysis = open->analysis;
    size_t *watched = allocate_zeroed(2 * analysis->stratum_count + 1, sizeof *watched);
    size_t *visited = watched + analysis->stratum_count;

    for (size_t i = 0; i < analysis->crossing_count; i++) {
        watched[analysis->crossings[i].stratum]++;
        visited[analysis->crossings[i].stratum] += analysis->crossings[i].visits > 0;
    }
    for (size_t g = 0; g < analysis->stratum_count; g++)
        open->visitors[g] = watched[g] >= OWN_HAZARD_MIN    ? VISITORS_OWN
                            : watched[g] == 0 || visited[g] ? VISITORS_POOLED
                                                            : VISITORS_NONE;
    free(watched);
}

static size_t entries(const struct analysis *analysis)
{
    size_t n = 0;

    for (size_t i = 0; i < analysis->probe_count; i++)
        n += analysis->probes[i].entries;
    return n;
}

static void count_open(struct open_lines *open, const struct analysed_probe *probe,
                       uint32_t stratum)
{
    size_t i = open->open_count;

    if (probe->open == 0)
        return;
    /* A burst's groups of one stratum mostly follow one another, but need not. */
    while (i > 0 && open->opens[i - 1].burst == probe->burst)
        if (open->opens[--i].stratum == stratum) {
            open->opens[i].count += probe->open;
            return;
        }
    open->opens[open->open_count++] = (struct open_count){probe->burst, stratum, probe->open};
}

/* What a thread by itself touches, within bursts. */
static void measure_own_pace(struct open_lines *open)
{
    const struct analysis *analysis = open->analysis;
    size_t cells = analysis->cell_count;
    double *times = allocate_zeroed(cells * (PROBE_TIME_BINS + 1) + 1, sizeof *times);
    double *probes = times + cells * PROBE_TIME_BINS;

    for (size_t i = 0; i < analysis->burst_count; i++) {
        const struct analysed_burst *burst = &analysis->bursts[i];

        probes[burst->cell] += burst->weight * burst->touches;
        for (unsigned bin = 0; bin < PROBE_TIME_BINS; bin++)
            times[burst->cell * PROBE_TIME_BINS + bin] +=
                burst->weight * (double)open->times[i * PROBE_TIME_BINS + bin];
    }
    for (size_t c = 0; c < cells; c++) {
        double *pace = open->own_pace + c * PACE_POINTS, resolved = 0;

        if (!(probes[c] > 0))
            continue;
        pace_add_times(times + c * PROBE_TIME_BINS, probes[c], 1, pace);
        for (unsigned bin = 0; bin < PROBE_TIME_BINS; bin++)
            resolved += times[c * PROBE_TIME_BINS + bin];
        for (size_t k = 0; k < PACE_POINTS; k++)
            pace[k] += (1 - resolved / probes[c]) * pace_time(k);
    }
    free(times);
}

static void average_dilation(struct open_lines *open)
{
    const struct analysis *analysis = open->analysis;

    for (size_t c = 0; c < analysis->cell_count; c++) {
        double weight = 0, sum = 0;

        for (size_t i = 0; i < analysis->burst_count; i++)
            if (analysis->bursts[i].cell == c) {
                weight += analysis->bursts[i].accesses;
                sum += analysis->bursts[i].accesses * analysis->bursts[i].dilation;
            }
        open->dilation[c] = weight > 0 ? sum / weight : 1;
    }
}

static void prepare(struct open_lines *open)
{
    const struct analysis *analysis = open->analysis;
    size_t points = analysis->cell_count * PACE_POINTS + 1;

    open->opens = allocate(analysis->probe_count + 1, sizeof *open->opens);
    open->times = allocate_zeroed(analysis->burst_count * PROBE_TIME_BINS + 1, sizeof *open->times);
    open->dilation = allocate(analysis->cell_count + 1, sizeof *open->dilation);
    open->fates = allocate_zeroed(replicate_count(analysis), sizeof *open->fates);
    open->pace = allocate_zeroed(points, sizeof *open->pace);
    open->shared = allocate_zeroed(PACE_POINTS, sizeof *open->shared);
    open->visitors = allocate(analysis->stratum_count + 1, sizeof *open->visitors);
    if (analysis->options.groups)
        open->own_pace = allocate_zeroed(points, sizeof *open->own_pace);
    if (analysis->crossing_count)
        open->resolved = allocate(entries(analysis) + 1, sizeof *open->resolved);
    for (size_t i = 0; i < analysis->probe_count; i++) {
        count_resolved(open, &analysis->probes[i]);
        count_open(open, &analysis->probes[i], analysis->stratum_of[i]);
        if (open->resolved)
            count_by_stratum(open, &analysis->probes[i], analysis->stratum_of[i]);
    }
    choose_visitors(open);
    average_dilation(open);
    if (open->own_pace)
        measure_own_pace(open);
    watch_orders_create(open);
    open_distances_create(open);
}

struct open_lines *open_lines_create(const struct analysis *analysis)
{
    struct open_lines *open = allocate_zeroed(1, sizeof *open);
    struct replicate replicate = {0};

    open->analysis = analysis;
    prepare(open);
    replicate_allocate(analysis, &replicate);
    for (uint32_t r = 0; r < replicate_count(analysis); r++) {
        replicate.number = r;
        replicate.assumption = replicate_assumption(analysis, r);
        open_lines_estimate(open, &replicate, &open->fates[r]);
        if (r == 0) {
            memcpy(open->pace, replicate.pace,
                   analysis->cell_count * PACE_POINTS * sizeof *open->pace);
            memcpy(open->shared, replicate.shared, PACE_POINTS * sizeof *open->shared);
        }
    }
    replicate_free(&replicate);
    return open;
}

void open_lines_free(struct open_lines *open)
{
    if (!open)
        return;
    for (uint32_t r = 0; r < replicate_count(open->analysis); r++) {
        free(open->fates[r].outcomes);
        free(open->fates[r].first);
        free(open->fates[r].unseen);
        free(open->fates[r].valid);
        free(open->fates[r].alone);
    }
    for (size_t i = 0; i < open->size_count; i++)
        free(open->sizes[i].of);
    watch_orders_free(open);
    open_distances_free(open);
    free(open->opens);
    free(open->resolved);
    free(open->visitors);
    free(open->times);
    free(open->dilation);
    free(open->fates);
    free(open->pace);
    free(open->shared);
    free(open->own_pace);
    free(open->sizes);
    free(open);
}

/* ---- answers ---- */

static struct miss_shares shares_at_size(const struct memory_bound *memory, const struct fate *fate,
                                         size_t stratum, double lines)
{
    const struct unseen *unseen = &fate->unseen[stratum];
    bool uncertain = lines > unseen->lost_distance;
    struct miss_shares out = {.missed = unseen->left};

    if (uncertain) {
        out.missed *= memory_bound_farther(memory, unseen->lost_distance, lines);
        out.unknown = out.missed;
        out.spared = unseen->left - out.missed;
    }

    for (size_t k = fate->first[stratum]; k < fate->first[stratum + 1]; k++) {
        const struct outcome *outcome = &fate->outcomes[k];
        double mass = (double)outcome->mass;

        if (outcome->distance >= lines) {
            out.missed += mass;
            if (uncertain && outcome->kind == STEP_USED && outcome->time > unseen->lost)
                out.unknown += mass;
        } else if (outcome->kind == STEP_CROSSED) {
            out.crossing += mass;
        } else {
            out.invalidated += mass * (1 - (double)outcome->valid);
        }
    }
    return out;
}

static struct known_size *find_size(struct open_lines *open, double lines)
{
    size_t low = 0, high = open->size_count;
    struct known_size *sizes;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (open->sizes[middle].lines < lines)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < open->size_count && open->sizes[low].lines == lines)
        return &open->sizes[low];
    sizes = reallocate(open->sizes, open->size_count + 1, sizeof *sizes);
    open->sizes = sizes;
    memmove(&sizes[low + 1], &sizes[low], (open->size_count - low) * sizeof *sizes);
    sizes[low] = (struct known_size){.lines = lines};
    open->size_count++;
    return &sizes[low];
}

const struct miss_shares *open_lines_at_size(const struct analysis *analysis, double lines)
{
    struct known_size *size = find_size(analysis->open, lines);
    uint32_t replicates = replicate_count(analysis);
    size_t strata = analysis->stratum_count;

    if (!size->of) {
        size->of = allocate(replicates * strata, sizeof *size->of);
        for (size_t g = 0; g < strata; g++)
            for (uint32_t r = 0; r < replicates; r++)
                size->of[g * replicates + r] =
                    shares_at_size(&analysis->memory, &analysis->open->fates[r], g, lines);
    }
    return size->of;
}

struct miss_shares open_lines_at_time(const struct analysis *analysis, double time,
                                      uint32_t replicate, uint32_t stratum)
{
    const struct fate *fate = &analysis->open->fates[replicate];
    struct miss_shares of = {.missed = fate->unseen[stratum].left};

    of.unknown = time > fate->unseen[stratum].lost ? of.missed : 0;
    for (size_t k = fate->first[stratum]; k < fate->first[stratum + 1]; k++) {
        const struct outcome *outcome = &fate->outcomes[k];

        if (outcome->time > time)
            of.missed += (double)outcome->mass;
        else if (outcome->kind == STEP_CROSSED)
            of.crossing += (double)outcome->mass;
        else
            of.invalidated += (double)outcome->mass * (1 - (double)outcome->valid);
    }
    return of;
}

double open_lines_time_place(double time)
{
    size_t next = pace_point(time);

    if (next == 0 || next >= SHORT_POINTS)
        return next ? SHORT_POINTS - 1 : 0;
    double low = pace_time(next - 1);
    return (double)(next - 1) + (time - low) / (pace_time(next) - low);
}

/* Of a stratum's values at the first points of the grid, that at a place; NULL: 1. */
static double value_at(const float *values, uint32_t stratum, double place)
{
    size_t point = (size_t)place;

    if (!values)
        return 1;
    values += (size_t)stratum * SHORT_POINTS;
    if (point >= SHORT_POINTS - 1)
        return (double)values[SHORT_POINTS - 1];
    return (double)values[point] +
           (place - (double)point) * (double)(values[point + 1] - values[point]);
}

double open_lines_valid(const struct analysis *analysis, uint32_t replicate, uint32_t stratum,
                        double place)
{
    return value_at(analysis->open->fates[replicate].valid, stratum, place);
}

double open_lines_alone(const struct analysis *analysis, uint32_t replicate, uint32_t stratum,
                        double place)
{
    return value_at(analysis->open->fates[replicate].alone, stratum, place);
}

double open_lines_eviction_time(const struct analysis *analysis, double lines)
{
    const double *pace = analysis->open->shared;

    for (size_t k = 1; k < PACE_POINTS; k++)
        if (pace[k] >= lines)
            return pace_time(k - 1) + (pace_time(k) - pace_time(k - 1)) * (lines - pace[k - 1]) /
                                          (pace[k] - pace[k - 1]);
    return INFINITY;
}

double open_lines_of_others(const struct analysis *analysis, uint32_t burst, double accesses)
{
    const struct analysed_burst *of = &analysis->bursts[burst];
    const struct open_lines *open = analysis->open;
    size_t first = (size_t)of->cell * PACE_POINTS;

    if (!open->own_pace)
        return 0;
    return fmax(0, pace_at(open->pace + first, accesses * of->dilation) -
                       pace_at(open->own_pace + first, accesses));
}

void open_lines_grid(const struct analysis *analysis, uint32_t replicate, uint32_t stratum,
                     double *survival, double *unknown, double *invalidated)
{
    const struct fate *fate = &analysis->open->fates[replicate];
    const struct unseen *unseen = &fate->unseen[stratum];

    for (size_t k = 0; k < PACE_POINTS; k++) {
        survival[k] = 0;
        invalidated[k] = 0;
    }
    /* What ends at each point first, then what is left from there on. */
    for (size_t i = fate->first[stratum]; i < fate->first[stratum + 1]; i++) {
        const struct outcome *outcome = &fate->outcomes[i];
        size_t point = pace_point(outcome->time);

        if (point >= PACE_POINTS)
            continue;
        survival[point] += (double)outcome->mass;
        invalidated[point] += (double)outcome->mass * (1 - (double)outcome->valid);
    }
    for (size_t k = 0; k < PACE_POINTS; k++) {
        survival[k] = (k ? survival[k - 1] : 1) - survival[k];
        invalidated[k] += k ? invalidated[k - 1] : 0;
        unknown[k] = pace_time(k) > unseen->lost ? survival[k] : 0;
    }
}
