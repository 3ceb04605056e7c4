/* SPDX-License-Identifier: BSD-3-Clause */
/* See progress_rates.h. */
#include "analysis/rates/progress_rates.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/rates/progress_observations.h"
#include "analysis/rates/shared_words.h"
#include "analysis/rates/variable_pace.h"
#include "analysis/rates/word_rates.h"
#include "support/memory.h"

/* A variable that moves both ways in so many of its bursts is none. */
#define BOTH_WAYS 0.1
/* One that counts how often another is set back moves in this share of its bursts at most. */
#define COUNTS_SELDOM 0.25
/* Bursts that a reading by one variable rests on, at least: what moved one way once may be
 * anything. Deviation of ln(rate) for that reason, which falls with their number. */
enum { SEEN_LEAST = 2 };
#define SEEN_ONCE 1.0
/* Readings of a group, more or less vague, beside what the model of a processor has (198 of 18
 * programs of 0.3 to 2 s): with a variance below 0.4 two of 181 were off by a factor of 7 or more,
 * from 0.6 on ten of 14, all of them too low. */
#define VAGUE 0.4
/* What a variable does in a burst, in medians of what it does in one. */
#define ANOTHER_ONE 1e4
#define ASTRAY 0.02
/* What ends of a time between look and burst are off by, as a share of it; and what the readings of
 * a group have in common. */
#define ENDS_DEVIATION 0.02
#define GROUP_DEVIATION 0.05
/* Readings of one group within this distance, ln, of their median agree. */
#define AGREEMENT 0.3
/* Code of a group in whose bursts nothing moves on may run this much faster or slower, ln. */
#define UNSEEN_DEVIATION 0.7

static int by_time(const struct observation *x, const struct observation *y)
{
    if (x->before_ns != y->before_ns)
        return x->before_ns < y->before_ns ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

/* Groups apart; in each the variables; of each the shortest times first. */
static int by_group(const void *a, const void *b)
{
    const struct observation *x = a, *y = b;
    int order = observation_compare_variables(x, y);

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return order ? order : by_time(x, y);
}

static size_t count_variables(const struct profile *profile)
{
    size_t n = 0;

    for (size_t i = 0; i < profile->progress.count; i++)
        n += profile->progress.items[i]->count;
    return n;
}

/* Returns their number. */
static size_t list_observations(const struct profile *profile, const uint32_t *groups,
                                struct observation *list)
{
    size_t n = 0;

    for (size_t i = 0; i < profile->progress.count; i++) {
        const struct record_progress *record = profile->progress.items[i];
        const struct record_thread *thread = profile_thread(profile, record->thread_id);

        for (uint32_t k = 0; k < record->count; k++) {
            const struct progress_variable *variable = &record->variables[k];
            bool before = variable->flags & PROGRESS_BEFORE,
                 since = variable->flags & PROGRESS_SINCE;

            if (variable->kind != PROGRESS_REGISTER && variable->kind != PROGRESS_WORD &&
                variable->kind != PROGRESS_KERNEL_COUNT)
                continue;
            list[n] = (struct observation){
                .group = groups[i],
                .thread = variable->kind == PROGRESS_REGISTER ? 0 : record->thread_id,
                .kind = variable->kind,
                .width = variable->width,
                .place = variable->place,
                .record = i,
                .order = n,
                .process = thread ? thread->origin_id : 0,
                .shared = variable->flags & PROGRESS_SHARED,
                .before_ns = before ? progress_time(record->before_ns) : 0,
                .before = before ? variable->before : 0,
                .since_ns = since ? progress_time(record->since_ns) : 0,
                .since = since ? variable->since : 0,
                .within = variable->within,
                .accesses = variable->accesses,
            };
            n++;
        }
    }
    return n;
}

/* ---- a variable in a group: before its bursts ---- */

struct ratio {
    double accesses, within;
    double sign; /* of its progress; 0: it has none */
    double most; /* per access in a burst; beyond it the variable was another one there */
};

static double per_access(const struct observation *at)
{
    return fabs(at->within) / fmax(1, at->accesses);
}

static int compare_numbers(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* A register that held a counter, and now an address, has moved by more. */
static double progress_most(const struct observation *list, size_t n)
{
    double *moves = allocate(n, sizeof *moves), middle;
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (list[i].within != 0)
            moves[count++] = per_access(&list[i]);
    qsort(moves, count, sizeof *moves, compare_numbers);
    middle = count > 0 ? moves[count / 2] : 0;
    free(moves);
    return ANOTHER_ONE * middle;
}

static struct ratio progress_of(const struct observation *list, size_t n)
{
    struct ratio ratio = {.most = progress_most(list, n)};
    size_t against = 0;

    for (size_t i = 0; i < n; i++)
        if (per_access(&list[i]) <= ratio.most) {
            ratio.accesses += list[i].accesses;
            ratio.within += list[i].within;
        }
    for (size_t i = 0; i < n; i++)
        against += list[i].within * ratio.within < 0;
    if (ratio.within != 0 && (double)against <= BOTH_WAYS * (double)n)
        ratio.sign = ratio.within < 0 ? -1 : 1;
    return ratio;
}

/* The variables of a group, one after the other; the observations of each sorted by their times. */
struct variable {
    const struct observation *list;
    size_t count;
    struct ratio ratio;
};

/* Nothing moves a variable by more than this in such a time; it became another one. */
static bool possible(const struct variable *variable, const struct observation *at)
{
    return variable->ratio.sign * at->before * variable->ratio.accesses <=
           FASTEST_RATE * at->before_ns * fabs(variable->ratio.within);
}

/* Its readings; with what `counter`, unless NULL, moved by in them: a register that is not listed
 * with others of its activation stood still. Returns their number; *back: in how many the variable
 * was set back. */
static size_t list_readings(const struct variable *variable, const struct variable *counter,
                            struct pace_reading *readings, size_t *back)
{
    size_t count = 0, k = 0;

    *back = 0;
    for (size_t i = 0; i < variable->count; i++) {
        const struct observation *at = &variable->list[i];

        if (at->before_ns <= 0 || !possible(variable, at))
            continue;
        while (counter && k < counter->count && by_time(&counter->list[k], at) < 0)
            k++;
        readings[count++] = (struct pace_reading){
            .ns = at->before_ns,
            .moved = variable->ratio.sign * at->before,
            .counter = counter && k < counter->count && counter->list[k].record == at->record
                           ? counter->list[k].before
                           : 0,
        };
        *back += variable->ratio.sign * at->before < 0;
    }
    return count;
}

static bool counts_seldom(const struct variable *variable)
{
    size_t moves = 0;

    for (size_t i = 0; i < variable->count; i++)
        moves += variable->list[i].within != 0;
    return variable->list->kind == PROGRESS_REGISTER &&
           (double)moves <= COUNTS_SELDOM * (double)variable->count;
}

/* The pace of variables[at], one of n of a group. */
static bool pace_of(const struct variable *variables, size_t n, size_t at,
                    struct pace_reading *readings, struct pace *pace)
{
    size_t back, count = list_readings(&variables[at], NULL, readings, &back);
    struct pace counted;
    bool found;

    if ((double)back <= NEVER_BACK * (double)count)
        return pace_of_all(readings, count, pace);
    found = pace_of_most(readings, count, pace);
    for (size_t i = 0; i < n && variables[at].list->kind == PROGRESS_REGISTER; i++) {
        if (i == at || variables[i].list->place != variables[at].list->place ||
            !counts_seldom(&variables[i]))
            continue;
        count = list_readings(&variables[at], &variables[i], readings, &back);
        if (pace_with_counter(readings, count, &counted) &&
            (!found || counted.count > pace->count)) {
            *pace = counted;
            found = true;
        }
    }
    return found;
}

/* A reading by variables[at], one of n of a group. False: it says nothing. */
static bool read_variable(const struct variable *variables, size_t n, size_t at,
                          struct pace_reading *scratch, struct rate_reading *reading)
{
    const struct variable *variable = &variables[at];
    const struct ratio *ratio = &variable->ratio;
    struct pace pace;
    double variance, seen;

    if (ratio->sign == 0 || !pace_of(variables, n, at, scratch, &pace) || pace.count < SEEN_LEAST)
        return false;
    seen = SEEN_ONCE / (double)pace.count;
    variance = pace.variance + ENDS_DEVIATION * ENDS_DEVIATION +
               seen * seen * (1 + (double)pace.against / (double)pace.count);
    for (size_t i = 0; i < variable->count; i++) {
        double off =
            variable->list[i].within - variable->list[i].accesses * ratio->within / ratio->accesses;

        if (per_access(&variable->list[i]) <= ratio->most)
            variance += off * off / (ratio->within * ratio->within);
    }
    *reading = (struct rate_reading){
        .group = variable->list->group,
        .log_rate = log(pace.per_ns * ratio->accesses / fabs(ratio->within)),
        .variance = variance,
        .bursts = pace.count,
    };
    return variance < SAYS_NOTHING && reading->log_rate > log(SLOWEST_RATE) &&
           reading->log_rate < log(FASTEST_RATE);
}

/* The variables of a group, which often say the same: the middle one by weight. looked: bursts of
 * the group that a look came before. */
static struct rate_reading middle(struct rate_reading *list, size_t n, size_t looked)
{
    struct rate_reading out = list[rate_middle(list, n)];
    double least = INFINITY, unseen;
    size_t most = 0;

    for (size_t k = 0; k < n; k++) {
        if (fabs(list[k].log_rate - out.log_rate) > AGREEMENT)
            continue;
        least = fmin(least, list[k].variance);
        most = list[k].bursts > most ? list[k].bursts : most;
    }
    unseen = UNSEEN_DEVIATION * (looked > most ? 1 - (double)most / (double)looked : 0);
    out.bursts = most;
    out.astray = ASTRAY;
    out.variance = least + GROUP_DEVIATION * GROUP_DEVIATION + unseen * unseen;
    return out;
}

/* The variables of the group that begins at list[i]; returns where it ends. */
static size_t list_variables(const struct observation *list, size_t n, size_t i,
                             struct variable *variables, size_t *count)
{
    uint32_t group = list[i].group;

    *count = 0;
    for (size_t end; i < n && list[i].group == group; i = end) {
        for (end = i + 1; end < n && list[end].group == group &&
                          observation_compare_variables(&list[end], &list[i]) == 0;)
            end++;
        variables[(*count)++] =
            (struct variable){&list[i], end - i, progress_of(&list[i], end - i)};
    }
    return i;
}

struct scratch {
    struct rate_reading *readings;
    struct variable *variables;
    struct pace_reading *paces;
};

static void add_readings(struct observation *list, size_t n, const size_t looked[RATE_GROUPS_MAX],
                         struct scratch *scratch, struct rate_evidence *evidence)
{
    qsort(list, n, sizeof *list, by_group);
    for (size_t i = 0; i < n;) {
        uint32_t group = list[i].group;
        size_t variables, readings = 0;

        i = list_variables(list, n, i, scratch->variables, &variables);
        for (size_t k = 0; k < variables; k++)
            readings += read_variable(scratch->variables, variables, k, scratch->paces,
                                      &scratch->readings[readings]);
        if (readings > 0) {
            struct rate_reading reading = middle(scratch->readings, readings, looked[group]);

            if (reading.variance < VAGUE)
                evidence->readings[evidence->reading_count++] = reading;
        }
    }
}

void progress_rates(const struct profile *profile, const uint32_t *groups,
                    struct rate_evidence *evidence)
{
    size_t n = count_variables(profile), looked[RATE_GROUPS_MAX] = {0};
    struct observation *list = allocate(n, sizeof *list);
    struct scratch scratch = {
        .readings = allocate(n, sizeof *scratch.readings),
        .variables = allocate(n, sizeof *scratch.variables),
        .paces = allocate(n, sizeof *scratch.paces),
    };

    evidence->readings = allocate(2 * RATE_GROUPS_MAX, sizeof *evidence->readings);
    evidence->equations = allocate(n, sizeof *evidence->equations);
    evidence->terms = allocate(n, sizeof *evidence->terms);
    evidence->reading_count = evidence->equation_count = evidence->term_count = 0;
    for (size_t i = 0; i < profile->progress.count; i++)
        looked[groups[i]] += progress_time(profile->progress.items[i]->before_ns) > 0;
    n = shared_words_correct(list, list_observations(profile, groups, list));
    add_readings(list, n, looked, &scratch, evidence);
    word_rates(list, n, evidence);
    free(list);
    free(scratch.readings);
    free(scratch.variables);
    free(scratch.paces);
}
