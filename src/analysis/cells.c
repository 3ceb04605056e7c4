/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides the samples into cells within which behaviour is taken as stationary: the eviction time
 * of a cache is one number per cell. A cell is a thread (with shared caches: a group of threads),
 * or a part of its time where that behaves differently from the rest; those with few samples share
 * a cell.
 *
 * A thread's samples are cut into windows of equal numbers; windows whose outcomes do not differ
 * significantly are put together again, neighbours or not, the most alike first. So a steady
 * program has one cell, and few samples cannot look like phases.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/homogeneity.h"
#include "analysis/internal.h"

enum {
    OWN_CELL_MIN = 128, /* samples that a thread, or group, needs to stand alone */
    PHASE_SAMPLES_MIN = 64,
    PHASES_MAX = 32,
    OUTCOMES = 64,
};
/* Windows of two phases are of more than one kind: chance in one of fifty cases. The test looks at
 * each window and so sees less than the one above. */
#define HETEROGENEOUS_Z 2.05

struct outcomes {
    uint32_t count[OUTCOMES];
    uint32_t total;
};

static unsigned log4_class(double accesses)
{
    int exponent = ilogb(accesses < 1 ? 1 : accesses) / 2;

    return exponent > 23 ? 23 : (unsigned)exponent;
}

/* What became of a sample, coarsely: classes of the test only, not of any estimate. */
static unsigned outcome(const struct analysis *analysis, uint32_t index)
{
    const struct analysed_sample *sample = &analysis->samples[index];
    uint32_t reuse = sample->record->window_reuse[line_size_index(analysis->line_size)];

    if (reuse != REUSE_TIME_NONE)
        return log4_class(reuse) & 15;
    if (sample->watched <= 0)
        return 16;
    bool reused = sample->end && sample->end->reason == WATCH_REUSED;
    unsigned class = 17 + log4_class(sample->watched) + (reused ? 24 : 0);
    return class < OUTCOMES ? class : OUTCOMES - 1;
}

/*
 * The chi-square test of homogeneity for all windows of two phases together, each window by itself.
 * Windows were put into phases by their outcomes, so that two phases of mere chance would differ,
 * too: this test knows nothing of the phases.
 */
static double heterogeneity(const struct outcomes *windows, unsigned n, const unsigned *phase_of,
                            unsigned a, unsigned b)
{
    double all[OUTCOMES + 1] = {0}, total = 0, least = INFINITY, square = 0;
    bool rare[OUTCOMES];
    int classes = 0, members = 0;

    for (unsigned w = 0; w < n; w++) {
        if (phase_of[w] != a && phase_of[w] != b)
            continue;
        for (int i = 0; i < OUTCOMES; i++)
            all[i] += windows[w].count[i];
        total += windows[w].total;
        least = fmin(least, windows[w].total);
        members++;
    }
    for (int i = 0; i < OUTCOMES; i++) {
        rare[i] = all[i] * least < HOMOGENEITY_EXPECTED_MIN / 2.0 * total;
        all[OUTCOMES] += rare[i] ? all[i] : 0;
        classes += !rare[i];
    }
    classes += all[OUTCOMES] > 0;
    if (classes < 2 || members < 2)
        return -INFINITY;
    for (unsigned w = 0; w < n; w++) {
        double rest = 0;
        if (phase_of[w] != a && phase_of[w] != b)
            continue;
        for (int i = 0; i <= OUTCOMES; i++) {
            double count = i < OUTCOMES ? windows[w].count[i] : rest;
            double expected = all[i] * windows[w].total / total;
            if (i < OUTCOMES && rare[i])
                rest += count;
            else if (expected > 0)
                square += (count - expected) * (count - expected) / expected;
        }
    }
    return chi_square_deviate(square, (classes - 1.0) * (members - 1.0));
}

/* Gives each of n windows the number of its phase; returns how many phases there are. */
static unsigned join_windows(const struct outcomes *windows, unsigned n, unsigned *phase_of)
{
    struct outcomes phase[PHASES_MAX];
    unsigned phases = n;

    memcpy(phase, windows, n * sizeof *phase);

    for (unsigned i = 0; i < n; i++)
        phase_of[i] = i;
    while (phases > 1) {
        double least = INFINITY;
        unsigned best_a = 0, best_b = 0;
        for (unsigned a = 0; a < n; a++) {
            for (unsigned b = a + 1; b < n && phase[a].total; b++) {
                double z = phase[b].total
                               ? homogeneity_deviate(phase[a].count, phase[b].count, OUTCOMES)
                               : INFINITY;
                if (z < least && (z <= HOMOGENEITY_DIFFERENT ||
                                  heterogeneity(windows, n, phase_of, a, b) <= HETEROGENEOUS_Z)) {
                    least = z;
                    best_a = a;
                    best_b = b;
                }
            }
        }
        if (least == INFINITY)
            break;
        for (unsigned i = 0; i < OUTCOMES; i++)
            phase[best_a].count[i] += phase[best_b].count[i];
        phase[best_a].total += phase[best_b].total;
        phase[best_b].total = 0;
        for (unsigned i = 0; i < n; i++) {
            if (phase_of[i] == best_b)
                phase_of[i] = best_a;
        }
        phases--;
    }
    return phases;
}

struct timed {
    uint64_t time;
    uint32_t sample;
};

static int compare_timed(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->sample != y->sample ? (x->sample < y->sample ? -1 : 1) : 0;
}

/* Cells of the samples of one thread, or group, given in time order. */
static void divide_domain(struct analysis *analysis, const struct timed *samples, size_t n)
{
    struct outcomes windows[PHASES_MAX] = {0};
    unsigned phase_of[PHASES_MAX], number[PHASES_MAX];
    unsigned count =
        (unsigned)(n / PHASE_SAMPLES_MIN < PHASES_MAX ? n / PHASE_SAMPLES_MIN : PHASES_MAX);

    if (count < 1)
        count = 1;
    for (size_t i = 0; i < n; i++) {
        struct outcomes *window = &windows[i * count / n];
        window->count[outcome(analysis, samples[i].sample)]++;
        window->total++;
    }
    join_windows(windows, count, phase_of);
    for (unsigned i = 0; i < count; i++) {
        if (phase_of[i] == i)
            number[i] = (unsigned)analysis->cell_count++;
    }
    for (size_t i = 0; i < n; i++)
        analysis->samples[samples[i].sample].cell = number[phase_of[i * count / n]];
}

static int order_by_cell(struct analysis *analysis)
{
    analysis->cells = calloc(analysis->cell_count + 1, sizeof *analysis->cells);
    analysis->by_cell = malloc((analysis->count + 1) * sizeof *analysis->by_cell);
    double *weights = calloc(2 * analysis->cell_count + 1, sizeof *weights);
    double *accesses = weights + analysis->cell_count;
    if (!analysis->cells || !analysis->by_cell || !weights) {
        free(weights);
        return -1;
    }
    for (size_t i = 0; i < analysis->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[i];
        analysis->cells[sample->cell].count++;
        analysis->cells[sample->cell].run += analysis->domains[sample->domain].accesses;
        weights[sample->cell] += sample->weight;
        accesses[sample->cell] += sample->weight / sample->lines;
    }
    for (size_t c = 1; c < analysis->cell_count; c++)
        analysis->cells[c].first = analysis->cells[c - 1].first + analysis->cells[c - 1].count;
    for (size_t c = 0; c < analysis->cell_count; c++) {
        analysis->cells[c].run /= (double)analysis->cells[c].count;
        analysis->cells[c].lines_per_access = accesses[c] > 0 ? weights[c] / accesses[c] : 1;
        analysis->cells[c].count = 0;
    }
    for (size_t i = 0; i < analysis->count; i++) {
        struct cell *cell = &analysis->cells[analysis->samples[i].cell];
        analysis->by_cell[cell->first + cell->count++] = (uint32_t)i;
    }
    free(weights);
    return 0;
}

int analysis_divide(struct analysis *analysis)
{
    struct timed *samples = malloc((analysis->count + 1) * sizeof *samples);
    size_t *next = calloc(analysis->domain_count + 1, sizeof *next);
    size_t first = 0, small_cell = SIZE_MAX;

    if (!samples || !next) {
        free(samples);
        free(next);
        return -1;
    }
    for (size_t d = 0; d < analysis->domain_count; d++) {
        next[d] = first;
        first += analysis->domains[d].samples;
    }
    for (size_t i = 0; i < analysis->count; i++) {
        const struct record_sample *record = analysis->samples[i].record;
        uint64_t time = analysis->options.groups ? record->monotonic_ns : record->app_ns;

        samples[next[analysis->samples[i].domain]++] = (struct timed){time, (uint32_t)i};
    }
    first = 0;
    for (size_t d = 0; d < analysis->domain_count; d++) {
        size_t n = analysis->domains[d].samples;
        if (n >= OWN_CELL_MIN) {
            qsort(samples + first, n, sizeof *samples, compare_timed);
            divide_domain(analysis, samples + first, n);
        } else {
            if (small_cell == SIZE_MAX)
                small_cell = analysis->cell_count++;
            for (size_t i = 0; i < n; i++)
                analysis->samples[samples[first + i].sample].cell = (uint32_t)small_cell;
        }
        first += n;
    }
    free(samples);
    free(next);
    return order_by_cell(analysis);
}
