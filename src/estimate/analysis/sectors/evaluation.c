/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Misses of a subset, with A_m what a probe of burst m stands for and T_g what open lines of
 * stratum g do (docs/estimators.md, "Bursts"):
 *
 *     [ sum_m A_m #{resolved in m, distance >= c} + sum_g T_g(c) sum_m A_m #{open in m, g} ]
 *       / sum_m A_m #{probes in m}
 *
 * In a replicate A_m is times the factor of the burst, and T_g the replicate's. Of resolved probes
 * bursts do not tell whether another thread came to the line meanwhile: that is known by stratum.
 */
#include "analysis/sectors/evaluation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/curves/memory_bound.h"
#include "analysis/sectors/evaluation_parts.h"
#include "support/memory.h"

/* Fewer bursts than this with a miss: their scatter says little of how rare they are. */
enum { MISSING_ENOUGH = 4 };

/* Scratch. Bursts are gone through once for all replicates, whose sums lie side by side. */
struct sums {
    uint32_t replicates;
    double *weights; /* of the burst under way, by replicate */
    double *all;     /* accesses, by replicate */
    double *missed;  /* [place][replicate]: resolved probes that miss */
    /* Strata of which the subset has open lines, in order; and by stratum, its place there. */
    uint32_t *strata, *stratum_place;
    size_t stratum_count;
    double *opens;          /* [place in strata][replicate] */
    double *hits;           /* [stratum][place, and one more]: resolved probes that hit from there
                               on; of one replicate */
    double *eviction_times; /* by place: open_lines_time_place(); of all replicates */
};

/*
 * Resolved probes of a part whose lines other threads came to before their own one: those of the
 * group made hits of misses, those outside it misses of hits. shares: of the replicate, by place;
 * there only what a place has more than the one before.
 */
static void add_visited(const struct analysis *analysis, const struct parts *parts,
                        const struct part *part, double weight, uint32_t replicate,
                        const struct places *places, struct sums *sums, struct miss_shares *shares)
{
    uint32_t stride = places->value_only ? 1 : replicate_count(analysis);

    for (size_t i = part->first_hit; i < part->first_hit + part->hits; i++) {
        const struct hit_part *hit = &parts->hits[i];
        double alone = open_lines_alone(analysis, replicate, hit->stratum, hit->time);
        double valid = open_lines_valid(analysis, replicate, hit->stratum, hit->time);

        sums->hits[hit->stratum * (places->n + 1) + hit->place] += weight * hit->count;
        if (hit->place == places->n)
            continue;
        shares[hit->place * stride].crossing += weight * hit->count * (1 - alone);
        shares[hit->place * stride].invalidated += weight * hit->count * alone * (1 - valid);
    }
}

/* Sums the places up, and has others of the group come to lines before they are evicted. */
static void sum_up_visited(const struct analysis *analysis, uint32_t replicate,
                           const struct places *places, const struct sums *sums,
                           struct miss_shares *shares)
{
    uint32_t stride = places->value_only ? 1 : replicate_count(analysis);

    for (size_t k = 1; k < places->n; k++) {
        shares[k * stride].crossing += shares[(k - 1) * stride].crossing;
        shares[k * stride].invalidated += shares[(k - 1) * stride].invalidated;
    }
    for (uint32_t g = 0; g < analysis->stratum_count && analysis->crossing_count; g++) {
        double missed = 0;

        for (size_t k = places->n; k-- > 0;) {
            missed += sums->hits[g * (places->n + 1) + k + 1];
            double crossed =
                missed * (1 - open_lines_alone(analysis, replicate, g, sums->eviction_times[k]));
            shares[k * stride].missed -= crossed;
            shares[k * stride].crossing += crossed;
        }
    }
}

/* Resolved and open probes of all bursts, in all replicates. Zeros are common in both factors. */
static void sum_parts(const struct analysis *analysis, const struct parts *parts,
                      const struct places *places, struct sums *sums)
{
    const uint32_t replicates = sums->replicates;

    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        double *weights = sums->weights;

        replicate_burst_weights(analysis, part->burst, replicates, weights);
        for (uint32_t r = 0; r < replicates; r++)
            sums->all[r] += weights[r] * part->probes;
        for (size_t k = 0; k < places->n; k++) {
            double *missed = sums->missed + k * replicates, resolved = part->resolved[k];

            for (uint32_t r = 0; r < replicates && resolved != 0; r++)
                missed[r] += weights[r] * resolved;
        }
        for (size_t k = part->first; k < part->first + part->opens; k++) {
            const struct open_part *open = &parts->opens[k];
            double *opens = sums->opens + sums->stratum_place[open->stratum] * replicates;

            for (uint32_t r = 0; r < replicates; r++)
                opens[r] += weights[r] * open->count;
        }
    }
}

/* Resolved probes of lines that others came to, in one replicate. */
static void sum_visited(const struct analysis *analysis, const struct parts *parts,
                        const struct places *places, uint32_t replicate, struct sums *sums,
                        struct miss_shares *shares)
{
    if (parts->hit_count == 0)
        return;
    memset(sums->hits, 0, analysis->stratum_count * (places->n + 1) * sizeof *sums->hits);
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        double weight = analysis->bursts[part->burst].weight *
                        replicate_burst_factor(analysis, replicate, part->burst);

        if (weight > 0)
            add_visited(analysis, parts, part, weight, replicate, places, sums, shares);
    }
    sum_up_visited(analysis, replicate, places, sums, shares);
}

/* What open lines do at one place, in all replicates. */
static void add_opens(const struct analysis *analysis, const struct places *places, size_t place,
                      const struct sums *sums, struct miss_shares *shares)
{
    const uint32_t replicates = sums->replicates;
    const struct miss_shares *sizes =
        places->lines ? open_lines_at_size(analysis, places->lines[place]) : NULL;

    for (size_t i = 0; i < sums->stratum_count; i++) {
        uint32_t stratum = sums->strata[i];
        const struct miss_shares *of = sizes ? sizes + at_stratum(analysis, stratum) : NULL;

        for (uint32_t r = 0; r < replicates; r++) {
            double opens = sums->opens[i * replicates + r];
            struct miss_shares at_time;

            if (!(opens > 0))
                continue;
            if (!of)
                at_time = open_lines_at_time(analysis, places->times[place], r, stratum);
            shares_add(&shares[r], of ? &of[r] : &at_time, opens);
        }
    }
    for (uint32_t r = 0; r < replicates; r++)
        shares_divide(&shares[r], sums->all[r]);
}

static void add_up(const struct analysis *analysis, const struct parts *parts,
                   const struct places *places, struct sums *sums, struct results *out)
{
    const uint32_t replicates = sums->replicates;
    const struct miss_shares *cold = open_lines_at_size(analysis, INFINITY);

    sum_parts(analysis, parts, places, sums);
    for (uint32_t r = 0; r < replicates; r++) {
        for (size_t k = 0; k < places->n; k++)
            out->shares[k * replicates + r].missed = sums->missed[k * replicates + r];
        sum_visited(analysis, parts, places, r, sums, out->shares + r);
        for (size_t i = 0; i < sums->stratum_count; i++)
            shares_add(&out->cold[r], &cold[at_stratum(analysis, sums->strata[i]) + r],
                       sums->opens[i * replicates + r]);
        shares_divide(&out->cold[r], sums->all[r]);
        out->accesses[r] = sums->all[r] * replicate_time_factor(analysis, r);
        memory_bound_apply(&analysis->memory, INFINITY, out->accesses[r], &out->cold[r]);
    }
    for (size_t k = 0; k < places->n; k++)
        add_opens(analysis, places, k, sums, out->shares + k * replicates);
    for (size_t k = 0; k < places->n && places->lines; k++)
        for (uint32_t r = 0; r < replicates; r++)
            memory_bound_apply(&analysis->memory, places->lines[k], out->accesses[r],
                               &out->shares[k * replicates + r]);
}

/* What watches of a stratum exclude at a size: nothing that fewer than three of them could. */
static double claim_of(const struct analysis *analysis, size_t stratum)
{
    size_t ended = analysis->strata[stratum].ended;

    return ended ? fmin(1, 3.0 / (double)ended) : 1;
}

/* Bursts that show a miss at each place: resolved ones, or open ones of which some miss. The
 * estimate is the first replicate. */
static void count_missing(const struct analysis *analysis, const struct parts *parts,
                          const struct places *places, const struct sums *sums, struct results *out)
{
    const size_t replicates = replicate_count(analysis);

    for (size_t i = 0; i < parts->count; i++)
        out->probes += parts->items[i].probes / (double)parts->count;
    for (size_t i = 0; i < sums->stratum_count && sums->all[0] > 0; i++)
        out->open += sums->opens[i * sums->replicates] / sums->all[0];
    for (size_t k = 0; k < places->n; k++) {
        const struct miss_shares *of =
            places->lines ? open_lines_at_size(analysis, places->lines[k]) : NULL;

        for (size_t i = 0; i < parts->count; i++) {
            const struct part *part = &parts->items[i];
            bool misses = part->resolved[k] > 0;

            for (size_t j = part->first; j < part->first + part->opens && !misses; j++)
                misses = !of || of[parts->opens[j].stratum * replicates].missed > 0;
            out->missing[k] += misses;
        }
        for (size_t i = 0; i < sums->stratum_count && of; i++) {
            double opens = sums->opens[i * sums->replicates];

            if (opens > 0 && !(of[sums->strata[i] * replicates].missed > 0))
                out->open_claim[k] += opens / sums->all[0] * claim_of(analysis, sums->strata[i]);
        }
    }
}

void results_free(struct results *results)
{
    free(results->shares);
    free(results->cold);
    free(results->accesses);
    free(results->missing);
    free(results->open_claim);
    free(results->bounded);
    *results = (struct results){0};
}

static void sums_free(struct sums *sums)
{
    free(sums->weights);
    free(sums->strata);
    free(sums->opens);
    free(sums->hits);
    free(sums->eviction_times);
}

/* The strata of open parts, in order: sums over them do not depend on which burst came first. */
static void list_strata(const struct analysis *analysis, const struct parts *parts,
                        struct sums *sums)
{
    for (size_t i = 0; i < parts->open_count; i++)
        sums->stratum_place[parts->opens[i].stratum] = 1;
    for (uint32_t g = 0; g < analysis->stratum_count; g++)
        if (sums->stratum_place[g]) {
            sums->stratum_place[g] = (uint32_t)sums->stratum_count;
            sums->strata[sums->stratum_count++] = g;
        }
}

static void sums_create(const struct analysis *analysis, const struct places *places,
                        const struct parts *parts, struct sums *sums)
{
    size_t strata = analysis->stratum_count;
    uint32_t replicates = places->value_only ? 1 : replicate_count(analysis);

    *sums = (struct sums){
        .replicates = replicates,
        .weights = allocate_zeroed((places->n + 2) * replicates, sizeof *sums->weights),
        .strata = allocate_zeroed(2 * strata + 1, sizeof *sums->strata),
        .eviction_times = allocate(places->n + 1, sizeof *sums->eviction_times),
    };
    if (parts->hit_count)
        sums->hits = allocate(strata * (places->n + 1), sizeof *sums->hits);
    sums->all = sums->weights + replicates;
    sums->missed = sums->all + replicates;
    sums->stratum_place = sums->strata + strata;
    list_strata(analysis, parts, sums);
    sums->opens = allocate_zeroed(sums->stratum_count * replicates + 1, sizeof *sums->opens);
    for (size_t k = 0; k < places->n; k++)
        sums->eviction_times[k] = open_lines_time_place(
            places->lines ? open_lines_eviction_time(analysis, places->lines[k])
                          : places->times[k]);
}

void evaluate(const struct analysis *analysis, struct subset subset, struct places places,
              struct results *out)
{
    uint32_t replicates = places.value_only ? 1 : replicate_count(analysis);
    struct sums sums;
    struct parts parts;

    *out = (struct results){
        .shares = allocate_zeroed(replicates * places.n + 1, sizeof *out->shares),
        .cold = allocate_zeroed(replicates, sizeof *out->cold),
        .accesses = allocate_zeroed(replicates, sizeof *out->accesses),
        .missing = allocate_zeroed(places.n + 1, sizeof *out->missing),
        .open_claim = allocate_zeroed(places.n + 1, sizeof *out->open_claim),
        .bounded = allocate_zeroed(places.n + 1, sizeof *out->bounded),
    };
    list_parts(analysis, subset, &places, &parts);
    out->bursts = parts.count;
    for (size_t k = 0; k < places.n && places.lines; k++)
        out->bounded[k] = places.lines[k] >= analysis->memory.reach;
    sums_create(analysis, &places, &parts, &sums);
    add_up(analysis, &parts, &places, &sums, out);
    count_missing(analysis, &parts, &places, &sums, out);
    sums_free(&sums);
    parts_free(&parts);
}

void evaluate_sizes(const struct analysis *analysis, struct subset subset, const double *bytes,
                    size_t n, struct results *out)
{
    double *lines = allocate(n + 1, sizeof *lines);

    for (size_t k = 0; k < n; k++)
        lines[k] = bytes[k] / analysis->line_size;
    evaluate(analysis, subset, (struct places){.lines = lines, .n = n}, out);
    free(lines);
}

double least_claim(const struct analysis *analysis, const struct results *results, size_t place)
{
    double worth = fmax(1, fmin(analysis->burst_worth, results->probes)), claim = 0;

    if (results->bursts == 0)
        return 1;
    if (results->bounded[place])
        return 0;
    if (results->missing[place] < MISSING_ENOUGH)
        claim = 3 / (worth * (double)results->bursts);
    return fmin(1, claim + results->open_claim[place]);
}

/* Nobody is outside of it. Not known of one thread alone. */
static bool is_one_cache(const struct analysis *analysis)
{
    return analysis->options.groups && analysis->options.thread_id == 0 &&
           analysis->domain_count < 2;
}

double least_coherence(const struct analysis *analysis, const struct results *results, size_t place)
{
    double kept = results->open - results->shares[place * replicate_count(analysis)].missed;

    if (!analysis->guarded || is_one_cache(analysis) || kept <= 0)
        return 0;
    return kept * fmin(1, 3 / fmax(1, analysis->guarded_ends));
}
