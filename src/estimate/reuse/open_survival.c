/* SPDX-License-Identifier: BSD-3-Clause */
#include "reuse/open_survival.h"

#include <math.h>
#include <stdlib.h>

#include "reuse/sort_keys.h"
#include "support/memory.h"

/* Who looks, by observer. Sums of doubles do not return to 0: watches are counted as well. */
struct at_risk {
    double accessed, other;
    size_t accessed_count, other_count;
};

struct state {
    struct at_risk risk;
    double left;
    bool both; /* observers of other words are needed */
    struct open_step *steps;
    size_t count;
};

double open_left_after(double hazard, double multiplicity)
{
    if (multiplicity > 1)
        return hazard <= 0.5 ? 1 - hazard : 0.5 * exp(1 - 2 * hazard);
    /* The last observer's own end leaves nobody, and the quotient may miss 1 by rounding. */
    return hazard < 1 - 1e-9 ? 1 - hazard : 0;
}

static void change(struct at_risk *risk, const struct open_watch *watch, double weight, bool enters)
{
    double sign = enters ? 1 : -1;
    size_t one = enters ? 1 : (size_t)-1;

    if (watch->accessed) {
        risk->accessed += sign * weight * (double)watch->design;
        risk->accessed_count += one;
    }
    if (!watch->accessed || watch->whole) {
        risk->other += sign * weight * (double)watch->design;
        risk->other_count += one;
    }
}

static void step(struct state *state, double time, enum open_step_kind kind, uint32_t number,
                 double hazard, double multiplicity)
{
    double left = state->left * open_left_after(hazard, multiplicity);

    state->steps[state->count++] = (struct open_step){
        .time = time, .mass = state->left - left, .number = number, .kind = (uint8_t)kind};
    state->left = left;
}

static void end_watch(struct state *state, const struct open_watch *watch, uint32_t number,
                      double weight)
{
    const struct at_risk *risk = &state->risk;
    double own = weight * (double)watch->design;

    if (watch->end == OPEN_USED && watch->multiplicity > 0)
        step(state, watch->exit, STEP_USED, number,
             (double)watch->multiplicity * own / (watch->accessed ? risk->accessed : risk->other),
             (double)watch->multiplicity);
    else if (watch->end == OPEN_NEVER) {
        double mine = watch->whole ? 2 * own : own;
        double all =
            (risk->accessed_count ? risk->accessed : 0) + (risk->other_count ? risk->other : 0);
        step(state, watch->exit, STEP_NEVER, number, mine / all, 1);
    }
}

static bool needs_both(const struct open_watch *watches, size_t n, const double *weight)
{
    for (size_t i = 0; i < n; i++)
        if (weight[i] > 0 && !watches[i].whole)
            return true;
    return false;
}

/* The last time at which each observer has somebody, of those with a weight. */
static double last_exit(const struct open_watch *watches, size_t n, const double *weight,
                        bool accessed)
{
    double last = 0;

    for (size_t i = 0; i < n; i++)
        if (weight[i] > 0 && (watches[i].whole || watches[i].accessed == accessed))
            last = fmax(last, watches[i].exit);
    return last;
}

size_t open_survival(const struct open_watch *watches, const uint32_t *by_exit, size_t n,
                     const double *weight, const struct open_hazard *crossings,
                     size_t crossing_count, struct open_step *steps, struct open_rest *rest)
{
    struct state state = {.left = 1, .steps = steps, .both = needs_both(watches, n, weight)};
    double accessed = last_exit(watches, n, weight, true);
    double other = state.both ? last_exit(watches, n, weight, false) : accessed;
    size_t crossed = 0;
    bool lost = false;

    for (size_t i = 0; i < n; i++)
        if (weight[i] > 0)
            change(&state.risk, &watches[i], weight[i], true);
    *rest = (struct open_rest){.until = fmax(accessed, other), .lost = fmin(accessed, other)};
    for (size_t k = 0; k <= n; k++) {
        const struct open_watch *watch = k < n ? &watches[by_exit[k]] : NULL;
        double time = watch ? watch->exit : INFINITY;

        if (watch && !(weight[by_exit[k]] > 0))
            continue;
        for (; crossed < crossing_count && crossings[crossed].time <= time; crossed++)
            step(&state, crossings[crossed].time, STEP_CROSSED, crossings[crossed].number,
                 crossings[crossed].hazard, crossings[crossed].multiplicity);
        if (!lost && time > rest->lost) {
            lost = true;
            rest->lost_mass = state.left;
        }
        if (!watch)
            break;
        end_watch(&state, watch, by_exit[k], weight[by_exit[k]]);
        change(&state.risk, watch, weight[by_exit[k]], false);
    }
    rest->left = state.left;
    return state.count;
}

void open_survival_order(const struct open_watch *watches, size_t n, uint32_t *by_exit)
{
    struct sort_key *keys = allocate(2 * n + 1, sizeof *keys);
    size_t count = 0;

    for (int counts = 1; counts >= 0; counts--)
        for (size_t i = 0; i < n; i++)
            if ((watches[i].end != OPEN_CENSORED) == counts)
                keys[count++] = (struct sort_key){sort_key_of_time(watches[i].exit), (uint32_t)i};
    const struct sort_key *sorted = sort_keys(keys, keys + n, n);
    for (size_t i = 0; i < n; i++)
        by_exit[i] = sorted[i].index;
    free(keys);
}
