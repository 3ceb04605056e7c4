/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/burst_time.h"

#include <math.h>
#include <stdlib.h>

#include "interpreter_stop.h"
#include "report/findings/modelled_pace.h"
#include "support/memory.h"

/* Sums over bursts of weight w and share s; of a part, whose cost in the current burst is `cost`.
 */
struct sums {
    double cost, ws, wws, wwss;
    size_t bursts;
};

struct weights {
    double w, ww;
    size_t bursts;
};

static void end_part(struct sums *part, double weight, double all)
{
    double share = all > 0 ? part->cost / all : 0;

    part->bursts += part->cost > 0;
    part->ws += weight * share;
    part->wws += weight * weight * share;
    part->wwss += weight * weight * share * share;
    part->cost = 0;
}

/* The share with its costs `factor` times as high and all else as it is. */
static double scaled_share(double share, double factor)
{
    return share * factor / (1 - share + share * factor);
}

static double part_of(double part, double whole)
{
    return whole > 0 ? part / whole : 1;
}

static struct estimate share_of(const struct sums *sums, const struct weights *all,
                                const struct estimate *cost)
{
    double n = (double)all->bursts, share, variance, half, low, high;

    if (!(all->w > 0))
        return (struct estimate){0, 0, 1};
    share = fmin(1, sums->ws / all->w);
    if (n < 2)
        return (struct estimate){share, 0, 1};
    variance = (sums->wwss - 2 * share * sums->wws + share * share * all->ww) / (all->w * all->w);
    /* Quantile of Student's distribution, to a few percent. */
    half = (1.96 + 2.6 / (n - 1)) * sqrt(fmax(0, variance) * n / (n - 1));
    low = share - scaled_share(share, part_of(cost->lo, cost->value));
    high = scaled_share(share, part_of(cost->hi, cost->value)) - share;
    return (struct estimate){share, fmax(0, share - hypot(half, low)),
                             fmin(1, share + hypot(half, high))};
}

static struct estimate share_of_exact(const struct model *model, const uint32_t *labels,
                                      struct time_part *parts, size_t count, double hit_ns)
{
    double all = hit_ns * model->accesses.value, costly = 0;
    double *costs = allocate_zeroed(count + 1, sizeof(*costs));

    for (size_t i = 0; i < model->observations; i++) {
        const struct record_histogram *histogram = analysis_histogram(model->analysis, i, NULL);

        if (labels[i] < count && histogram->measure == MEASURE_STACK_DISTANCE)
            costs[labels[i]] += (double)histogram->accesses * parts[labels[i]].cost_ns.value;
    }
    for (size_t p = 0; p < count; p++)
        costly += costs[p];
    all += costly;
    for (size_t p = 0; p < count; p++) {
        double share = all > 0 ? costs[p] / all : 0;

        parts[p].share = (struct estimate){share, share, share};
    }
    free(costs);
    costly = all > 0 ? costly / all : 0;
    return (struct estimate){costly, costly, costly};
}

/* The mean cost of all parts, weighed by what each takes. */
static struct estimate mean_cost(const struct time_part *parts, size_t count)
{
    struct estimate sum = {0};

    for (size_t p = 0; p < count; p++) {
        double share = parts[p].share.value, value = parts[p].cost_ns.value;

        if (!(value > 0))
            continue;
        sum.value += share;
        sum.lo += share * parts[p].cost_ns.lo / value;
        sum.hi += share * parts[p].cost_ns.hi / value;
    }
    return sum;
}

/* Accesses in its burst that a group of probes stands for. */
static double accesses_of(const struct model *model, size_t observation, bool objects)
{
    double count = (double)analysis_probe(model->analysis, observation, NULL)->count;
    double weight = objects ? analysis_probe_weight(model->analysis, observation) : 0;

    return weight > 0 ? count * analysis_probe_object_weight(model->analysis, observation) / weight
                      : count;
}

size_t burst_time_silent(const struct model *model)
{
    size_t sum = 0;

    for (size_t p = 0; p < model->profile_count; p++)
        for (size_t i = 0; i < model->profiles[p]->totals.count; i++) {
            const struct record_totals *totals = &model->profiles[p]->totals.items[i];

            if (model_looks_at(model, model->profiles[p], totals->thread_id))
                sum += totals->lost[LOSS_UNREADABLE];
        }
    return sum;
}

/* Four instructions a cycle and more, at 2.5 GHz: no code is faster for long. */
static const double instruction_ns = 0.1;

/* ns that what the burst's probes stand for takes at least, where it says how much it executed. */
static double calculation_ns(const struct record_burst *burst)
{
    if (burst->stop != INTERPRETER_BUDGET || burst->accesses == 0)
        return 0;
    return instruction_ns * BURST_INSTRUCTIONS_MAX * (double)burst->probes /
           (double)burst->accesses;
}

/* As long as the others, on average, and without a cost. */
static void add_silent(struct weights *all, size_t silent)
{
    double mean = all->bursts > 0 ? all->w / (double)all->bursts : 0;

    all->w += (double)silent * mean;
    all->ww += (double)silent * mean * mean;
    all->bursts += silent;
}

/* What the misses of a burst cost by their latencies. */
struct miss_costs {
    double in_order, scattered;
};

/* By how much that is to be multiplied. */
struct dearness {
    double in_order, scattered;
    double rest_ns; /* the burst's other time is at least this */
};

/*
 * All misses of a burst take what it took beyond the time that its code needs with all lines in the
 * first cache, where both are known (and, where only the first is, no longer than that): latencies
 * overlap, or come with look-ups of pages, which lines in order seldom need. In sixteen programs it
 * was 0.04 to 4.5 times as long as by latencies (docs/findings.md); what is more than `dearest`
 * times is not theirs.
 */
static struct dearness dearness_of(const struct model *model, size_t observation, double accesses,
                                   const struct miss_costs *costs)
{
    const double least = 0.05, dearest = 3;
    double rate = analysis_probe_rate(model->analysis, observation);
    double held = modelled_held_ns(model, observation), waited;
    double all = costs->in_order + costs->scattered;
    struct dearness dear = {1, 1, 0};

    if (!(rate > 0) || !(all > 0))
        return dear;
    waited = accesses * (1 / rate - held);
    if (waited < all)
        dear.in_order = dear.scattered = fmax(least, waited / all);
    else if (held > 0 && costs->scattered > 0)
        dear.scattered = fmin(dearest, (waited - costs->in_order) / costs->scattered);
    dear.rest_ns = fmax(accesses * held, accesses / rate - dear.in_order * costs->in_order -
                                             dear.scattered * costs->scattered);
    return dear;
}

struct estimate burst_time_shares(const struct model *model, const uint32_t *labels,
                                  struct time_part *parts, size_t count, double hit_ns,
                                  bool objects)
{
    struct sums *sums = allocate_zeroed(count + 1, sizeof(*sums)), *total = &sums[count];
    struct weights all = {0};
    struct estimate cost, share;
    struct miss_costs costs = {0, 0};
    double burst_ns, accesses = 0;

    if (model->exact) {
        free(sums);
        return share_of_exact(model, labels, parts, count, hit_ns);
    }
    for (size_t i = 0; i < model->observations; i++) {
        const struct analysed_probe *probe = analysis_probe(model->analysis, i, NULL);
        double n = accesses_of(model, i, objects), weight, own;
        struct dearness dear = {1, 1, 0};

        accesses += n;
        if (labels[i] < count) {
            double one = n * parts[labels[i]].cost_ns.value;

            sums[labels[i]].cost += one;
            *(parts[labels[i]].in_order ? &costs.in_order : &costs.scattered) += one;
        }
        if (i + 1 < model->observations &&
            analysis_probe(model->analysis, i + 1, NULL)->burst == probe->burst)
            continue;
        weight = analysis_probe_time(model->analysis, i, &own);
        if (hit_ns > 0)
            dear = dearness_of(model, i, accesses, &costs);
        total->cost = dear.in_order * costs.in_order + dear.scattered * costs.scattered;
        burst_ns = fmax(accesses * hit_ns, dear.rest_ns) + total->cost;
        burst_ns = fmax(burst_ns, calculation_ns(analysis_probe_burst(model->analysis, i))) / own;
        all.w += weight;
        all.ww += weight * weight;
        all.bursts++;
        for (size_t p = 0; p < count; p++) {
            sums[p].cost *= parts[p].in_order ? dear.in_order : dear.scattered;
            end_part(&sums[p], weight, burst_ns);
        }
        end_part(total, weight, burst_ns);
        accesses = 0;
        costs = (struct miss_costs){0, 0};
    }
    add_silent(&all, burst_time_silent(model));
    for (size_t p = 0; p < count; p++) {
        parts[p].bursts = sums[p].bursts;
        parts[p].share = share_of(&sums[p], &all, &parts[p].cost_ns);
    }
    cost = mean_cost(parts, count);
    share = share_of(total, &all, &cost);
    free(sums);
    return share;
}

/* Lines by instruction and context, each looked up once. */
struct seen_lines {
    struct intern_table *keys;
    ARRAY(struct code_line) lines;
};

static struct code_line line_of(struct model *model, struct seen_lines *seen,
                                const struct record_burst *burst, size_t profile)
{
    const struct record_context *context =
        profile_context(model->profiles[profile], burst->context_id);
    uint64_t key[2] = {profile, burst->context_id};
    uint32_t number;

    if (context == NULL)
        return (struct code_line){.function = NULL};
    number = intern_table_insert(seen->keys, key, sizeof(key));
    if (number == seen->lines.count) {
        struct code_line line =
            model_own_line(model, profile, context->ip, burst->context_id, burst->monotonic_ns);

        ARRAY_PUSH(&seen->lines, line);
    }
    return seen->lines.items[number];
}

void burst_time_moments(struct model *model, moment_list *moments)
{
    struct seen_lines seen = {.keys = intern_table_create()};
    const struct record_burst *last = NULL;

    for (size_t i = 0; !model->exact && i < model->observations; i++) {
        const struct record_burst *burst = analysis_probe_burst(model->analysis, i);
        struct moment moment = {.burst = burst};
        size_t profile;

        if (burst == last)
            continue;
        last = burst;
        analysis_probe(model->analysis, i, &profile);
        moment.profile = profile;
        moment.line = line_of(model, &seen, burst, profile);
        ARRAY_PUSH(moments, moment);
    }
    free(seen.lines.items);
    intern_table_free(seen.keys);
}

/* What was never seen, or always, may have happened or not so often: Clopper and Pearson (1934). */
static struct estimate widened(struct estimate share, size_t n)
{
    double unseen = n > 0 ? 1 - pow(0.05, 1 / (double)n) : 1;

    if (share.value <= 0)
        share.hi = fmax(share.hi, unseen);
    if (share.value >= 1)
        share.lo = fmin(share.lo, 1 - unseen);
    return share;
}

struct estimate *burst_time_of_moments(const moment_list *moments, const uint32_t *labels,
                                       size_t count)
{
    struct sums *sums = allocate_zeroed(count, sizeof(*sums));
    struct estimate *shares = allocate_zeroed(count, sizeof(*shares));
    const struct estimate certain = {1, 1, 1};
    struct weights all = {.bursts = moments->count};

    for (size_t i = 0; i < moments->count; i++) {
        double weight = (double)moments->items[i].burst->weight_ns;

        all.w += weight;
        all.ww += weight * weight;
        if (labels[i] >= count)
            continue;
        sums[labels[i]].cost = 1;
        end_part(&sums[labels[i]], weight, 1);
    }
    for (size_t g = 0; g < count; g++)
        shares[g] = widened(share_of(&sums[g], &all, &certain), all.bursts);
    free(sums);
    return shares;
}
