/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much memory a run touched: what its probes lie in, by whole objects, and how many lines of
 * each it has probably used: line_richness.c. Of each group of probes one address is known. That is
 * a lower bound where neighbouring lines are used unequally often; the lines seen are certain, and
 * no object has more lines than bytes for them.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/curves/line_richness.h"
#include "analysis/internal.h"
#include "reuse/sort_keys.h"
#include "support/memory.h"

enum { PAGE_BYTES = 4096 };
/* More groups than this part of all in memory that the profile knows nothing of: not known. */
#define ELSEWHERE_MAX 0.01

/* The addresses that were seen of something: [low, high); high 0: none. */
struct span {
    uint64_t low, high;
};

/* A group of probes: what it lies in, and the line of one of them. */
struct sighting {
    uint64_t what, line;
};

/* Kinds of what a group lies in; above the index into the profile's arrays. */
enum { IN_SITE, IN_MAPPING, IN_STACK, IN_MODULE, ELSEWHERE, KINDS };

/* By index into the profile's arrays. */
struct touched {
    bool *sites, *mappings;
    struct span *stacks; /* of threads */
    struct span *modules;
    size_t elsewhere; /* groups in memory that the profile knows nothing of: a page each */
    size_t groups;
    struct sighting *sightings; /* as many as groups */
    struct seen_line *seen;     /* scratch, as many */
    unsigned line_shift;
};

static uint64_t what(unsigned kind, size_t index)
{
    return (uint64_t)kind << 32 | index;
}

static void extend(struct span *span, uint64_t address)
{
    uint64_t page = address & ~(uint64_t)(PAGE_BYTES - 1);

    span->low = span->high && span->low < page ? span->low : page;
    span->high = span->high > page + PAGE_BYTES ? span->high : page + PAGE_BYTES;
}

static bool touch_site(const struct profile *profile, struct touched *touched, uint32_t site,
                       uint64_t *in)
{
    const struct record_site_totals *totals = profile_site_totals(profile, site);

    if (!totals)
        return false;
    touched->sites[totals - profile->site_totals.items] = true;
    *in = what(IN_SITE, (size_t)(totals - profile->site_totals.items));
    return true;
}

static bool touch_stack(const struct profile *profile, struct touched *touched, uint32_t owner,
                        uint64_t address, uint64_t *in)
{
    const struct record_thread *thread = profile_thread(profile, owner);

    if (!thread || address < thread->stack_low || address >= thread->stack_high)
        return false;
    /* Stacks are used from their upper end on. */
    extend(&touched->stacks[thread - profile->threads.items], thread->stack_high - 1);
    extend(&touched->stacks[thread - profile->threads.items], address);
    *in = what(IN_STACK, (size_t)(thread - profile->threads.items));
    return true;
}

static bool touch_module(const struct profile *profile, struct touched *touched, uint64_t address,
                         uint64_t *in)
{
    /* At the end of the run: the groups do not tell when they were. */
    size_t i = profile_module_position_at(profile, address, UINT64_MAX - 1);

    if (i == profile->modules.count)
        return false;
    extend(&touched->modules[i], address);
    *in = what(IN_MODULE, i);
    return true;
}

static bool touch_mapping(const struct profile *profile, struct touched *touched, uint64_t address,
                          uint64_t *in)
{
    size_t i = profile_mapping_position_at(profile, address);

    if (i == profile->mappings.count)
        return false;
    touched->mappings[i] = true;
    *in = what(IN_MAPPING, i);
    return true;
}

static void touch(const struct profile *profile, struct touched *touched,
                  const struct analysed_probe *probe)
{
    uint64_t address = probe->place, in = what(ELSEWHERE, 0);
    const struct record_thread *thread;
    bool known = false;

    switch (probe->object_kind) {
    case OBJECT_HEAP:
    case OBJECT_MAPPING:
    case OBJECT_NAMED:
        known = touch_site(profile, touched, probe->object_reference, &in);
        break;
    case OBJECT_STACK:
        thread = profile_thread(profile, probe->object_reference);
        address += thread ? thread->stack_low : 0;
        known = touch_stack(profile, touched, probe->object_reference, address, &in);
        break;
    case OBJECT_GLOBAL:
        known = touch_module(profile, touched, address, &in);
        break;
    default:
        break;
    }
    if (!known && !touch_mapping(profile, touched, address, &in))
        touched->elsewhere++;
    /* Blocks of one site are told apart by no address: their lines count as those of one block. */
    touched->sightings[touched->groups++] = (struct sighting){in, address >> touched->line_shift};
}

/* Of mappings that overlap, as one that grew does with itself, the parts that are in no later one.
 */
static double mapped_bytes(const struct profile *profile, const struct touched *touched)
{
    double bytes = 0;

    for (size_t i = 0; i < profile->mappings.count; i++) {
        uint64_t start = profile->mappings.items[i]->start, end = profile->mappings.items[i]->end;
        for (size_t k = i + 1; k < profile->mappings.count && touched->mappings[i]; k++) {
            const struct record_mapping *later = profile->mappings.items[k];
            if (!touched->mappings[k] || later->end <= start || later->start >= end)
                continue;
            if (later->start <= start)
                start = later->end < end ? later->end : end;
            else
                end = later->start;
        }
        bytes += touched->mappings[i] ? (double)(end - start) : 0;
    }
    return bytes;
}

static double touched_bytes(const struct profile *profile, const struct touched *touched)
{
    double bytes = mapped_bytes(profile, touched) + (double)touched->elsewhere * PAGE_BYTES;

    for (size_t i = 0; i < profile->site_totals.count; i++) {
        const struct record_site_totals *totals = &profile->site_totals.items[i];
        /* An allocator hands out again what was freed. */
        if (touched->sites[i])
            bytes += (double)(totals->live_bytes_peak ? totals->live_bytes_peak : totals->bytes);
    }
    for (size_t i = 0; i < profile->threads.count; i++)
        bytes += (double)(touched->stacks[i].high - touched->stacks[i].low);
    for (size_t i = 0; i < profile->modules.count; i++)
        bytes += (double)(touched->modules[i].high - touched->modules[i].low);
    return (double)touched->elsewhere > ELSEWHERE_MAX * (double)touched->groups ? INFINITY : bytes;
}

/* Bytes that an object cannot exceed; of things that share their space with others: INFINITY. */
static double most_bytes(const struct profile *profile, const struct touched *touched, uint64_t in)
{
    size_t index = (uint32_t)in;

    if (in >> 32 == IN_SITE) {
        const struct record_site_totals *totals = &profile->site_totals.items[index];
        return (double)(totals->live_bytes_peak ? totals->live_bytes_peak : totals->bytes);
    }
    if (in >> 32 == IN_STACK)
        return (double)(touched->stacks[index].high - touched->stacks[index].low);
    if (in >> 32 == IN_MODULE)
        return (double)(touched->modules[index].high - touched->modules[index].low);
    return INFINITY;
}

/* Adds the lines of one object, of which these are ascending, to those seen and those likely; seen:
 * scratch of n. */
static void count_lines(const struct sort_key *sorted, size_t n, double most_lines,
                        struct footprint *footprint, double line_size, struct seen_line *seen)
{
    size_t lines = 0;

    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && sorted[end].key == sorted[i].key; end++)
            ;
        seen[lines++] = (struct seen_line){sorted[i].key, (uint32_t)(end - i)};
    }
    footprint->seen += (double)lines * line_size;
    footprint->likely +=
        fmax((double)lines, fmin(lines_likely_used(seen, lines), most_lines)) * line_size;
}

/* What a kind's things are numbered from, where all that a profile knows are numbered through. */
static void number_things(const struct profile *profile, size_t first[KINDS + 1])
{
    const size_t counts[KINDS] = {[IN_SITE] = profile->site_totals.count,
                                  [IN_MAPPING] = profile->mappings.count,
                                  [IN_STACK] = profile->threads.count,
                                  [IN_MODULE] = profile->modules.count,
                                  [ELSEWHERE] = 1};

    first[0] = 0;
    for (unsigned kind = 0; kind < KINDS; kind++)
        first[kind + 1] = first[kind] + counts[kind];
}

static size_t number_of(const size_t first[KINDS + 1], uint64_t in)
{
    return first[in >> 32] + (uint32_t)in;
}

/* The lines seen, thing after thing; ends[thing]: behind its last one. The caller frees them. */
static struct sort_key *lines_by_thing(const struct touched *touched, const size_t first[KINDS + 1],
                                       size_t *ends)
{
    struct sort_key *lines = allocate(touched->groups + 1, sizeof *lines);
    size_t at = 0;

    for (size_t i = 0; i < touched->groups; i++)
        ends[number_of(first, touched->sightings[i].what)]++;
    for (size_t thing = 0; thing < first[KINDS]; thing++) {
        size_t count = ends[thing];

        ends[thing] = at;
        at += count;
    }
    for (size_t i = 0; i < touched->groups; i++)
        lines[ends[number_of(first, touched->sightings[i].what)]++].key =
            touched->sightings[i].line;
    return lines;
}

static void estimate_lines(const struct profile *profile, const struct touched *touched,
                           struct footprint *footprint)
{
    double line_size = (double)(UINT64_C(1) << touched->line_shift);
    size_t first[KINDS + 1], *ends;
    struct sort_key *lines, *scratch;

    number_things(profile, first);
    ends = allocate_zeroed(first[KINDS], sizeof *ends);
    lines = lines_by_thing(touched, first, ends);
    scratch = allocate(touched->groups + 1, sizeof *scratch);
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (size_t index = 0; index < first[kind + 1] - first[kind]; index++) {
            size_t thing = first[kind] + index, begin = thing ? ends[thing - 1] : 0;
            /* One line more at either end: objects need not begin with one. */
            double most = most_bytes(profile, touched, what(kind, index)) / line_size + 1;

            if (begin < ends[thing])
                count_lines(sort_keys(lines + begin, scratch, ends[thing] - begin),
                            ends[thing] - begin, ceil(most), footprint, line_size, touched->seen);
        }
    free(scratch);
    free(lines);
    free(ends);
}

static void add_footprint(const struct analysis *analysis, uint32_t p, struct footprint *sum)
{
    const struct profile *profile = analysis->profiles[p];
    struct touched touched = {
        .sites = allocate_zeroed(profile->site_totals.count + 1, sizeof *touched.sites),
        .mappings = allocate_zeroed(profile->mappings.count + 1, sizeof *touched.mappings),
        .stacks = allocate_zeroed(profile->threads.count + 1, sizeof *touched.stacks),
        .modules = allocate_zeroed(profile->modules.count + 1, sizeof *touched.modules),
        .sightings = allocate(analysis->probe_count + 1, sizeof *touched.sightings),
        .seen = allocate(analysis->probe_count + 1, sizeof *touched.seen),
        .line_shift = (unsigned)__builtin_ctz(analysis->line_size),
    };

    for (size_t i = 0; i < analysis->probe_count; i++)
        if (analysis->bursts[analysis->probes[i].burst].profile == p)
            touch(profile, &touched, &analysis->probes[i]);
    sum->most += touched_bytes(profile, &touched);
    estimate_lines(profile, &touched, sum);
    free(touched.sites);
    free(touched.mappings);
    free(touched.stacks);
    free(touched.modules);
    free(touched.sightings);
    free(touched.seen);
}

struct footprint analysis_lines_touched(const struct analysis *analysis)
{
    struct listing *listing = analysis->listing;
    struct footprint sum = {0};

    if (analysis->exact)
        return (struct footprint){.most = INFINITY};
    if (listing->has_footprint)
        return listing->footprint;
    for (uint32_t p = 0; p < analysis->profile_count; p++)
        add_footprint(analysis, p, &sum);
    sum.most = fmax(sum.most, sum.likely);
    listing->footprint = sum;
    listing->has_footprint = true;
    return sum;
}

double analysis_footprint(const struct analysis *analysis)
{
    return analysis_lines_touched(analysis).most;
}
