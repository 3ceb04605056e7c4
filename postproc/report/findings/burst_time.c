/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/burst_time.h"

#include <math.h>
#include <stdlib.h>

#include "interpreter_stop.h"
#include "report/findings/cluster_share.h"
#include "report/findings/modelled_pace.h"
#include "support/memory.h"

/* Of a part whose costs are known to an interval. least, most: its share if they are as low, or as
 * high, as can be. */
static struct estimate share_of(const struct cluster_sums *sums, const struct cluster_weights *all,
                                double least, double most)
{
    struct estimate share = cluster_share(sums, all);
    double value = share.value;

    if (all->bursts < 2)
        return share;
    return (struct estimate){value,
                             fmax(0, value - hypot(value - share.lo, fmax(0, value - least))),
                             fmin(1, value + hypot(share.hi - value, fmax(0, most - value)))};
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
static void add_silent(struct cluster_weights *all, size_t silent)
{
    double mean = all->bursts > 0 ? all->w / (double)all->bursts : 0;

    all->w += (double)silent * mean;
    all->ww += (double)silent * mean * mean;
    all->bursts += silent;
}

/* What the misses of a burst cost by their latencies; and by how much that is to be multiplied. */
struct by_misses {
    double of[TIME_KINDS];
};

struct dearness {
    struct by_misses times;
    double rest_ns; /* the burst's other time is at least this */
};

static const struct by_misses as_they_are = {{1, 1, 1}};

static double sum_of(const struct by_misses *costs, const struct by_misses *times)
{
    double sum = 0;

    for (size_t k = 0; k < TIME_KINDS; k++)
        sum += costs->of[k] * times->of[k];
    return sum;
}

/* What is known of a burst, ns: `rate` 0 and `held` 0 where it is not. */
struct burst_pace {
    double accesses;
    double rate; /* accesses per ns, measured */
    double held; /* per access, with all lines in the first cache */
};

static struct burst_pace pace_of(const struct model *model, size_t observation, double accesses)
{
    return (struct burst_pace){accesses, analysis_probe_rate(model->analysis, observation),
                               modelled_held_ns(model, observation)};
}

/* Misses take no more than so many times their latencies, and no less: what a burst waited is
 * modelled. */
static const double dearest = 3;
static const double cheapest = 0.05;

/*
 * All misses of a burst take what it took beyond the time that its code needs with all lines in the
 * first cache, where both are known (and, where only the first is, no longer than that): latencies
 * overlap, or come with look-ups of pages, which lines in order seldom need. In sixteen programs it
 * was 0.04 to 4.5 times as long as by latencies (docs/findings.md); what is more than `dearest`
 * times is not theirs, nor what is more than once where threads fight over a line. It goes to lines
 * in no order if there are such, else to those in order: memory that is shared with other guests of
 * a host brings 2 to 9 GB/s. What lines that crowd in a set take is not known by latencies: stores
 * push out what was stored just before, and wait for it to be written back. All that is left is
 * theirs. least: so many times their latencies they take at any rate.
 */
static struct dearness dearness_of(const struct burst_pace *pace, const struct by_misses *costs,
                                   bool contended, double least)
{
    double all = sum_of(costs, &as_they_are), waited, left;
    struct dearness dear = {as_they_are, 0};

    if (!(pace->rate > 0) || !(all > 0))
        return dear;
    waited = pace->accesses * (1 / pace->rate - pace->held);
    left = waited - all;
    if (left < 0)
        for (size_t k = 0; k < TIME_KINDS; k++)
            dear.times.of[k] = fmax(least, waited / all);
    else if (pace->held > 0 && costs->of[TIME_CROWDED] > 0)
        dear.times.of[TIME_CROWDED] += left / costs->of[TIME_CROWDED];
    else if (pace->held > 0 && costs->of[TIME_SCATTERED] > 0 && !contended)
        dear.times.of[TIME_SCATTERED] = fmin(dearest, 1 + left / costs->of[TIME_SCATTERED]);
    else if (pace->held > 0 && costs->of[TIME_IN_ORDER] > 0 && !contended)
        dear.times.of[TIME_IN_ORDER] = fmin(dearest, 1 + left / costs->of[TIME_IN_ORDER]);
    dear.rest_ns =
        fmax(pace->accesses * pace->held, pace->accesses / pace->rate - sum_of(costs, &dear.times));
    return dear;
}

/* Its share of a burst, if its code takes `slower` times as long and misses `dear` times. */
static double waited_share(const struct burst_pace *pace, double misses_ns, double slower,
                           double dear)
{
    double all = pace->accesses / pace->rate;

    return fmax(0, 1 - (slower * pace->held * pace->accesses + dear * misses_ns) / all);
}

/* Code is modelled too fast, or too slow, by less than this: twice, as a logarithm, what 48
 * programs were off by (docs/measuring-the-rate.md). */
static const double slower_most = 1.6;

/* own: share of the burst's time in the program's own code. */
static void note_wait(struct contended_bursts *contended, size_t observation,
                      const struct burst_pace *pace, double misses_ns, double weight, double own)
{
    struct burst_wait wait = {.observation = observation, .weight = weight, .share = {-1, -1, -1}};

    if (pace->rate > 0 && pace->held > 0)
        wait.share = (struct estimate){own * waited_share(pace, misses_ns, 1, 1),
                                       own * waited_share(pace, misses_ns, slower_most, dearest),
                                       own * waited_share(pace, 0, 1 / slower_most, 0)};
    ARRAY_PUSH(&contended->waits, wait);
}

/* ns that misses of a burst take by their costs: of each part, and by kind. */
struct spent {
    double *parts;
    struct by_misses sums;
};

/* What the probes of a burst say, until its last. */
struct burst_sum {
    double accesses;
    struct spent spent, least, most; /* by the costs, and by their lower and upper ends */
};

struct shares {
    const struct model *model;
    const struct time_part *parts;
    size_t count;
    double hit_ns;
    struct burst_sum burst;
    struct cluster_sums *sums; /* of each part, and of all */
    double *least,
        *most; /* likewise: weight times share, if it costs as little, or much, as can be */
    struct cluster_weights all;
};

static void spend(struct spent *spent, uint32_t part, enum time_kind kind, double ns)
{
    spent->parts[part] += ns;
    spent->sums.of[kind] += ns;
}

static void clear(struct spent *spent, size_t count)
{
    for (size_t p = 0; p < count; p++)
        spent->parts[p] = 0;
    spent->sums = (struct by_misses){{0}};
}

static void add_probe(struct shares *shares, uint32_t part, double accesses)
{
    struct burst_sum *burst = &shares->burst;

    burst->accesses += accesses;
    if (part < shares->count) {
        const struct time_part *of = &shares->parts[part];

        spend(&burst->spent, part, of->kind, accesses * of->cost_ns.value);
        spend(&burst->least, part, of->kind, accesses * of->cost_ns.lo);
        spend(&burst->most, part, of->kind, accesses * of->cost_ns.hi);
    }
}

/* ns that a burst took. least: for its instructions alone; own: share in the program's own code. */
static double burst_ns_of(const struct shares *shares, const struct dearness *dear,
                          double misses_ns, double least, double own)
{
    double ns = fmax(shares->burst.accesses * shares->hit_ns, dear->rest_ns) + misses_ns;

    return fmax(ns, least) / own;
}

static double in_burst(double ns, double burst_ns)
{
    return burst_ns > 0 ? ns / burst_ns : 0;
}

/*
 * What the misses of each part, and of all, take of the burst if they cost what one end of their
 * intervals says: no more than the burst waited. pace: with its code as fast, or as slow, as can
 * be; dearness is for `cheapest` as in dearness_of(); to[count + 1]: where it is added.
 */
static void add_end(const struct shares *shares, const struct spent *end, struct burst_pace pace,
                    bool fought, double cheap, double least, double own, double weight, double *to)
{
    const struct burst_sum *burst = &shares->burst;

    for (size_t p = 0; p <= shares->count; p++) {
        struct by_misses costs = p < shares->count ? burst->spent.sums : end->sums;
        struct dearness dear;
        double ns, one;

        if (p < shares->count) {
            if (!(end->parts[p] > 0))
                continue;
            costs.of[shares->parts[p].kind] += end->parts[p] - burst->spent.parts[p];
        }
        dear = dearness_of(&pace, &costs, fought, cheap);
        ns = sum_of(&costs, &dear.times);
        one = p < shares->count ? end->parts[p] * dear.times.of[shares->parts[p].kind] : ns;
        to[p] += weight * in_burst(one, burst_ns_of(shares, &dear, ns, least, own));
    }
}

static struct burst_pace slowed(struct burst_pace pace, double factor)
{
    pace.held *= factor;
    return pace;
}

/* observation: the last of the burst. */
static void end_burst(struct shares *shares, size_t observation, struct contended_bursts *contended)
{
    struct burst_sum *burst = &shares->burst;
    bool fought = contended != NULL && contended->fought != NULL && contended->fought[observation];
    struct burst_pace pace = {burst->accesses, 0, 0};
    struct dearness dear;
    double own, weight = analysis_probe_time(shares->model->analysis, observation, &own);
    double least = calculation_ns(analysis_probe_burst(shares->model->analysis, observation));
    double misses_ns, burst_ns;

    if (shares->hit_ns > 0)
        pace = pace_of(shares->model, observation, burst->accesses);
    dear = dearness_of(&pace, &burst->spent.sums, fought, cheapest);
    if (shares->hit_ns > 0 && fought)
        note_wait(contended, observation, &pace, sum_of(&burst->spent.sums, &as_they_are), weight,
                  own);
    misses_ns = sum_of(&burst->spent.sums, &dear.times);
    burst_ns = burst_ns_of(shares, &dear, misses_ns, least, own);
    cluster_weights_add(&shares->all, weight);
    for (size_t p = 0; p < shares->count; p++)
        cluster_sums_add(
            &shares->sums[p], weight,
            in_burst(burst->spent.parts[p] * dear.times.of[shares->parts[p].kind], burst_ns));
    cluster_sums_add(&shares->sums[shares->count], weight, in_burst(misses_ns, burst_ns));
    add_end(shares, &burst->least, slowed(pace, slower_most), fought, cheapest, least, own, weight,
            shares->least);
    add_end(shares, &burst->most, slowed(pace, 1 / slower_most), fought, 0, least, own, weight,
            shares->most);
    clear(&burst->spent, shares->count);
    clear(&burst->least, shares->count);
    clear(&burst->most, shares->count);
    burst->accesses = 0;
}

struct estimate burst_time_shares(const struct model *model, const uint32_t *labels,
                                  struct time_part *parts, size_t count, double hit_ns,
                                  bool objects, struct contended_bursts *contended)
{
    struct shares shares = {.model = model, .parts = parts, .count = count, .hit_ns = hit_ns};
    double *numbers, all;
    struct estimate share;

    if (model->exact)
        return share_of_exact(model, labels, parts, count, hit_ns);
    numbers = allocate_zeroed(5 * count + 2, sizeof(*numbers));
    shares.burst.spent.parts = numbers;
    shares.burst.least.parts = numbers + count;
    shares.burst.most.parts = numbers + 2 * count;
    shares.least = numbers + 3 * count;
    shares.most = shares.least + count + 1;
    shares.sums = allocate_zeroed(count + 1, sizeof(*shares.sums));
    for (size_t i = 0; i < model->observations; i++) {
        add_probe(&shares, labels[i], accesses_of(model, i, objects));
        if (i + 1 == model->observations || analysis_probe(model->analysis, i + 1, NULL)->burst !=
                                                analysis_probe(model->analysis, i, NULL)->burst)
            end_burst(&shares, i, contended);
    }
    add_silent(&shares.all, burst_time_silent(model));
    if (contended != NULL)
        contended->all = shares.all;
    all = shares.all.w > 0 ? shares.all.w : 1;
    for (size_t p = 0; p < count; p++) {
        parts[p].bursts = shares.sums[p].bursts;
        parts[p].share =
            share_of(&shares.sums[p], &shares.all, shares.least[p] / all, shares.most[p] / all);
    }
    share = share_of(&shares.sums[count], &shares.all, shares.least[count] / all,
                     shares.most[count] / all);
    free(shares.sums);
    free(numbers);
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
    struct cluster_sums *sums = allocate_zeroed(count, sizeof(*sums));
    struct estimate *shares = allocate_zeroed(count, sizeof(*shares));
    struct cluster_weights all = {0};

    for (size_t i = 0; i < moments->count; i++) {
        double weight = (double)moments->items[i].burst->weight_ns;

        cluster_weights_add(&all, weight);
        if (labels[i] < count)
            cluster_sums_add(&sums[labels[i]], weight, 1);
    }
    for (size_t g = 0; g < count; g++)
        shares[g] = widened(cluster_share(&sums[g], &all), all.bursts);
    free(sums);
    return shares;
}
