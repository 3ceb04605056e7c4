/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds things in a loaded profile. */
#include <stdlib.h>
#include <string.h>

#include "profile/reader_internal.h"

/* The array member of a profile, and the record in it whose identifier is id. */
#define ARRAY(member) ((const struct record_array *)&profile->member)

static const void *find_fixed(const struct record_array *array, size_t size, uint64_t id)
{
    size_t i = find_position(array, size, sizeof(uint32_t), id);
    return i == NOT_FOUND ? NULL : (const char *)array->items + i * size;
}

static const void *find_pointer(const struct record_array *array, uint64_t id)
{
    size_t i = find_position(array, 0, sizeof(uint32_t), id);
    return i == NOT_FOUND ? NULL : ((const void *const *)array->items)[i];
}

const struct record_module *profile_module(const struct profile *profile, uint32_t module_id)
{
    return find_pointer(ARRAY(modules), module_id);
}

const struct record_site *profile_site(const struct profile *profile, uint32_t site_id)
{
    return find_pointer(ARRAY(sites), site_id);
}

const struct record_shared_mapping *profile_shared_mapping(const struct profile *profile,
                                                           uint32_t mapping_id)
{
    return find_pointer(ARRAY(shared_mappings), mapping_id);
}

const struct record_region *profile_region(const struct profile *profile, uint32_t region_id)
{
    return find_pointer(ARRAY(regions), region_id);
}

const struct record_origin *profile_origin(const struct profile *profile, uint32_t origin_id)
{
    return find_pointer(ARRAY(origins), origin_id);
}

const struct record_thread *profile_thread(const struct profile *profile, uint32_t thread_id)
{
    return find_fixed(ARRAY(threads), sizeof(struct record_thread), thread_id);
}

const struct record_thread_end *profile_thread_end(const struct profile *profile,
                                                   uint32_t thread_id)
{
    return find_fixed(ARRAY(thread_ends), sizeof(struct record_thread_end), thread_id);
}

const struct record_context *profile_recorded_context(const struct profile *profile,
                                                      uint32_t context_id)
{
    return find_fixed(ARRAY(contexts), sizeof(struct record_context), context_id);
}

const struct record_context *profile_context(const struct profile *profile, uint32_t context_id)
{
    const struct record_context *context = profile_recorded_context(profile, context_id);
    return context ? context : find_instruction_context(profile, context_id);
}

const struct record_site_totals *profile_site_totals(const struct profile *profile,
                                                     uint32_t site_id)
{
    return find_fixed(ARRAY(site_totals), sizeof(struct record_site_totals), site_id);
}

const struct record_totals *profile_thread_totals(const struct profile *profile, uint32_t thread_id)
{
    return find_fixed(ARRAY(totals), sizeof(struct record_totals), thread_id);
}

const struct record_watch_end *profile_watch_end(const struct profile *profile, uint64_t sample_id)
{
    const struct profile_index *index = profile->index;
    if (!index->watch_ends) {
        size_t i = find_position(ARRAY(watch_ends), sizeof(struct record_watch_end),
                                 sizeof(sample_id), sample_id);
        return i == NOT_FOUND ? NULL : &profile->watch_ends.items[i];
    }
    if (sample_id >= index->watch_end_limit || index->watch_ends[sample_id] == 0)
        return NULL;
    return &profile->watch_ends.items[index->watch_ends[sample_id] - 1];
}

const struct record_invalidation *profile_invalidation(const struct profile *profile,
                                                       uint64_t sample_id)
{
    size_t i = find_position(ARRAY(invalidations), sizeof(struct record_invalidation),
                             sizeof(sample_id), sample_id);
    return i == NOT_FOUND ? NULL : &profile->invalidations.items[i];
}

const struct record_line_watch *profile_line_watch(const struct profile *profile,
                                                   uint64_t sample_id)
{
    size_t i = find_position(ARRAY(line_watches), sizeof(struct record_line_watch),
                             sizeof(sample_id), sample_id);
    return i == NOT_FOUND ? NULL : &profile->line_watches.items[i];
}

const struct record_line_end *profile_line_end(const struct profile *profile, uint64_t sample_id)
{
    size_t i = find_position(ARRAY(line_ends), sizeof(struct record_line_end), sizeof(sample_id),
                             sample_id);
    return i == NOT_FOUND ? NULL : &profile->line_ends.items[i];
}

size_t profile_burst_index(const struct profile *profile, uint64_t burst_id)
{
    size_t i = find_position(ARRAY(bursts), 0, sizeof(burst_id), burst_id);
    return i == NOT_FOUND ? profile->bursts.count : i;
}

const struct record_burst *profile_burst(const struct profile *profile, uint64_t burst_id)
{
    size_t i = profile_burst_index(profile, burst_id);
    return i == profile->bursts.count ? NULL : profile->bursts.items[i];
}

const struct record_steps *profile_steps(const struct profile *profile, uint64_t burst_id)
{
    size_t i = find_position(ARRAY(steps), 0, sizeof(burst_id), burst_id);
    return i == NOT_FOUND ? NULL : profile->steps.items[i];
}

const struct record_timed_loads *profile_timed_loads(const struct profile *profile,
                                                     uint64_t burst_id)
{
    size_t i = find_position(ARRAY(timed_loads), 0, sizeof(burst_id), burst_id);
    return i == NOT_FOUND ? NULL : profile->timed_loads.items[i];
}

/* How many begin at the address or before it. */
static size_t count_begun(const struct extents *extents, uint64_t address)
{
    size_t low = 0;
    size_t high = extents->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (extents->items[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The last of the first n that holds the address; n becomes its position. NULL: none. */
static const struct extent *extent_before(const struct extents *extents, size_t *n,
                                          uint64_t address)
{
    while (*n > 0 && extents->items[*n - 1].highest_end > address)
        if (extents->items[--*n].end > address)
            return &extents->items[*n];
    return NULL;
}

size_t profile_mapping_position_at(const struct profile *profile, uint64_t address)
{
    const struct extents *extents = &profile->index->mappings;
    size_t n = count_begun(extents, address);
    const struct extent *extent;
    size_t last = profile->mappings.count;
    while ((extent = extent_before(extents, &n, address)) != NULL)
        if (last == profile->mappings.count || extent->number > last)
            last = extent->number;
    return last;
}

/* How far the time lies outside of the module's life; 0 within it. */
static uint64_t time_outside(const struct profile *profile, size_t module, uint64_t time_ns)
{
    uint64_t loaded_ns = profile->modules.items[module]->monotonic_ns;
    uint64_t unloaded_ns = profile->index->unloaded_ns[module];
    if (time_ns < loaded_ns)
        return loaded_ns - time_ns;
    return time_ns >= unloaded_ns ? time_ns - unloaded_ns + 1 : 0;
}

size_t profile_module_position_at(const struct profile *profile, uint64_t address,
                                  uint64_t monotonic_ns)
{
    const struct extents *extents = &profile->index->modules;
    const struct record_module *const *modules = profile->modules.items;
    size_t n = count_begun(extents, address);
    const struct extent *extent;
    size_t best = profile->modules.count;
    uint64_t best_distance = 0;
    while ((extent = extent_before(extents, &n, address)) != NULL) {
        uint64_t distance = time_outside(profile, extent->number, monotonic_ns);
        if (best == profile->modules.count || distance < best_distance ||
            (distance == best_distance &&
             modules[extent->number]->monotonic_ns > modules[best]->monotonic_ns)) {
            best = extent->number;
            best_distance = distance;
        }
    }
    return best;
}

const struct record_module *profile_module_at(const struct profile *profile, uint64_t address,
                                              uint64_t monotonic_ns)
{
    size_t i = profile_module_position_at(profile, address, monotonic_ns);
    return i < profile->modules.count ? profile->modules.items[i] : NULL;
}

const char *profile_run_text(const struct profile *profile, const char *key, const char *fallback)
{
    for (size_t i = profile->run.count; i >= 2; i -= 2) {
        if (strcmp(profile->run.items[i - 2], key) == 0)
            return profile->run.items[i - 1];
    }
    return fallback;
}

uint64_t profile_run_number(const struct profile *profile, const char *key, uint64_t fallback)
{
    const char *text = profile_run_text(profile, key, NULL);
    if (!text || *text == '\0')
        return fallback;
    uint64_t number = 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
            return fallback;
    }
    return number;
}

bool profile_counts_accesses(const struct profile *profile)
{
    return strcmp(profile_run_text(profile, "clock", "cpu"), "accesses") == 0;
}

const char *profile_origin_text(const struct profile *profile, uint32_t origin_id, const char *key,
                                const char *fallback)
{
    const struct record_origin *origin = profile_origin(profile, origin_id);
    if (!origin)
        return profile_run_text(profile, key, fallback);
    for (const char *text = origin->pairs; *text;) {
        const char *value = text + strlen(text) + 1;
        if (strcmp(text, key) == 0)
            return value;
        text = value + strlen(value) + 1;
    }
    return fallback;
}

double profile_origin_number(const struct profile *profile, uint32_t origin_id, const char *key)
{
    return strtod(profile_origin_text(profile, origin_id, key, "0"), NULL);
}
