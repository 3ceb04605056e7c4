/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A word over the whole time between bursts: what it moved by is the sum of what the code of each
 * group moved it by. One equation for the groups' rates, from each word that never goes back.
 */
#include "analysis/rates/word_rates.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Bursts that know a word, before it is believed that it never goes back. */
enum { WORD_BURSTS_LEAST = 5 };
/* The errors of a thread's words come from the same bursts, and are alike by this correlation. */
#define WORDS_ALIKE 0.5
/* A word that moved so many times in bursts: deviation of its progress per access, beside what it
 * scattered by. Twice as large as that of a Poisson count would be small. System calls are few, and
 * taken for such a count. */
#define COUNT_VARIANCE 0.25
#define WORD_DEVIATION 0.02
/* Code that fills a table in no order takes a fault an access at first and seldom one in the end:
 * what one burst saw may be off by so much, ln. */
#define FAULTS_ONCE 0.9
/* Of 38 words with a variance below this one was off by a factor of six or more, of 19 others five,
 * up to 6000 (18 programs of 0.3 to 2 s). */
#define VAGUE 0.2
#define ASTRAY 0.03
#define ASTRAY_IF_VAGUE 0.3
#define ASTRAY_FAULTS 0.1

static int compare_orders(const struct observation *x, const struct observation *y)
{
    return (x->order > y->order) - (x->order < y->order);
}

static int by_variable(const void *a, const void *b)
{
    const struct observation *x = a, *y = b;
    int order = observation_compare_variables(x, y);

    return order ? order : compare_orders(x, y);
}

/* What a word did in the bursts of each group. */
struct word_sums {
    double accesses[RATE_GROUPS_MAX], within[RATE_GROUPS_MAX], ns[RATE_GROUPS_MAX];
    double moved, all_within;
    size_t moves; /* bursts in which it moved */
};

static bool is_page_faults(const struct observation *at)
{
    return at->kind == PROGRESS_KERNEL_COUNT && at->place == PROGRESS_PAGE_FAULTS;
}

/* What the kernel counts never does, by what it is. */
static bool never_goes_back(const struct observation *list, size_t n, const struct word_sums *sums)
{
    size_t back = 0, back_within = 0;

    if ((n < WORD_BURSTS_LEAST && list->kind != PROGRESS_KERNEL_COUNT) ||
        sums->moved * sums->all_within <= 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        back += list[i].since * sums->moved < 0;
        back_within += list[i].within * sums->moved < 0;
    }
    return (double)back <= NEVER_BACK * (double)n && (double)back_within <= NEVER_BACK * (double)n;
}

static struct word_sums sums_of(const struct observation *list, size_t n)
{
    struct word_sums sums = {0};

    for (size_t i = 0; i < n; i++) {
        sums.accesses[list[i].group] += list[i].accesses;
        sums.within[list[i].group] += list[i].within;
        sums.ns[list[i].group] += list[i].since_ns;
        sums.moved += list[i].since;
        sums.all_within += list[i].within;
        sums.moves += list[i].within != 0;
    }
    return sums;
}

/* Page faults lie at the beginning, where bursts are dense: each stands for the time before it. */
static void weigh_by_time(struct observation *list, size_t n)
{
    double all = 0;

    for (size_t i = 0; i < n; i++)
        all += list[i].since_ns;
    for (size_t i = 0; i < n; i++) {
        list[i].within *= list[i].since_ns * (double)n / all;
        list[i].accesses *= list[i].since_ns * (double)n / all;
    }
}

static void add_equation(const struct observation *list, size_t n, const struct word_sums *sums,
                         struct rate_evidence *evidence)
{
    struct rate_equation equation = {.moved = fabs(sums->moved), .first = evidence->term_count};
    double sign = sums->moved < 0 ? -1 : 1, per_access, at_one = 0;

    for (uint32_t group = 0; group < evidence->groups; group++) {
        if (sums->accesses[group] <= 0 || sign * sums->within[group] <= 0)
            continue;
        per_access = sign * sums->within[group] / sums->accesses[group];
        evidence->terms[evidence->term_count++] =
            (struct rate_term){.group = group, .weight = sums->ns[group] * per_access};
        at_one += sums->ns[group] * per_access;
        equation.count++;
    }
    equation.variance = list->kind == PROGRESS_KERNEL_COUNT ? 1 / sums->all_within
                                                            : COUNT_VARIANCE / (double)sums->moves;
    if (is_page_faults(list))
        equation.variance += FAULTS_ONCE * FAULTS_ONCE / (double)(sums->moves * sums->moves);
    equation.variance += WORD_DEVIATION * WORD_DEVIATION;
    for (size_t i = 0; i < n; i++) {
        uint32_t group = list[i].group;
        double off;

        /* It stands for no time. */
        if (list[i].accesses <= 0)
            continue;
        off = list[i].within - list[i].accesses * sums->within[group] / sums->accesses[group];
        equation.variance += off * off / (sums->all_within * sums->all_within);
    }
    equation.astray = equation.variance < VAGUE ? ASTRAY : ASTRAY_IF_VAGUE;
    /* Calls that the kernel counts are what they are taken to be, and code that it interrupts all
     * the time may be ten times slower than is expected of it. Of page faults the kernel takes
     * some itself, and code may have its own in one part of its run. */
    if (is_page_faults(list))
        equation.astray = ASTRAY_FAULTS;
    else if (list->kind == PROGRESS_KERNEL_COUNT)
        equation.astray = 0;
    /* Else it has jumped, in a burst or between two. */
    if (equation.variance < SAYS_NOTHING && equation.moved < FASTEST_RATE * at_one &&
        equation.moved > SLOWEST_RATE * at_one)
        evidence->equations[evidence->equation_count++] = equation;
    else
        evidence->term_count = equation.first;
}

/* The equations from `first` on are those of one thread. */
static void make_alike(struct rate_evidence *evidence, size_t first)
{
    size_t n = evidence->equation_count - first;

    for (size_t i = first; i < evidence->equation_count; i++)
        evidence->equations[i].variance *= 1 + WORDS_ALIKE * (double)(n - 1);
}

void word_rates(struct observation *list, size_t n, struct rate_evidence *evidence)
{
    size_t first = evidence->equation_count;

    qsort(list, n, sizeof *list, by_variable);
    for (size_t i = 0, end; i < n; i = end) {
        size_t known = i;
        struct word_sums sums;

        for (end = i + 1; end < n && observation_compare_variables(&list[end], &list[i]) == 0;)
            end++;
        if (i > 0 && list[i].thread != list[i - 1].thread) {
            make_alike(evidence, first);
            first = evidence->equation_count;
        }
        /* A thread's first burst has no time before it. */
        while (known < end && list[known].since_ns == 0)
            known++;
        if (list[i].kind == PROGRESS_REGISTER || known == end)
            continue;
        if (is_page_faults(&list[known]))
            weigh_by_time(&list[known], end - known);
        sums = sums_of(&list[known], end - known);
        if (never_goes_back(&list[known], end - known, &sums))
            add_equation(&list[known], end - known, &sums, evidence);
    }
    make_alike(evidence, first);
}
