/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stack distances that were seen. The window of a sample counts the other lines that it passes: the
 * stack distance itself where the sample's line is used again in it, and its beginning where it is
 * not. Average eviction times are needed only for what comes after the window
 * (docs/estimators.md, section 6).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"

enum { CLASS_SAMPLES_MIN = 16 };

/* In a shared cache the others' lines were not counted, but are known on average. */
static uint32_t lines_seen(const struct analysed_sample *sample)
{
    return sample->record->window_lines - 1 + (uint32_t)lround(sample->others_lines);
}

struct unresolved {
    uint32_t lines, sample;
};

static int compare_lines(const void *a, const void *b)
{
    const struct unresolved *x = a, *y = b;

    if (x->lines != y->lines)
        return x->lines < y->lines ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

/* Classes of equal size, by lines seen. */
static void classify(struct analysis *analysis, struct cell *cell, struct unresolved *samples,
                     size_t n)
{
    size_t classes =
        n / CLASS_SAMPLES_MIN < WINDOW_CLASSES ? n / CLASS_SAMPLES_MIN : WINDOW_CLASSES;
    double weights[WINDOW_CLASSES] = {0};

    if (classes == 0)
        classes = 1;
    if (n)
        qsort(samples, n, sizeof *samples, compare_lines);
    for (size_t i = 0; i < n; i++) {
        struct analysed_sample *sample = &analysis->samples[samples[i].sample];
        unsigned k = (unsigned)(i * classes / n);

        sample->class = (uint8_t)k;
        weights[k] += sample->weight;
        cell->classes[k].lines += sample->weight * samples[i].lines;
        cell->classes[k].accesses +=
            sample->weight * sample->record->window_accesses * sample->dilation;
    }
    for (size_t k = 0; k < classes; k++) {
        cell->classes[k].lines /= weights[k] > 0 ? weights[k] : 1;
        cell->classes[k].accesses /= weights[k] > 0 ? weights[k] : 1;
    }
}

int analysis_classify_windows(struct analysis *analysis)
{
    int index = line_size_index(analysis->line_size);
    struct unresolved *unresolved = malloc((analysis->count + 1) * sizeof *unresolved);

    if (!unresolved)
        return -1;
    for (size_t c = 0; c < analysis->cell_count; c++) {
        struct cell *cell = &analysis->cells[c];
        size_t n = 0;

        cell->lines_counted = analysis->line_size == analysis->run_line_size && cell->count > 0;
        for (size_t i = cell->first; i < cell->first + cell->count; i++) {
            struct analysed_sample *sample = &analysis->samples[analysis->by_cell[i]];

            sample->class = WINDOW_RESOLVED;
            cell->lines_counted &= sample->record->window_lines > 0;
            if (sample->record->window_reuse[index] == REUSE_TIME_NONE)
                unresolved[n++] = (struct unresolved){lines_seen(sample), analysis->by_cell[i]};
        }
        if (cell->lines_counted)
            classify(analysis, cell, unresolved, n);
        analysis->lines_counted |= cell->lines_counted;
    }
    free(unresolved);
    return 0;
}

/* How many of the sizes, ascending and in whole lines, are at most `seen`. */
static uint16_t sizes_up_to(const double *whole_lines, size_t sizes, double seen)
{
    size_t low = 0, high = sizes;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (whole_lines[middle] <= seen)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint16_t)low;
}

int window_tally_create(const struct analysis *analysis, const uint32_t *samples, size_t n,
                        const double *lines, size_t sizes, struct window_tally *out)
{
    *out = (struct window_tally){.sizes = sizes};
    out->part = malloc((sizes + 1) * sizeof *out->part);
    out->misses = malloc((n + 1) * sizeof *out->misses);
    out->may_miss = malloc((n + 1) * sizeof *out->may_miss);
    out->class = malloc((n + 1) * sizeof *out->class);
    out->missed = malloc((sizes + 1) * sizeof *out->missed);
    out->scratch = malloc((sizes + 1) * sizeof *out->scratch);
    if (!out->part || !out->misses || !out->may_miss || !out->class || !out->missed ||
        !out->scratch) {
        window_tally_free(out);
        return -1;
    }
    double *whole_lines = out->scratch;
    for (size_t k = 0; k < sizes; k++) {
        whole_lines[k] = floor(lines[k]);
        out->part[k] = lines[k] - whole_lines[k];
    }
    for (size_t i = 0; i < n; i++) {
        double seen = lines_seen(&analysis->samples[samples[i]]);
        uint16_t may_miss = sizes_up_to(whole_lines, sizes, seen);

        out->class[i] = analysis->samples[samples[i]].class;
        out->may_miss[i] = out->misses[i] = may_miss;
        while (out->misses[i] > 0 && whole_lines[out->misses[i] - 1] > seen - 1)
            out->misses[i]--;
    }
    return 0;
}

void window_tally_free(struct window_tally *tally)
{
    free(tally->part);
    free(tally->misses);
    free(tally->may_miss);
    free(tally->class);
    free(tally->missed);
    free(tally->scratch);
    *tally = (struct window_tally){0};
}

/* From weights by how many sizes are too small, to weights by size of those that it is too small
 * for. */
static void add_from_above(double *weights, size_t sizes)
{
    for (size_t k = sizes; k-- > 0;)
        weights[k] += weights[k + 1];
    memmove(weights, weights + 1, sizes * sizeof *weights);
}

void window_tally_add_up(const double *weights, size_t from, size_t to, struct window_tally *tally)
{
    memset(tally->missed, 0, (tally->sizes + 1) * sizeof *tally->missed);
    memset(tally->scratch, 0, (tally->sizes + 1) * sizeof *tally->scratch);
    memset(tally->class_weight, 0, sizeof tally->class_weight);
    for (size_t i = from; i < to; i++) {
        unsigned class = tally->class[i];

        if (class == WINDOW_RESOLVED) {
            tally->missed[tally->misses[i]] += weights[i];
            tally->scratch[tally->may_miss[i]] += weights[i];
        } else {
            tally->class_weight[class] += weights[i];
        }
    }
    add_from_above(tally->missed, tally->sizes);
    add_from_above(tally->scratch, tally->sizes);
    /* A size between two whole numbers of lines lies between them in misses, as in counts of every
     * access (exact.c). */
    for (size_t k = 0; k < tally->sizes; k++)
        tally->missed[k] += (1 - tally->part[k]) * (tally->scratch[k] - tally->missed[k]);
}

double window_class_area(const struct window_class *class, const struct survival_curve *curve,
                         double lines, double lines_per_access, bool persistent)
{
    double expected = survival_area_at(curve, class->accesses);

    if (lines <= class->lines)
        return 0;
    /* Beyond the window as everybody: or still as much more or less than everybody as in it. */
    return persistent ? lines * expected / fmax(class->lines, 1)
                      : (lines - class->lines) / lines_per_access + expected;
}

/*
 * Part of a class that misses if it is evicted at that time; 0: in its window, after as long as the
 * average. Windows know nothing of other threads, which may come to the line earlier.
 */
static double class_missed(const struct window_class *class, const struct survival_curve *curve,
                           double eviction_time, double average_time, double run)
{
    double time = fmin(eviction_time, run);
    double at_end = survival_at(curve, class->accesses)->survival, beyond, left;

    if (time <= class->accesses || at_end <= 0)
        return survival_at(curve, fmin(average_time, class->accesses))->uncrossed;
    /* The class's own survival is 1 in the window and S over S at its end after it. */
    left = survival_at(curve, class->accesses)->uncrossed;
    beyond = survival_area_at(curve, time) - survival_area_at(curve, class->accesses);
    return fmin(1, fmax(0, left * (survival_at(curve, time)->survival / at_end * (1 - time / run) +
                                   (class->accesses + beyond / at_end) / run)));
}

struct miss_shares window_misses(const struct cell *cell, const struct survival_curve *curve,
                                 const double *times, const struct window_tally *tally, size_t size,
                                 double weight)
{
    struct miss_shares out = misses_in_run(curve, times[0], cell->run);
    double missed;

    if (!tally || weight <= 0)
        return out;
    missed = tally->missed[size] * survival_at(curve, times[0])->uncrossed;
    for (unsigned k = 0; k < WINDOW_CLASSES; k++)
        if (tally->class_weight[k] > 0)
            missed += tally->class_weight[k] *
                      class_missed(&cell->classes[k], curve, times[1 + k], times[0], cell->run);
    out.missed = missed / weight;
    out.unknown = fmin(out.unknown, out.missed);
    return out;
}
