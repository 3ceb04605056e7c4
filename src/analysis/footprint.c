/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory a run touched: what its samples lie in, by whole objects. */
#include <math.h>
#include <stdlib.h>

#include "analysis/internal.h"

enum { PAGE_BYTES = 4096 };
/* More samples than this part of all in memory that the profile knows nothing of: not known. */
#define ELSEWHERE_MAX 0.01

/* The addresses that were seen of something: [low, high); high 0: none. */
struct span {
    uint64_t low, high;
};

/* By index into the profile's arrays. */
struct touched {
    bool *sites, *mappings;
    struct span *stacks; /* of threads */
    struct span *modules;
    size_t elsewhere; /* samples in memory that the profile knows nothing of: a page each */
    size_t samples;
};

static void extend(struct span *span, uint64_t address)
{
    uint64_t page = address & ~(uint64_t)(PAGE_BYTES - 1);

    span->low = span->high && span->low < page ? span->low : page;
    span->high = span->high > page + PAGE_BYTES ? span->high : page + PAGE_BYTES;
}

static bool touch_site(const struct profile *profile, struct touched *touched, uint32_t site)
{
    const struct record_site_totals *totals = profile_site_totals(profile, site);

    if (totals)
        touched->sites[totals - profile->site_totals.items] = true;
    return totals != NULL;
}

static bool touch_stack(const struct profile *profile, struct touched *touched, uint32_t owner,
                        uint64_t address)
{
    const struct record_thread *thread = profile_thread(profile, owner);

    if (!thread || address < thread->stack_low || address >= thread->stack_high)
        return false;
    /* Stacks are used from their upper end on. */
    extend(&touched->stacks[thread - profile->threads.items], thread->stack_high - 1);
    extend(&touched->stacks[thread - profile->threads.items], address);
    return true;
}

static bool touch_module(const struct profile *profile, struct touched *touched, uint64_t address)
{
    for (size_t i = profile->modules.count; i-- > 0;)
        if (address >= profile->modules.items[i]->start &&
            address < profile->modules.items[i]->end) {
            extend(&touched->modules[i], address);
            return true;
        }
    return false;
}

static bool touch_mapping(const struct profile *profile, struct touched *touched, uint64_t address)
{
    for (size_t i = profile->mappings.count; i-- > 0;)
        if (address >= profile->mappings.items[i]->start &&
            address < profile->mappings.items[i]->end) {
            touched->mappings[i] = true;
            return true;
        }
    return false;
}

static void touch(const struct profile *profile, struct touched *touched,
                  const struct record_sample *sample)
{
    bool known = false;

    touched->samples++;
    switch (sample->object_kind) {
    case OBJECT_HEAP:
    case OBJECT_MAPPING:
    case OBJECT_NAMED:
        known = touch_site(profile, touched, sample->object_reference);
        break;
    case OBJECT_STACK:
        known = touch_stack(profile, touched, sample->object_reference, sample->address);
        break;
    case OBJECT_GLOBAL:
        known = touch_module(profile, touched, sample->address);
        break;
    default:
        break;
    }
    if (!known && !touch_mapping(profile, touched, sample->address))
        touched->elsewhere++;
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
    return (double)touched->elsewhere > ELSEWHERE_MAX * (double)touched->samples ? INFINITY : bytes;
}

static double footprint_of(const struct analysis *analysis, uint32_t p)
{
    const struct profile *profile = analysis->profiles[p];
    struct touched touched = {
        .sites = calloc(profile->site_totals.count + 1, sizeof *touched.sites),
        .mappings = calloc(profile->mappings.count + 1, sizeof *touched.mappings),
        .stacks = calloc(profile->threads.count + 1, sizeof *touched.stacks),
        .modules = calloc(profile->modules.count + 1, sizeof *touched.modules),
    };
    double bytes = INFINITY;

    if (touched.sites && touched.mappings && touched.stacks && touched.modules) {
        for (size_t i = 0; i < analysis->count; i++)
            if (analysis->samples[i].profile == p)
                touch(profile, &touched, analysis->samples[i].record);
        bytes = touched_bytes(profile, &touched);
    }
    free(touched.sites);
    free(touched.mappings);
    free(touched.stacks);
    free(touched.modules);
    return bytes;
}

void analysis_measure_footprint(struct analysis *analysis)
{
    analysis->footprint = 0;
    for (uint32_t p = 0; p < analysis->profile_count; p++)
        analysis->footprint += footprint_of(analysis, p);
}

double analysis_footprint(const struct analysis *analysis)
{
    return analysis->exact ? INFINITY : analysis->footprint;
}
