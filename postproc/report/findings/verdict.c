/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/verdict.h"

#include <math.h>

#include "support/normal.h"

const char *const belief_names[] = {
    [BELIEF_EITHER] = "either", [BELIEF_LIKELY] = "likely", [BELIEF_CERTAIN] = "certain"};

/* Part of its accesses' time that a pattern has to hold for: three bursts in four leave no room for
 * a second one of equal rank. Bursts that all agree show it when there are twelve. */
static const double most = 0.75;

/* Agreement among resampled runs that is not chance. */
static const double agreed = 0.95;

/*
 * Late reuses that tell loops from chance: with fewer, quartiles of exponential times are less than
 * a factor of 2 apart in more than 5 % of draws (0.60 of 4, 0.25 of 8, 0.11 of 12, 0.054 of 16,
 * 0.024 of 20; simulated).
 */
static const double regular_reuses = 20;

/* No run is worth more than so many times the length. */
static const double longest = 100;

static const double normal_95 = 1.96;

double share_at_least(double part, double n)
{
    double z2 = normal_95 * normal_95;

    if (!(n > 0))
        return 0;
    return (part + z2 / (2 * n) - normal_95 * sqrt(part * (1 - part) / n + z2 / (4 * n * n))) /
           (1 + z2 / n);
}

/* Times as many observations as there are, until the bound is above the threshold. */
static double times_until(double part, double n, double threshold)
{
    double times = 1;

    while (times < longest && share_at_least(part, fmax(1, n) * times) <= threshold)
        times *= 1.1;
    return times;
}

/* Resampled runs scatter with the root of the length: until those at the margin agree. */
static double times_until_agreed(double agreement)
{
    if (agreement <= 0.5)
        return longest;
    return fmin(longest, pow(normal_quantile(agreed) / normal_quantile(agreement), 2));
}

static size_t votes_for(const struct access_evidence *resampled, size_t count,
                        size_t votes[PATTERN_COUNT], enum pattern pattern)
{
    for (size_t i = 0; i < PATTERN_COUNT; i++)
        votes[i] = 0;
    for (size_t i = 0; i < count; i++)
        votes[pattern_of(&resampled[i])]++;
    return votes[pattern];
}

/* What it would be if late reuses came at another regularity. */
static enum pattern pattern_with_spread(const struct access_evidence *evidence, double spread)
{
    struct access_evidence other = *evidence;

    other.late_spread = spread;
    return pattern_of(&other);
}

/* Whether late reuses decide, and another pattern is what too few of them cannot rule out. */
static bool needs_late_reuses(const struct access_evidence *evidence, enum pattern pattern,
                              enum pattern *other)
{
    static const double as_loops = 1, as_chance = 5;
    enum pattern loops = pattern_with_spread(evidence, as_loops),
                 chance = pattern_with_spread(evidence, as_chance);

    if (pattern == PATTERN_PASSES || loops == chance)
        return false;
    *other = pattern == loops ? chance : loops;
    return true;
}

static void doubt(struct verdict *verdict, enum belief belief, double longer)
{
    if (belief < verdict->belief)
        verdict->belief = belief;
    verdict->longer = fmin(longest, fmax(verdict->longer, fmax(1.5, longer)));
}

static void doubt_by_reuses(const struct access_evidence *evidence, struct verdict *verdict)
{
    double n = evidence->independent_reuses;
    enum pattern other;

    if (needs_late_reuses(evidence, verdict->pattern, &other) && n < regular_reuses) {
        if (verdict->other == PATTERN_NONE)
            verdict->other = other;
        doubt(verdict, BELIEF_EITHER, regular_reuses / fmax(1, n));
    }
    if (verdict->pattern == PATTERN_PASSES && evidence_passes_unwatched(evidence))
        doubt(verdict, BELIEF_LIKELY, 1);
    else if (verdict->pattern == PATTERN_PASSES &&
             share_at_least(evidence->reused_elsewhere, n) <= EVIDENCE_PASSES)
        doubt(verdict, BELIEF_LIKELY, times_until(evidence->reused_elsewhere, n, EVIDENCE_PASSES));
}

struct verdict verdict_of(const struct access_evidence *evidence,
                          const struct access_evidence *resampled, size_t count)
{
    struct verdict verdict = {.pattern = pattern_of(evidence),
                              .other = PATTERN_NONE,
                              .belief = BELIEF_CERTAIN,
                              .agreement = 1,
                              .longer = 1};
    size_t votes[PATTERN_COUNT], own;

    if (count == 0)
        return verdict;
    own = votes_for(resampled, count, votes, verdict.pattern);
    verdict.agreement = (double)own / (double)count;
    if (share_at_least(1, evidence->independent_bursts) <= most)
        doubt(&verdict, BELIEF_LIKELY, times_until(1, evidence->independent_bursts, most));
    if (verdict.agreement < agreed) {
        size_t best = 0;

        for (int i = 0; i < PATTERN_COUNT; i++)
            if (i != (int)verdict.pattern && votes[i] > best) {
                best = votes[i];
                verdict.other = (enum pattern)i;
            }
        doubt(&verdict, BELIEF_EITHER, times_until_agreed(verdict.agreement));
    }
    doubt_by_reuses(evidence, &verdict);
    return verdict;
}
