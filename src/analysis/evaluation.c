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
#include "analysis/evaluation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fewer bursts than this with a miss: their scatter says little of how rare they are. */
enum { MISSING_ENOUGH = 4 };

/* Resolved probes that hit from a place on, where no other thread came to the line meanwhile. */
struct hit_part {
    uint32_t stratum;
    size_t place; /* the number of places: nowhere */
    double time;  /* from use to use: open_lines_time_place() */
    double count;
};

/* What one burst has of the subset. */
struct part {
    uint32_t burst;
    double probes;       /* count */
    double *resolved;    /* by place: of these, resolved ones that miss */
    size_t first, opens; /* range of open parts */
    size_t first_hit, hits;
};

struct open_part {
    uint32_t stratum;
    double count;
};

struct parts {
    struct part *items;
    size_t count;
    double *resolved;
    struct open_part *opens;
    size_t open_count;
    struct hit_part *hits; /* where visits of other threads were seen */
    size_t hit_count, hit_room;
};

static void parts_free(struct parts *parts)
{
    free(parts->items);
    free(parts->resolved);
    free(parts->opens);
    free(parts->hits);
}

/* ---- one burst ---- */

/* The share of a bin of whole numbers low .. high-1 that is `bound` or more. */
static double share_from(double low, double high, double bound)
{
    if (bound <= low)
        return 1;
    return bound >= high ? 0 : (high - bound) / (high - low);
}

static bool add_hit(struct parts *parts, struct hit_part hit)
{
    if (parts->hit_count == parts->hit_room) {
        size_t room = 2 * parts->hit_room + 1024;
        struct hit_part *larger = realloc(parts->hits, room * sizeof *larger);

        if (!larger)
            return false;
        parts->hits = larger;
        parts->hit_room = room;
    }
    parts->hits[parts->hit_count++] = hit;
    return true;
}

/* Resolved probes of one entry at each place. */
static bool add_resolved(const struct analysis *analysis, const struct places *places,
                         const struct analysed_probe *probe, const struct probe_count *entry,
                         double factor, struct parts *parts, struct part *part)
{
    unsigned distance = probe_code_distance(entry->code), time = probe_code_time(entry->code);
    double low = probe_distance_low(distance), high = probe_distance_low(distance + 1);
    double first = probe_time_low(time), end = probe_time_low(time + 1),
           middle = (first + end - 1) / 2;
    double dilation = analysis->bursts[probe->burst].dilation, hit = 0;
    bool visited = analysis->invalidations_seen || analysis->crossing_count;

    /* What others touch meanwhile comes on top. */
    if (places->lines) {
        low += open_lines_of_others(analysis, probe->burst, first);
        high += open_lines_of_others(analysis, probe->burst, end - 1);
    }
    for (size_t k = 0; k <= places->n; k++) {
        double misses = k == places->n ? 0
                        : places->lines
                            ? share_from(low, high, ceil(places->lines[k]))
                            : share_from(first, end, floor(places->times[k] / dilation) + 1);

        if (k < places->n)
            part->resolved[k] += factor * entry->count * misses;
        if (!visited || 1 - misses <= hit)
            continue;
        if (!add_hit(parts,
                     (struct hit_part){probe->stratum, k, open_lines_time_place(middle * dilation),
                                       factor * entry->count * (1 - misses - hit)}))
            return false;
        part->hits++;
        hit = 1 - misses;
    }
    return true;
}

static void add_open(struct parts *parts, struct part *part, const struct analysed_probe *probe,
                     double factor)
{
    if (probe->open == 0)
        return;
    for (size_t i = part->first; i < part->first + part->opens; i++)
        if (parts->opens[i].stratum == probe->stratum) {
            parts->opens[i].count += factor * probe->open;
            return;
        }
    parts->opens[parts->open_count++] = (struct open_part){probe->stratum, factor * probe->open};
    part->opens++;
}

static bool add_probe(const struct analysis *analysis, const struct places *places,
                      const struct analysed_probe *probe, double factor, struct parts *parts)
{
    struct part *part = parts->count ? &parts->items[parts->count - 1] : NULL;

    if (!part || part->burst != probe->burst) {
        part = &parts->items[parts->count];
        *part = (struct part){.burst = probe->burst,
                              .resolved = parts->resolved + parts->count * places->n,
                              .first = parts->open_count,
                              .first_hit = parts->hit_count};
        parts->count++;
    }
    part->probes += factor * probe->count;
    add_open(parts, part, probe, factor);
    for (uint32_t k = probe->first; k < probe->first + probe->entries; k++)
        if (!probe_code_open(analysis->counts[k].code) &&
            !add_resolved(analysis, places, probe, &analysis->counts[k], factor, parts, part))
            return false;
    return true;
}

static size_t bursts_of(const struct analysis *analysis, struct subset subset, size_t *probes)
{
    size_t n = subset.members ? subset.member_count : analysis->probe_count, bursts = 0;
    uint32_t last = NO_BURST;

    *probes = 0;
    for (size_t k = 0; k < n; k++) {
        size_t i = subset.members ? subset.members[k] : k;

        if (analysis->probes[i].count == 0 || (!subset.members && !in_subset(subset, i)))
            continue;
        ++*probes;
        bursts += analysis->probes[i].burst != last;
        last = analysis->probes[i].burst;
    }
    return bursts;
}

static int list_parts(const struct analysis *analysis, struct subset subset,
                      const struct places *places, struct parts *parts)
{
    size_t n = subset.members ? subset.member_count : analysis->probe_count, probes;
    size_t bursts = bursts_of(analysis, subset, &probes);

    *parts = (struct parts){.items = malloc((bursts + 1) * sizeof *parts->items),
                            .resolved = calloc(bursts * places->n + 1, sizeof *parts->resolved),
                            .opens = malloc((probes + 1) * sizeof *parts->opens)};
    if (!parts->items || !parts->resolved || !parts->opens) {
        parts_free(parts);
        return -1;
    }
    for (size_t k = 0; k < n; k++) {
        size_t i = subset.members ? subset.members[k] : k;

        const struct analysed_probe *probe = &analysis->probes[i];
        double factor = subset.objects ? analysis_object_factor(analysis, probe) : 1;

        if (probe->count > 0 && (subset.members || in_subset(subset, i)) &&
            !add_probe(analysis, places, probe, factor, parts)) {
            parts_free(parts);
            return -1;
        }
    }
    return 0;
}

/* ---- replicates ---- */

static void add_shares(struct miss_shares *sum, const struct miss_shares *one, double weight)
{
    sum->missed += weight * one->missed;
    sum->invalidated += weight * one->invalidated;
    sum->unknown += weight * one->unknown;
    sum->crossing += weight * one->crossing;
}

static void divide_shares(struct miss_shares *sum, double weight)
{
    if (!(weight > 0)) {
        *sum = (struct miss_shares){.missed = 1, .unknown = 1};
        return;
    }
    sum->missed = fmin(1, sum->missed / weight); /* rounding */
    sum->invalidated /= weight;
    sum->unknown /= weight;
    sum->crossing /= weight;
}

/* Scratch of one replicate. */
struct sums {
    double *opens; /* by stratum */
    double *hits;  /* [stratum][place, and one more]: resolved probes that hit from there on */
    double *eviction_times; /* by place: open_lines_time_place(); of all replicates */
    struct miss_shares *at_time;
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

static int add_up(const struct analysis *analysis, const struct parts *parts,
                  const struct places *places, uint32_t replicate, struct sums *sums,
                  struct results *out)
{
    uint32_t stride = places->value_only ? 1 : replicate_count(analysis);
    double *opens = sums->opens;
    const struct miss_shares *cold = open_lines_at_size(analysis, INFINITY, replicate);
    double all = 0;

    memset(opens, 0, (analysis->stratum_count + 1) * sizeof *opens);
    memset(sums->hits, 0, analysis->stratum_count * (places->n + 1) * sizeof *sums->hits);
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        double weight = analysis->bursts[part->burst].weight *
                        replicate_burst_factor(analysis, replicate, part->burst);

        if (!(weight > 0))
            continue;
        all += weight * part->probes;
        for (size_t k = 0; k < places->n; k++)
            out->shares[k * stride + replicate].missed += weight * part->resolved[k];
        for (size_t k = part->first; k < part->first + part->opens; k++)
            opens[parts->opens[k].stratum] += weight * parts->opens[k].count;
        add_visited(analysis, parts, part, weight, replicate, places, sums,
                    out->shares + replicate);
    }
    if (!cold)
        return -1;
    sum_up_visited(analysis, replicate, places, sums, out->shares + replicate);
    for (size_t g = 0; g < analysis->stratum_count; g++)
        add_shares(&out->cold[replicate], &cold[g], opens[g]);
    for (size_t k = 0; k < places->n; k++) {
        const struct miss_shares *of = sums->at_time;

        if (places->lines)
            of = open_lines_at_size(analysis, places->lines[k], replicate);
        else
            open_lines_at_time(analysis, places->times[k], replicate, sums->at_time);
        if (!of)
            return -1;
        for (size_t g = 0; g < analysis->stratum_count; g++)
            if (opens[g] > 0)
                add_shares(&out->shares[k * stride + replicate], &of[g], opens[g]);
        divide_shares(&out->shares[k * stride + replicate], all);
    }
    divide_shares(&out->cold[replicate], all);
    out->accesses[replicate] = all * replicate_time_factor(analysis, replicate);
    return 0;
}

/* What watches of a stratum exclude at a size: nothing that fewer than three of them could. */
static double claim_of(const struct analysis *analysis, size_t stratum)
{
    size_t ended = 0;

    for (size_t i = 0; i < analysis->strata[stratum].count; i++) {
        uint32_t watch = analysis->by_stratum[analysis->strata[stratum].first + i];
        ended += analysis->watches[watch].open.end != OPEN_CENSORED;
    }
    return ended ? fmin(1, 3.0 / (double)ended) : 1;
}

/* Bursts that show a miss at each place: resolved ones, or open ones of which some miss. opens:
 * scratch, by stratum. */
static int count_missing(const struct analysis *analysis, const struct parts *parts,
                         const struct places *places, double *opens, struct results *out)
{
    double all = 0;

    memset(opens, 0, (analysis->stratum_count + 1) * sizeof *opens);
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        double weight = analysis->bursts[part->burst].weight;

        out->probes += part->probes / (double)parts->count;
        all += weight * part->probes;
        for (size_t j = part->first; j < part->first + part->opens; j++)
            opens[parts->opens[j].stratum] += weight * parts->opens[j].count;
    }
    for (size_t k = 0; k < places->n; k++) {
        const struct miss_shares *of =
            places->lines ? open_lines_at_size(analysis, places->lines[k], 0) : NULL;

        if (places->lines && !of)
            return -1;
        for (size_t i = 0; i < parts->count; i++) {
            const struct part *part = &parts->items[i];
            bool misses = part->resolved[k] > 0;

            for (size_t j = part->first; j < part->first + part->opens && !misses; j++)
                misses = !of || of[parts->opens[j].stratum].missed > 0;
            out->missing[k] += misses;
        }
        for (size_t g = 0; g < analysis->stratum_count && of; g++)
            if (opens[g] > 0 && !(of[g].missed > 0))
                out->open_claim[k] += opens[g] / all * claim_of(analysis, g);
    }
    return 0;
}

void results_free(struct results *results)
{
    free(results->shares);
    free(results->cold);
    free(results->accesses);
    free(results->missing);
    free(results->open_claim);
    *results = (struct results){0};
}

static void sums_free(struct sums *sums)
{
    free(sums->opens);
    free(sums->hits);
    free(sums->eviction_times);
    free(sums->at_time);
}

/* 0 or -1; sums_free() in both cases. */
static int sums_create(const struct analysis *analysis, const struct places *places,
                       struct sums *sums)
{
    size_t strata = analysis->stratum_count + 1;

    *sums = (struct sums){
        .opens = malloc(strata * sizeof *sums->opens),
        .hits = malloc(strata * (places->n + 1) * sizeof *sums->hits),
        .eviction_times = malloc((places->n + 1) * sizeof *sums->eviction_times),
        .at_time = malloc(strata * sizeof *sums->at_time),
    };
    if (!sums->opens || !sums->hits || !sums->eviction_times || !sums->at_time)
        return -1;
    for (size_t k = 0; k < places->n; k++)
        sums->eviction_times[k] =
            places->lines ? open_lines_eviction_time(analysis, places->lines[k]) : places->times[k];
    for (size_t k = 0; k < places->n; k++)
        sums->eviction_times[k] = open_lines_time_place(sums->eviction_times[k]);
    return 0;
}

int evaluate(const struct analysis *analysis, struct subset subset, struct places places,
             struct results *out)
{
    uint32_t replicates = places.value_only ? 1 : replicate_count(analysis);
    struct sums sums;
    struct parts parts;
    int result = -1;

    *out = (struct results){
        .shares = calloc(replicates * places.n + 1, sizeof *out->shares),
        .cold = calloc(replicates, sizeof *out->cold),
        .accesses = calloc(replicates, sizeof *out->accesses),
        .missing = calloc(places.n + 1, sizeof *out->missing),
        .open_claim = calloc(places.n + 1, sizeof *out->open_claim),
    };
    if (sums_create(analysis, &places, &sums) == 0 && out->shares && out->cold && out->accesses &&
        out->missing && out->open_claim)
        result = list_parts(analysis, subset, &places, &parts);
    if (result == 0) {
        out->bursts = parts.count;
        for (uint32_t r = 0; r < replicates && result == 0; r++)
            result = add_up(analysis, &parts, &places, r, &sums, out);
        if (result == 0)
            result = count_missing(analysis, &parts, &places, sums.opens, out);
        parts_free(&parts);
    }
    sums_free(&sums);
    if (result)
        results_free(out);
    return result;
}

int evaluate_sizes(const struct analysis *analysis, struct subset subset, const double *bytes,
                   size_t n, struct results *out)
{
    double *lines = malloc((n + 1) * sizeof *lines);
    int result = -1;

    for (size_t k = 0; k < n && lines; k++)
        lines[k] = bytes[k] / analysis->line_size;
    if (lines)
        result = evaluate(analysis, subset, (struct places){.lines = lines, .n = n}, out);
    free(lines);
    return result;
}

double least_claim(const struct analysis *analysis, const struct results *results, size_t place)
{
    double worth = fmax(1, fmin(analysis->burst_worth, results->probes)), claim = 0;

    if (results->bursts == 0)
        return 1;
    if (results->missing[place] < MISSING_ENOUGH)
        claim = 3 / (worth * (double)results->bursts);
    return fmin(1, claim + results->open_claim[place]);
}
