/* SPDX-License-Identifier: BSD-3-Clause */
/* See progress_rates.h. */
#include "analysis/rates/progress_rates.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/rates/refill.h"

/* Bursts near in time that a variable's progress per access is taken from: a program does not do
 * the same all the time. */
enum { WINDOW = 12 };
/* What a burst of another loop counts for. */
#define ELSEWHERE 0.25
/* Accesses of a few thousand tell the progress per access to this deviation of ln; worth so many
 * bursts. */
#define BURST_DEVIATION 0.4
#define PRIOR_BURSTS 2.0
#define LEAST_DEVIATION 0.02
/* The brief stretch begins on caches that a burst has left cold. A variable that was set back in
 * the long stretch, or has become another one, moved faster, or unlike this, in the brief one. */
#define FASTER 1.15
#define SLOWER 0.25
#define SLACK_NS 12e3
/* Steps of a variable come by chance: the brief stretch may have so many deviations more or less.
 */
#define CHANCE 2.0
/* Of the size that it had in the burst; fewer steps in the long stretch tell nothing. */
#define STEPS_LEAST 6.0
#define BURSTS_LEAST 8.0
/* A variable that is set back moves by less than half of what it would have, however often. Up to
 * the next burst it moves, in terms of its pace in the long stretch, by no less and no more than:
 */
#define REST_SLOWER 0.55
#define REST_FASTER 1.8
/* The program is slower for some milliseconds after a burst: by so much, ln, give or take, before
 * anything is known; worth so many readings. */
#define COLD 0.1
#define COLD_DEVIATION 0.05
#define COLD_PRIOR 3.0

struct moved {
    const struct record_progress *record;
    size_t order; /* in the file */
    double sign;  /* of its progress */
    double pace;  /* progress per ns, until the next burst if that is known */
    bool until_next;
    double per_ns, deviation;
};

static int compare_variables(const struct record_progress *x, const struct record_progress *y)
{
    if (x->thread_id != y->thread_id)
        return x->thread_id < y->thread_id ? -1 : 1;
    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return (int)x->width - (int)y->width;
}

static int by_variable(const void *a, const void *b)
{
    const struct moved *x = a, *y = b;
    int order = compare_variables(x->record, y->record);

    return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* Those of one burst together, slow ones first. */
static int by_burst(const void *a, const void *b)
{
    const struct moved *x = a, *y = b;

    if (x->record->thread_id != y->record->thread_id)
        return x->record->thread_id < y->record->thread_id ? -1 : 1;
    if (x->record->app_ns != y->record->app_ns)
        return x->record->app_ns < y->record->app_ns ? -1 : 1;
    if (x->per_ns != y->per_ns)
        return x->per_ns < y->per_ns ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Variance of its progress over that progress, from the parts of the burst and one step. */
static double scatter(const struct record_progress *record)
{
    double parts = record->parts, progress = fabs(record->progress), step;

    if (progress <= 0 || parts < 1)
        return 0;
    step = progress / parts;
    return (fmax(0, record->squares - progress * step) + step * step) / progress;
}

/* It moved on in both stretches, about equally fast. */
static bool moved_on(const struct moved *moved)
{
    const struct record_progress *record = moved->record;
    double lengthy = moved->sign * record->long_progress;
    double brief = moved->sign * record->brief_progress, pace, expected, variance;

    if (record->long_ns == 0 || record->brief_ns == 0 || lengthy <= 0 || brief < 0 ||
        lengthy < STEPS_LEAST * scatter(record))
        return false;
    /* In thousands of accesses it must move by more than in the burst; a local variable of a
     * function that returns does not. */
    if (record->flags & PROGRESS_FOUND && lengthy < BURSTS_LEAST * fabs(record->progress))
        return false;
    pace = lengthy / (double)record->long_ns;
    expected = pace * (double)record->brief_ns;
    variance = scatter(record) * expected;
    return brief <= FASTER * expected + CHANCE * sqrt(variance) &&
           brief >= SLOWER * fmax(0, expected - pace * SLACK_NS) - CHANCE * sqrt(variance);
}

/* In one of the stretches it was set back. */
static bool moved_back(const struct moved *moved)
{
    const struct record_progress *record = moved->record;

    return record->long_ns > 0 && record->brief_ns > 0 &&
           (moved->sign * record->long_progress < 0 || moved->sign * record->brief_progress < 0);
}

/* How fast it moved: up to the next burst, unless it was set back, or became another one. */
static void set_pace(struct moved *moved)
{
    const struct record_progress *record = moved->record;
    double lengthy = record->long_progress / (double)record->long_ns;
    double ns = (double)record->brief_ns + (double)record->long_ns + (double)record->rest_ns;
    double rest = record->rest_ns > 0 ? record->rest_progress / (double)record->rest_ns : 0;

    moved->until_next = rest / lengthy >= REST_SLOWER && rest / lengthy <= REST_FASTER;
    moved->pace =
        moved->sign *
        (moved->until_next
             ? (record->brief_progress + record->long_progress + record->rest_progress) / ns
             : lengthy);
}

/* ln of how much faster the program is between bursts than in the long stretches after them. */
static double warm_up(const struct moved *moved, size_t n, double *deviation)
{
    double sum = COLD_PRIOR * COLD, count = COLD_PRIOR;

    for (size_t i = 0; i < n; i++) {
        const struct record_progress *record = moved[i].record;

        if (moved[i].until_next) {
            sum += log(moved[i].pace * moved[i].sign * (double)record->long_ns /
                       record->long_progress);
            count++;
        }
    }
    *deviation = COLD_DEVIATION * sqrt(COLD_PRIOR / count);
    return sum / count;
}

struct ratio {
    double accesses, progress;
    double squares; /* of the bursts' deviations from it, as parts of what was expected */
    double bursts;  /* that it rests on */
};

/* Bursts of the same loop say more of what the loop does than others near by. */
static double weight_of(const struct moved *moved, const struct moved *at)
{
    return moved->record->loop == at->record->loop ? 1 : ELSEWHERE;
}

static struct ratio ratio_near(const struct moved *moved, size_t n, size_t at)
{
    struct ratio ratio = {0};
    size_t low = at, high = at + 1; /* taken: [low, high) */

    while (high - low < WINDOW && (low > 0 || high < n)) {
        if (high == n || (low > 0 && at - low < high - at))
            low--;
        else
            high++;
    }
    for (size_t i = low; i < high; i++) {
        double weight = weight_of(&moved[i], &moved[at]);

        ratio.accesses += weight * (double)moved[i].record->accesses;
        ratio.progress += weight * moved[i].sign * moved[i].record->progress;
        ratio.bursts += weight;
    }
    for (size_t i = low; i < high && ratio.progress > 0; i++) {
        double expected = (double)moved[i].record->accesses * ratio.progress / ratio.accesses;
        double off = moved[i].sign * moved[i].record->progress / expected - 1;

        ratio.squares += weight_of(&moved[i], &moved[at]) * off * off;
    }
    return ratio;
}

/* Readings by one variable: n >= 1 bursts of it, in their order. */
static void read_variable(struct moved *moved, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct ratio ratio = ratio_near(moved, n, i);

        if (ratio.progress <= 0)
            continue;
        double variance = (PRIOR_BURSTS * BURST_DEVIATION * BURST_DEVIATION + ratio.squares) /
                          (PRIOR_BURSTS + fmax(0, ratio.bursts - 1)) / ratio.bursts;

        moved[i].per_ns = moved[i].pace * ratio.accesses / ratio.progress;
        moved[i].deviation = fmax(LEAST_DEVIATION, sqrt(variance));
    }
}

/* The variables of one burst, n >= 1: the middle one, by weight. */
static struct progress_reading middle(const struct moved *moved, size_t n)
{
    double all = 0, below = 0;
    size_t i = 0;

    for (size_t k = 0; k < n; k++)
        all += 1 / (moved[k].deviation * moved[k].deviation);
    for (i = 0; i + 1 < n; i++) {
        below += 1 / (moved[i].deviation * moved[i].deviation);
        if (below >= all / 2)
            break;
    }
    return (struct progress_reading){.loop = moved[i].record->loop,
                                     .per_ns = fmin(FASTEST_RATE, moved[i].per_ns),
                                     .elapsed_ns = (double)moved[i].record->long_ns,
                                     .deviation = moved[i].deviation};
}

/* What moved on, by variable. */
static size_t list_moved(const struct profile *profile, struct moved *moved)
{
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < profile->progress.count; i++)
        moved[n++] = (struct moved){.record = &profile->progress.items[i], .order = i};
    qsort(moved, n, sizeof *moved, by_variable);
    for (size_t i = 0, end; i < n; i = end) {
        double sum = 0;
        size_t read = 0, back = 0, before = kept;

        for (end = i; end < n && compare_variables(moved[i].record, moved[end].record) == 0; end++)
            sum += moved[end].record->progress < 0 ? -1 : moved[end].record->progress > 0;
        for (size_t k = i; k < end; k++) {
            moved[k].sign = sum < 0 ? -1 : 1;
            read += moved[k].record->long_ns > 0 && moved[k].record->brief_ns > 0;
            back += moved_back(&moved[k]);
            if (moved_on(&moved[k]))
                moved[kept++] = moved[k];
        }
        /* An inner loop's counter begins anew within a stretch, and is behind where it was as often
         * as not, in one of two stretches three times in four: that other readings look as if it
         * had moved on is chance, and they would make the program slow. */
        if (back * 2 > read)
            kept = before;
    }
    return kept;
}

long progress_rates(const struct profile *profile, struct progress_reading **out)
{
    struct moved *moved = malloc((profile->progress.count + 1) * sizeof *moved);
    struct progress_reading *readings = malloc((profile->progress.count + 1) * sizeof *readings);
    size_t n = 0, count = 0, known = 0;

    *out = readings;
    if (!moved || !readings) {
        free(moved);
        free(readings);
        *out = NULL;
        return -1;
    }
    n = list_moved(profile, moved);
    for (size_t i = 0; i < n; i++)
        set_pace(&moved[i]);
    double deviation, warm = warm_up(moved, n, &deviation);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && compare_variables(moved[i].record, moved[end].record) == 0;)
            end++;
        read_variable(&moved[i], end - i);
    }
    for (size_t i = 0; i < n; i++) {
        if (!moved[i].until_next) {
            moved[i].per_ns *= exp(warm);
            moved[i].deviation = hypot(moved[i].deviation, deviation);
        }
        if (moved[i].per_ns > 0)
            moved[known++] = moved[i];
    }
    qsort(moved, known, sizeof *moved, by_burst);
    for (size_t i = 0, end; i < known; i = end) {
        for (end = i + 1; end < known &&
                          moved[end].record->thread_id == moved[i].record->thread_id &&
                          moved[end].record->app_ns == moved[i].record->app_ns;)
            end++;
        readings[count++] = middle(&moved[i], end - i);
    }
    free(moved);
    return (long)count;
}
