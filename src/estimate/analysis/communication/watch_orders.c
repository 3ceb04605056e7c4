/* SPDX-License-Identifier: BSD-3-Clause */
/* The watches of each stratum in the orders in which survivals are estimated from them. */
#include <math.h>
#include <stdlib.h>

#include "analysis/curves/open_lines_internal.h"
#include "support/memory.h"

static void order_create(const struct analysis *analysis, struct order *order,
                         struct open_watch (*see)(const struct analysis *,
                                                  const struct analysed_watch *, double),
                         double parameter)
{
    size_t n = analysis->watch_count + 1;

    order->watches = allocate(n, sizeof *order->watches);
    order->by_exit = allocate(n, sizeof *order->by_exit);
    for (size_t i = 0; i < analysis->watch_count; i++)
        order->watches[i] = see(analysis, &analysis->watches[analysis->by_stratum[i]], parameter);
    for (size_t g = 0; g < analysis->stratum_count; g++) {
        const struct stratum *stratum = &analysis->strata[g];

        open_survival_order(order->watches + stratum->first, stratum->count,
                            order->by_exit + stratum->first);
    }
}

static void order_free(struct order *order)
{
    free(order->watches);
    free(order->by_exit);
}

static struct open_watch as_it_is(const struct analysis *analysis,
                                  const struct analysed_watch *watch, double parameter)
{
    (void)analysis;
    (void)parameter;
    return watch->open;
}

/*
 * Lines are estimated from words as if all lines of a stratum were used equally often. If they are
 * not, the words that are still untouched are those of little used lines, but not as much so as
 * the lines that are: a word that is visited m times as seldom as its line survives t as its line
 * survives t / m, whatever the mixture, if visits come at random.
 */
static struct open_watch by_word(const struct analysis *analysis,
                                 const struct analysed_watch *watch, double visits)
{
    struct open_watch open = watch->open;

    (void)analysis;
    open.accessed = open.whole = true;
    open.design = 1;
    open.multiplicity = open.end == OPEN_USED;
    open.exit /= visits;
    return open;
}

/* Visits to a line per visit to one of its words, by watches that saw both kinds. */
static double visits_per_word(const struct analysis *analysis)
{
    double traps[2] = {0}, visits[2] = {0};

    for (size_t i = 0; i < analysis->watch_count; i++) {
        const struct analysed_watch *watch = &analysis->watches[i];

        if (watch->open.end != OPEN_USED)
            continue;
        traps[watch->open.accessed] += watch->weight;
        visits[watch->open.accessed] += watch->weight * (double)watch->open.multiplicity;
    }
    return fmax(1, (traps[1] > 0 ? visits[1] / traps[1] : 1) +
                       (traps[0] > 0 ? visits[0] / traps[0] : 0));
}

/* The time until another thread stored to the line, as a survival of its own, from the moment on
 * from which such stores were watched for. */
static struct open_watch store_of_others(const struct analysis *analysis,
                                         const struct analysed_watch *watch, double parameter)
{
    (void)parameter;
    return (struct open_watch){
        .exit = watch->covered,
        .end = watch->invalidation ? OPEN_USED : OPEN_CENSORED,
        .accessed = true,
        .whole = true,
        .design = 1,
        .multiplicity = (float)analysis_invalidation_visits(analysis, watch),
    };
}

static double mean_visits_per_store(const struct analysis *analysis)
{
    double stores = 0, visits = 0;

    for (size_t i = 0; i < analysis->watch_count; i++) {
        stores += analysis->watches[i].invalidation != NULL;
        visits += analysis_invalidation_visits(analysis, &analysis->watches[i]);
    }
    return stores > 0 ? fmax(1, visits / stores) : 1;
}

void watch_orders_create(struct open_lines *open)
{
    const struct analysis *analysis = open->analysis;

    open->visits_per_store = mean_visits_per_store(analysis);
    open->all_by_store = allocate(analysis->watch_count + 1, sizeof *open->all_by_store);
    order_create(analysis, &open->order, as_it_is, 0);
    order_create(analysis, &open->by_word, by_word, visits_per_word(analysis));
    order_create(analysis, &open->stores, store_of_others, 0);
    open_survival_order(open->stores.watches, analysis->watch_count, open->all_by_store);
}

void watch_orders_free(struct open_lines *open)
{
    order_free(&open->order);
    order_free(&open->by_word);
    order_free(&open->stores);
    free(open->all_by_store);
}
