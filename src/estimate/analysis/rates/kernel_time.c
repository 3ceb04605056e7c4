/* SPDX-License-Identifier: BSD-3-Clause */
/* See kernel_time.h. */
#include "analysis/rates/kernel_time.h"

#include <math.h>

/* Page faults may take this share of a group's time. */
#define FAULTS_MOST 0.95
/* So much of the time is the program's own, at least: what the kernel counts it by is coarse. */
#define OWN_LEAST 0.01

struct kernel_time kernel_time_of(const struct profile *profile)
{
    double user = 0, all = 0, application = 0, share;

    for (size_t i = 0; i < profile->totals.count; i++) {
        const struct record_totals *totals = &profile->totals.items[i];

        application += (double)totals->app_ns - (double)totals->besides_ns;
        if (totals->user_ns + totals->kernel_ns == 0)
            continue;
        /* Handlers interpret most of their time; switches of context are the kernel's. */
        user += (double)totals->user_ns - (double)totals->handler_ns;
        all += (double)totals->user_ns + (double)totals->kernel_ns - (double)totals->handler_ns -
               (double)totals->besides_ns;
    }
    if (profile_counts_accesses(profile) || all <= 0 || application <= 0)
        return (struct kernel_time){0};
    share = fmin(1, fmax(OWN_LEAST, user / all));
    return (struct kernel_time){application * share, application * (1 - share)};
}

/* Parts of the groups in something; their sum. */
struct parts {
    double of[RATE_GROUPS_MAX], sum;
};

static void add_part(struct parts *parts, uint32_t group, double value)
{
    parts->of[group] = value;
    parts->sum += value;
}

static double part(const struct parts *parts, uint32_t group)
{
    return parts->sum > 0 ? parts->of[group] / parts->sum : 0;
}

static void divide(const struct kernel_time *time, uint32_t groups, const double *shares,
                   const double *log_rates, const struct kernel_demand *demand,
                   struct kernel_parts *parts)
{
    struct parts faults = {.sum = 0}, calls = {.sum = 0}, accesses = {.sum = 0};
    struct parts foreseen = {.sum = 0};
    double seen = 0, by_faults, by_foreseen, beyond, by_calls, anywhere;

    for (uint32_t i = 0; i < groups; i++) {
        double made = shares[i] * exp(log_rates[i]);

        add_part(&accesses, i, made);
        add_part(&faults, i, demand[i].fault_ns);
        add_part(&foreseen, i, time->own_ns * made * demand[i].access_fault_ns);
        add_part(&calls, i,
                 demand[i].accesses > 0 ? made * demand[i].calls / demand[i].accesses : 0);
        seen += demand[i].calls;
    }
    by_faults = fmin(faults.sum, time->kernel_ns);
    by_calls = (time->kernel_ns - by_faults) * seen / (seen + 1);
    anywhere = faults.sum > 0 ? 0 : time->kernel_ns - by_calls;
    by_faults = time->kernel_ns - by_calls - anywhere;
    beyond = fmin(foreseen.sum, faults.sum);
    by_foreseen = fmin(beyond, time->kernel_ns);
    beyond -= by_foreseen;
    for (uint32_t i = 0; i < groups; i++) {
        double code = time->own_ns * shares[i];
        double in_foreseen = by_foreseen * part(&foreseen, i);
        double in_code = fmin(beyond * part(&foreseen, i), FAULTS_MOST * code);
        double all = code + in_foreseen + (by_faults - by_foreseen) * part(&faults, i) +
                     by_calls * part(&calls, i) + anywhere * part(&accesses, i);

        parts[i] = (struct kernel_parts){.own = 1, .code = 1};
        if (code > 0)
            parts[i] = (struct kernel_parts){.own = fmax(OWN_LEAST, code / all),
                                             .code = 1 - in_code / code,
                                             .access_faults = (in_foreseen + in_code) / all};
    }
}

void kernel_time_divide(const struct kernel_time *time, uint32_t groups, const double *shares,
                        const double *log_rates, const struct kernel_demand *demand,
                        struct kernel_parts *parts)
{
    if (time->own_ns > 0)
        divide(time, groups, shares, log_rates, demand, parts);
    else
        for (uint32_t i = 0; i < groups; i++)
            parts[i] =
                (struct kernel_parts){.own = 1 - fmin(demand[i].faults, FAULTS_MOST), .code = 1};
}
