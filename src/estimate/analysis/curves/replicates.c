/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replicates: Poisson bootstrap over whole bursts (Hanley and MacGibbon 2006), and over the rates
 * of loops as their readings allow. A burst is drawn with all its probes and watches: it is the
 * unit of sampling, never the access. Drawn by hashing (seed, replicate, key), the key being what a
 * burst, loop or sample itself says: a subset sees the same draws as the whole, and nothing depends
 * on the order of questions, nor on that of the profiles, merged before or not.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "reuse/sort_keys.h"
#include "support/memory.h"

/* What is common to all loops has no key of its own. */
#define COMMON_KEY ((uint64_t)1 << 63)

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t draw(const struct analysis *analysis, uint32_t replicate, uint64_t key)
{
    return mix(mix(analysis->options.seed + replicate) ^ (key * 0xd1342543de82ef95u));
}

/* ---- keys: of what merging does not renumber ---- */

static uint64_t add_to_key(uint64_t key, uint64_t value)
{
    return mix(key ^ mix(value));
}

/* Of a sum: to few digits, for its last ones depend on the order. */
static uint64_t bits(double sum)
{
    float value = (float)sum;
    uint32_t image;

    memcpy(&image, &value, sizeof image);
    return image;
}

/* A sum over single probes, for the order of the groups is that of addresses, which merging may
 * change, and with it who is taken to come back to whose lines. */
static uint64_t key_of_probes(const struct analysis *analysis, const struct analysed_burst *burst)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < burst->probe_count; i++) {
        const struct analysed_probe *probe = &analysis->probes[burst->first_probe + i];

        for (uint32_t j = 0; j < probe->entries; j++) {
            const struct probe_count *entry = &analysis->counts[probe->first + j];

            sum += entry->count * mix((uint64_t)probe->last_kind << 16 | entry->code);
        }
    }
    return sum;
}

uint64_t replicate_record_key(const struct record_burst *record)
{
    uint64_t key = add_to_key(record->app_ns, record->weight_ns);

    key = add_to_key(key, (uint64_t)record->accesses << 32 | record->touches);
    return add_to_key(key, (uint64_t)record->open << 32 | record->cpu);
}

static uint64_t key_of_burst(const struct analysis *analysis, const struct analysed_burst *burst)
{
    return add_to_key(replicate_record_key(burst->record), key_of_probes(analysis, burst));
}

static uint64_t key_of_loop(const struct loop_rate *loop)
{
    return add_to_key(add_to_key(bits(loop->time_ns), bits(loop->call_ns)),
                      bits(loop->accesses_to_call));
}

static uint64_t key_of_sample(const struct record_sample *sample)
{
    return add_to_key(add_to_key(sample->app_ns, sample->weight_ns), sample->cpu);
}

/* What says the same twice is drawn twice all the same. */
static void make_keys_differ(uint64_t *keys, size_t n)
{
    struct sort_key *room = allocate(2 * n, sizeof *room), *sorted;

    for (size_t i = 0; i < n; i++)
        room[i] = (struct sort_key){keys[i], (uint32_t)i};
    sorted = sort_keys(room, room + n, n);
    for (size_t i = 1, same = 0; i < n; i++) {
        same = sorted[i].key == sorted[i - 1].key ? same + 1 : 0;
        if (same > 0)
            keys[sorted[i].index] = add_to_key(sorted[i].key, same);
    }
    free(room);
}

static uint64_t *keys_of_bursts(const struct analysis *analysis)
{
    uint64_t *keys = allocate(analysis->burst_count, sizeof *keys);

    for (size_t i = 0; i < analysis->burst_count; i++)
        keys[i] = key_of_burst(analysis, &analysis->bursts[i]);
    make_keys_differ(keys, analysis->burst_count);
    return keys;
}

static uint64_t *keys_of_loops(const struct analysis *analysis)
{
    uint64_t *keys = allocate(analysis->rates.count, sizeof *keys);

    for (size_t i = 0; i < analysis->rates.count; i++)
        keys[i] = key_of_loop(&analysis->rates.loops[i]);
    make_keys_differ(keys, analysis->rates.count);
    return keys;
}

/* ---- draws ---- */

/* Poisson with mean 1, by inversion of its distribution function times 2^32. */
static unsigned poisson(uint32_t uniform)
{
    static const uint32_t below[] = {1580030169, 3160060337, 3950075422, 4213413783,
                                     4279248373, 4292415292, 4294609778, 4294923276};
    unsigned n = 0;

    while (n < sizeof below / sizeof *below && uniform >= below[n])
        n++;
    return n;
}

static double normal(uint64_t uniform)
{
    double u = ((double)(uniform >> 32) + 0.5) / 4294967296.0;
    double v = ((double)(uint32_t)uniform + 0.5) / 4294967296.0;

    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* The assumptions that are tried at this line size, in order. */
static unsigned list_assumptions(const struct analysis *analysis,
                                 enum assumption list[ASSUME_ONE_VISIT])
{
    unsigned n = 0;

    list[n++] = ASSUME_ADDED_LINES;
    if (analysis->line_size <= analysis->run_line_size)
        list[n++] = ASSUME_UNEQUAL_LINES;
    else
        list[n++] = ASSUME_OWN_LINE;
    if (analysis->invalidations_seen)
        list[n++] = ASSUME_ONE_VISIT;
    return n;
}

uint32_t replicate_count(const struct analysis *analysis)
{
    enum assumption list[ASSUME_ONE_VISIT];

    return 1 + analysis->options.bootstrap + list_assumptions(analysis, list);
}

enum assumption replicate_assumption(const struct analysis *analysis, uint32_t replicate)
{
    enum assumption list[ASSUME_ONE_VISIT];
    unsigned n = list_assumptions(analysis, list);
    uint32_t first = analysis->options.bootstrap + 1;

    return replicate >= first && replicate - first < n ? list[replicate - first] : ASSUME_NOTHING;
}

static bool draws(const struct analysis *analysis, uint32_t replicate)
{
    return replicate > 0 && replicate <= analysis->options.bootstrap;
}

/* Draws lie replicate by replicate: those of a burst, or loop, are asked for together. */
static size_t drawn_at(const struct analysis *analysis, uint32_t replicate, size_t index)
{
    return index * (analysis->options.bootstrap + 1) + replicate;
}

/* The time of all bursts that are evaluated over that of those drawn. */
static double time_factor(const struct analysis *analysis, uint32_t replicate)
{
    double all = 0, drawn = 0;

    for (size_t i = 0; i < analysis->burst_count; i++) {
        double time = analysis->bursts[i].left_out ? 0 : analysis->bursts[i].time_ns;

        all += time;
        drawn += time * analysis->times_drawn[drawn_at(analysis, replicate, i)];
    }
    return drawn > 0 ? all / drawn : 1;
}

static void draw_bursts(struct analysis *analysis, uint32_t replicates)
{
    size_t bursts = analysis->burst_count;
    uint64_t *keys = keys_of_bursts(analysis);

    analysis->times_drawn = allocate(replicates * bursts, 1);
    analysis->time_factors = allocate(replicates, sizeof *analysis->time_factors);
    for (size_t i = 0; i < bursts; i++)
        for (uint32_t r = 0; r < replicates; r++)
            analysis->times_drawn[drawn_at(analysis, r, i)] =
                r ? (uint8_t)poisson((uint32_t)(draw(analysis, r, keys[i]) >> 32)) : 1;
    for (uint32_t r = 0; r < replicates; r++)
        analysis->time_factors[r] = time_factor(analysis, r);
    free(keys);
}

static void draw_rates(struct analysis *analysis, uint32_t replicates)
{
    size_t loops = analysis->rates.count;
    uint64_t *keys = keys_of_loops(analysis);

    analysis->rate_factors = allocate(replicates * loops + 1, sizeof *analysis->rate_factors);
    for (uint32_t r = 0; r < replicates; r++) {
        /* The errors that all rates have in common do not average out over loops. */
        double common = r ? normal(draw(analysis, r, COMMON_KEY)) : 0;

        for (size_t i = 0; i < loops; i++) {
            const struct loop_rate *loop = &analysis->rates.loops[i];
            double own = r ? normal(draw(analysis, r, ~keys[i])) : 0;

            analysis->rate_factors[drawn_at(analysis, r, i)] =
                (float)exp(loop->log_deviation * own + loop->common_deviation * common);
        }
    }
    free(keys);
}

void replicates_create(struct analysis *analysis)
{
    draw_bursts(analysis, analysis->options.bootstrap + 1);
    draw_rates(analysis, analysis->options.bootstrap + 1);
}

double replicate_time_factor(const struct analysis *analysis, uint32_t replicate)
{
    return draws(analysis, replicate) ? analysis->time_factors[replicate] : 1;
}

double replicate_rate_factor(const struct analysis *analysis, uint32_t replicate, uint32_t loop)
{
    return draws(analysis, replicate)
               ? (double)analysis->rate_factors[drawn_at(analysis, replicate, loop)]
               : 1;
}

double replicate_burst_factor(const struct analysis *analysis, uint32_t replicate, uint32_t burst)
{
    if (!draws(analysis, replicate))
        return 1;
    return analysis->times_drawn[drawn_at(analysis, replicate, burst)] *
           replicate_rate_factor(analysis, replicate, analysis->bursts[burst].loop);
}

void replicate_burst_weights(const struct analysis *analysis, uint32_t burst, uint32_t count,
                             double *weights)
{
    const struct analysed_burst *of = &analysis->bursts[burst];
    const uint8_t *drawn = analysis->times_drawn + drawn_at(analysis, 0, burst);
    const float *factors = analysis->rate_factors + drawn_at(analysis, 0, of->loop);
    uint32_t last = analysis->options.bootstrap, r;

    for (r = 1; r < count && r <= last; r++)
        weights[r] = of->weight * (drawn[r] * (double)factors[r]);
    for (; r < count; r++)
        weights[r] = of->weight;
    weights[0] = of->weight;
}

unsigned replicate_times_drawn(const struct analysis *analysis, uint32_t replicate, uint32_t sample)
{
    uint32_t burst = analysis->samples[sample].burst;

    if (!draws(analysis, replicate))
        return 1;
    return burst != NO_BURST
               ? analysis->times_drawn[drawn_at(analysis, replicate, burst)]
               : poisson((uint32_t)(draw(analysis, replicate,
                                         key_of_sample(analysis->samples[sample].record)) >>
                                    32));
}

double replicate_weight(const struct analysis *analysis, uint32_t replicate, uint32_t sample)
{
    return analysis->samples[sample].weight *
           replicate_rate_factor(analysis, replicate, analysis->samples[sample].loop) *
           replicate_times_drawn(analysis, replicate, sample);
}

/*
 * Half a 95 % interval over the standard error, with few bursts: Student's t with bursts - 1
 * degrees of freedom (Cornish-Fisher expansion, Abramowitz and Stegun 26.7.5), and the bootstrap's
 * bias sqrt(M / (M - 1)).
 */
static double quantile(size_t bursts)
{
    double z = 1.959964, f = bursts > 2 ? (double)bursts - 1 : 1;

    if (bursts <= 2)
        return 12.7;
    return (z + (pow(z, 3) + z) / (4 * f) +
            (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * f * f)) *
           sqrt((double)bursts / f);
}

static double half_interval(const struct analysis *analysis, const double *values, double value,
                            size_t bursts)
{
    uint32_t n = analysis->options.bootstrap;
    double squares = 0;

    /* Around the estimate, not around the replicates' mean: their bias counts as error. */
    for (uint32_t r = 1; r <= n; r++)
        squares += (values[r] - value) * (values[r] - value);
    return n > 1 ? quantile(bursts) * sqrt(squares / (double)n) : 0;
}

/* Widens an interval by what an assumption changes: to both sides, for it is a doubt and no bound;
 * but where other threads come once at most, that bounds from above. */
static void widen(const struct analysis *analysis, const double *values, double value, double half,
                  struct estimate *interval)
{
    for (uint32_t r = analysis->options.bootstrap + 1; r < replicate_count(analysis); r++) {
        double apart = fabs(values[r] - value);

        if (replicate_assumption(analysis, r) == ASSUME_ONE_VISIT) {
            interval->hi = fmax(interval->hi, value + half + fmax(0, values[r] - value));
            continue;
        }
        interval->lo = fmin(interval->lo, value - half - apart);
        interval->hi = fmax(interval->hi, value + half + apart);
    }
}

struct estimate replicate_interval(const struct analysis *analysis, const double *values,
                                   double floor, size_t bursts)
{
    double value = fmin(1, fmax(0, values[0])); /* rounding */
    double half = half_interval(analysis, values, value, bursts);
    struct estimate out = {value, value - half, value + half};

    widen(analysis, values, value, half, &out);
    /* Few observations cannot exclude what none of them shows. */
    if (value < floor)
        out.hi = fmax(out.hi, floor);
    if (value > 1 - floor)
        out.lo = fmin(out.lo, 1 - floor);
    out.lo = fmax(out.lo, 0);
    out.hi = fmin(out.hi, 1);
    return out;
}

struct estimate replicate_spread(const struct analysis *analysis, const double *values,
                                 size_t bursts)
{
    double half = half_interval(analysis, values, values[0], bursts);
    struct estimate out = {values[0], values[0] - half, values[0] + half};

    widen(analysis, values, values[0], half, &out);
    return out;
}
