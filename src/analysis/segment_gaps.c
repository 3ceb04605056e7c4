/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments that end by the thread's own next store within nanoseconds. A trap takes a thousand
 * times longer, so what comes in between cannot be watched; it follows from how often other threads
 * were sampled at the line at that time (docs/estimators.md, "Communication").
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/communication_internal.h"
#include "sampling/line_mask.h"

/* Rates are taken as constant for this long: some tens of samples of each thread. */
static const uint64_t BIN_NS = 200 * 1000 * 1000;

struct visitor {
    uint64_t line;
    uint64_t bin;
    uint32_t profile;
    uint32_t thread_id;
    uint32_t sample; /* index into analysis.samples */
    bool store;
};

static int compare_visitors(const void *a, const void *b)
{
    const struct visitor *x = a, *y = b;

    if (x->profile != y->profile)
        return x->profile < y->profile ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->bin != y->bin)
        return x->bin < y->bin ? -1 : 1;
    if (x->thread_id != y->thread_id)
        return x->thread_id < y->thread_id ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

struct instruction {
    uint32_t profile;
    uint64_t ip;
};

static int compare_instructions(const void *a, const void *b)
{
    const struct instruction *x = a, *y = b;

    if (x->profile != y->profile)
        return x->profile < y->profile ? -1 : 1;
    return x->ip < y->ip ? -1 : x->ip > y->ip;
}

/* Accesses per ns of one thread to one line. */
struct visitor_rate {
    uint32_t thread_id;
    double loads, stores;
};

/* What other threads do in a gap of the owner's, if they come at random. */
static void expect(const struct visitor_rate *rates, size_t n, uint32_t owner, double gap,
                   double *reads, double *ends)
{
    double stores = 0;

    *reads = 0;
    for (size_t i = 0; i < n; i++)
        stores += rates[i].thread_id != owner ? rates[i].stores : 0;
    for (size_t i = 0; i < n; i++) {
        double both = rates[i].loads + stores;

        if (rates[i].thread_id != owner && rates[i].loads > 0)
            *reads += rates[i].loads / both * -expm1(-both * gap);
    }
    *ends = -expm1(-stores * gap);
}

static size_t rates_of(const struct analysis *analysis, const struct visitor *visitors, size_t n,
                       double width, struct visitor_rate *rates)
{
    size_t threads = 0;

    for (size_t i = 0; i < n; i++) {
        double rate = analysis->samples[visitors[i].sample].weight / width;

        if (i == 0 || visitors[i].thread_id != visitors[i - 1].thread_id)
            rates[threads++] = (struct visitor_rate){.thread_id = visitors[i].thread_id};
        if (visitors[i].store)
            rates[threads - 1].stores += rate;
        else
            rates[threads - 1].loads += rate;
    }
    return threads;
}

static int list_visitors(const struct analysis *analysis, struct visitor **out, size_t *count)
{
    struct instruction *stores = malloc((analysis->count + 1) * sizeof *stores);
    struct visitor *visitors = malloc((analysis->count + 1) * sizeof *visitors);
    size_t store_count = 0, n = 0;

    if (!stores || !visitors) {
        free(stores);
        free(visitors);
        return -1;
    }
    for (size_t i = 0; i < analysis->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[i];

        if (sample->record->kind == ACCESS_STORE)
            stores[store_count++] = (struct instruction){sample->profile, sample->record->ip};
    }
    qsort(stores, store_count, sizeof *stores, compare_instructions);
    for (size_t i = 0; i < analysis->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[i];
        const struct record_sample *record = sample->record;
        struct instruction key = {sample->profile, record->ip};

        /* The load of an instruction that also stores is part of a write. */
        if (record->kind != ACCESS_STORE &&
            bsearch(&key, stores, store_count, sizeof key, compare_instructions))
            continue;
        visitors[n++] = (struct visitor){
            .line = line_start(record->address, analysis->run_line_size),
            .bin = record->monotonic_ns / BIN_NS,
            .profile = sample->profile,
            .thread_id = record->thread_id,
            .sample = (uint32_t)i,
            .store = record->kind == ACCESS_STORE,
        };
    }
    free(stores);
    qsort(visitors, n, sizeof *visitors, compare_visitors);
    *out = visitors;
    *count = n;
    return 0;
}

/* Where the sample stands in segments->samples, which ascends; or count. */
static size_t position_of(const struct segments *segments, uint32_t sample)
{
    size_t low = 0, high = segments->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (segments->samples[middle] < sample)
            low = middle + 1;
        else
            high = middle;
    }
    return low < segments->count && segments->samples[low] == sample ? low : segments->count;
}

static uint64_t bytes_of(const struct record_sample *record, uint32_t line_size)
{
    return line_mask(line_start(record->address, line_size), line_size, record->address,
                     record->width);
}

/* What samples of the group tell of the bytes that were touched. */
static void unite(const struct analysis *analysis, struct segments *segments,
                  const struct visitor *visitors, size_t n)
{
    uint32_t line_size = analysis->run_line_size;
    uint64_t written = 0, touched = 0;

    for (size_t i = 0; i < n; i++)
        if (visitors[i].store)
            written |= bytes_of(analysis->samples[visitors[i].sample].record, line_size);
    for (size_t i = 0, end; i < n; i = end) {
        touched = 0;
        for (end = i; end < n && visitors[end].thread_id == visitors[i].thread_id; end++)
            touched |= bytes_of(analysis->samples[visitors[end].sample].record, line_size);
        for (size_t k = i; k < end; k++) {
            size_t position = position_of(segments, visitors[k].sample);

            if (position < segments->count) {
                segments->touched[position] = touched;
                segments->written[position] = written;
            }
        }
    }
}

/* How much of the bin the run covers, ns. */
static double bin_width(const struct profile *profile, uint64_t bin)
{
    uint64_t first = UINT64_MAX, last = 0;

    for (size_t i = 0; i < profile->samples.count; i++) {
        uint64_t at = profile->samples.items[i].monotonic_ns;

        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    first = first > bin * BIN_NS ? first : bin * BIN_NS;
    last = last < (bin + 1) * BIN_NS ? last : (bin + 1) * BIN_NS;
    return last > first ? (double)(last - first) : 1;
}

int segments_expect(const struct analysis *analysis, struct segments *segments)
{
    struct visitor *visitors;
    struct visitor_rate *rates;
    size_t count;

    if (list_visitors(analysis, &visitors, &count))
        return -1;
    rates = malloc((count + 1) * sizeof *rates);
    if (!rates) {
        free(visitors);
        return -1;
    }
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i;
             end < count && visitors[end].profile == visitors[i].profile &&
             visitors[end].line == visitors[i].line && visitors[end].bin == visitors[i].bin;
             end++)
            ;
        unite(analysis, segments, visitors + i, end - i);
        size_t threads =
            rates_of(analysis, visitors + i, end - i,
                     bin_width(analysis->profiles[visitors[i].profile], visitors[i].bin), rates);
        if (threads < 2)
            continue;
        for (size_t k = i; k < end; k++) {
            const struct analysed_sample *sample = &analysis->samples[visitors[k].sample];
            size_t position = position_of(segments, visitors[k].sample);
            double rate = analysis->rates.loops[sample->loop].per_ns.value;

            if (position < segments->count && rate > 0 &&
                sample->record->flags & SAMPLE_LINE_VISIT &&
                sample->record->next_store != REUSE_TIME_NONE)
                expect(rates, threads, sample->record->thread_id,
                       (double)sample->record->next_store / rate, &segments->reads[position],
                       &segments->ends[position]);
        }
    }
    free(visitors);
    free(rates);
    return 0;
}
