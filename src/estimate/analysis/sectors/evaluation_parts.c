/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/sectors/evaluation_parts.h"

#include <math.h>
#include <stdlib.h>

#include "support/memory.h"

void parts_free(struct parts *parts)
{
    free(parts->items);
    free(parts->resolved);
    free(parts->opens);
    free(parts->hits);
    free(parts->bounds);
}

/* The share of a bin of whole numbers low .. high-1 that is `bound` or more. */
static double share_from(double low, double high, double bound)
{
    if (bound <= low)
        return 1;
    return bound >= high ? 0 : (high - bound) / (high - low);
}

/* Probes of a burst that are alike in this are many: each is looked at in every replicate. */
static void add_hit(struct parts *parts, struct part *part, struct hit_part hit)
{
    for (size_t i = parts->hit_count; i-- > part->first_hit;) {
        struct hit_part *other = &parts->hits[i];

        if (other->stratum == hit.stratum && other->place == hit.place && other->time == hit.time) {
            other->count += hit.count;
            return;
        }
    }
    if (parts->hit_count == parts->hit_room) {
        parts->hit_room = 2 * parts->hit_room + 1024;
        parts->hits = reallocate(parts->hits, parts->hit_room, sizeof *parts->hits);
    }
    parts->hits[parts->hit_count++] = hit;
    part->hits++;
}

/* Resolved probes of one entry at each place. */
static void add_resolved(const struct analysis *analysis, const struct places *places,
                         const struct analysed_probe *probe, const struct probe_count *entry,
                         double factor, struct parts *parts, struct part *part)
{
    unsigned distance = probe_code_distance(entry->code), time = probe_code_time(entry->code);
    double low = probe_distance_low(distance), high = probe_distance_low(distance + 1);
    double first = probe_time_low(time), end = probe_time_low(time + 1),
           middle = (first + end - 1) / 2;
    double dilation = analysis->bursts[probe->burst].dilation, hit = 0, misses = 1;
    bool visited = analysis->invalidations_seen || analysis->crossing_count;

    /* What others touch meanwhile comes on top. */
    if (places->lines) {
        low += open_lines_of_others(analysis, probe->burst, first);
        high += open_lines_of_others(analysis, probe->burst, end - 1);
    }
    /* Where even a smaller place has no miss, nothing is left to say. */
    for (size_t k = 0; k <= places->n && (misses > 0 || !parts->ascending); k++) {
        misses = k == places->n  ? 0
                 : places->lines ? share_from(low, high, parts->bounds[k])
                                 : share_from(first, end, parts->bounds[k]);
        if (k < places->n)
            part->resolved[k] += factor * entry->count * misses;
        if (!visited || 1 - misses <= hit)
            continue;
        add_hit(parts, part,
                (struct hit_part){analysis->stratum_of[probe - analysis->probes], k,
                                  open_lines_time_place(middle * dilation),
                                  factor * entry->count * (1 - misses - hit)});
        hit = 1 - misses;
    }
}

static void add_open(const struct analysis *analysis, struct parts *parts, struct part *part,
                     const struct analysed_probe *probe, double factor)
{
    uint32_t stratum;

    if (probe->open == 0)
        return;
    stratum = analysis->stratum_of[probe - analysis->probes];
    for (size_t i = part->first; i < part->first + part->opens; i++)
        if (parts->opens[i].stratum == stratum) {
            parts->opens[i].count += factor * probe->open;
            return;
        }
    parts->opens[parts->open_count++] = (struct open_part){stratum, factor * probe->open};
    part->opens++;
}

static void find_time_bounds(const struct analysis *analysis, const struct places *places,
                             uint32_t burst, struct parts *parts)
{
    for (size_t k = 0; k < places->n; k++)
        parts->bounds[k] = floor(places->times[k] / analysis->bursts[burst].dilation) + 1;
}

static void find_size_bounds(const struct places *places, struct parts *parts)
{
    const double *values = places->lines ? places->lines : places->times;

    parts->ascending = true;
    for (size_t k = 1; k < places->n; k++)
        parts->ascending &= values[k] >= values[k - 1];
    for (size_t k = 0; k < places->n && places->lines; k++)
        parts->bounds[k] = ceil(places->lines[k]);
}

void parts_add(const struct analysis *analysis, const struct places *places,
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
        if (places->times)
            find_time_bounds(analysis, places, probe->burst, parts);
    }
    part->probes += factor * probe->count;
    add_open(analysis, parts, part, probe, factor);
    if (places->n == 0)
        return;
    for (uint32_t k = probe->first; k < probe->first + probe->entries; k++)
        if (!probe_code_open(analysis->counts[k].code))
            add_resolved(analysis, places, probe, &analysis->counts[k], factor, parts, part);
}

void parts_create(const struct places *places, size_t bursts, size_t probes, struct parts *parts)
{
    *parts =
        (struct parts){.items = allocate(bursts + 1, sizeof *parts->items),
                       .resolved = allocate_zeroed(bursts * places->n + 1, sizeof *parts->resolved),
                       .opens = allocate(probes + 1, sizeof *parts->opens),
                       .bounds = allocate(places->n + 1, sizeof *parts->bounds)};
    find_size_bounds(places, parts);
}

void list_parts(const struct analysis *analysis, struct subset subset, const struct places *places,
                struct parts *parts)
{
    size_t n = subset.members ? subset.member_count : analysis->probe_count;

    parts_create(places, n < analysis->burst_count ? n : analysis->burst_count, n, parts);
    for (size_t k = 0; k < n; k++) {
        size_t i = subset.members ? subset.members[k] : k;

        const struct analysed_probe *probe = &analysis->probes[i];
        double factor = subset.objects ? analysis_object_factor(analysis, probe) : 1;

        if (probe->count > 0 && (subset.members || in_subset(subset, i)))
            parts_add(analysis, places, probe, factor, parts);
    }
}
