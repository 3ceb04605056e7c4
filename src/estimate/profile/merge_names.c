/* SPDX-License-Identifier: BSD-3-Clause */
/* The merge's translation of addresses, contexts, sites and regions: what inputs may share. */
#include <stdlib.h>
#include <string.h>

#include "profile/merge_internal.h"
#include "profile/reader_internal.h"
#include "support/memory.h"

/* The longest line: addresses keep their place in lines of every size. */
static const uint64_t PLACE_ALIGNMENT = 4096;

/* A module larger than this is damage; it stays where it is. */
static const uint64_t EXTENT_MAX = (uint64_t)1 << 40;

/* A module's key: what makes it the same code at the same link-time addresses. */
struct module_key {
    uint64_t size;
    uint64_t link_start; /* link-time address of its first byte */
    uint32_t build_id_size;
    uint8_t build_id[24];
    uint32_t reserved;
};

/* The number of a key that consists of a structure and a text. */
static uint32_t intern_named(struct key_map *map, const void *fixed, size_t fixed_size,
                             const char *text, bool *added)
{
    size_t text_size = strlen(text) + 1;
    unsigned char *key = allocate(fixed_size + text_size, 1);
    memcpy(key, fixed, fixed_size);
    memcpy(key + fixed_size, text, text_size);
    uint32_t number = key_map_intern(map, key, fixed_size + text_size, added);
    free(key);
    return number;
}

static uint32_t intern_module(struct profile_merge *merge, const struct record_module *module,
                              bool *added)
{
    struct module_key key = {
        .size = module->end - module->start,
        .link_start = module->start - module->load_bias,
        .build_id_size = module->build_id_size,
    };
    memcpy(key.build_id, module->build_id, sizeof(key.build_id));
    return intern_named(&merge->modules, &key, sizeof(key), module->path, added);
}

/* Finds the module a place that no other has, and writes its record. */
static void place_module(struct profile_merge *merge, const struct record_module *module,
                         uint32_t number)
{
    uint64_t size = module->end - module->start;
    uint64_t start = module->start;
    if (module->end > module->start && size <= EXTENT_MAX) {
        start = merge->next_start + module->start % PLACE_ALIGNMENT;
        merge->next_start = (start + size + 2 * PLACE_ALIGNMENT - 1) & ~(PLACE_ALIGNMENT - 1);
    }
    merge->module_starts[number - 1] = start;
    struct record_module placed = *module;
    placed.module_id = number;
    placed.start = start;
    placed.end = start + size;
    placed.load_bias = module->load_bias + (start - module->start);
    placed.monotonic_ns = 0; /* every origin loaded it at a time of its own */
    merge_append(merge, RECORD_MODULE, &placed, sizeof(placed), module->path,
                 strlen(module->path) + 1);
}

static int compare_starts(const void *left, const void *right)
{
    const struct record_module *a = *(const struct record_module *const *)left;
    const struct record_module *b = *(const struct record_module *const *)right;
    return a->start < b->start ? -1 : a->start > b->start;
}

static bool modules_overlap(struct merge_input *input)
{
    size_t count = input->profile->modules.count;
    const struct record_module **sorted = allocate(count, sizeof(const struct record_module *));
    bool overlap = false;
    if (count)
        memcpy(sorted, input->profile->modules.items, count * sizeof(const struct record_module *));
    qsort(sorted, count, sizeof(const struct record_module *), compare_starts);
    for (size_t i = 1; i < count; i++)
        overlap |= sorted[i]->start < sorted[i - 1]->end;
    free(sorted);
    return overlap;
}

void merge_modules(struct merge_input *input)
{
    struct profile_merge *merge = input->merge;
    input->addresses_reused = modules_overlap(input);
    for (size_t i = 0; i < input->profile->modules.count; i++) {
        const struct record_module *module = input->profile->modules.items[i];
        bool added = false;
        uint32_t number = intern_module(merge, module, &added);
        merge_reserve((void **)&merge->module_starts, &merge->module_capacity, number,
                      sizeof(uint64_t));
        if (added)
            place_module(merge, module, number);
        input->modules[i] = number;
        input->module_moves[i] = merge->module_starts[number - 1] - module->start;
    }
}

static uint64_t move_of(const struct merge_input *input, const struct record_module *module)
{
    return input->module_moves[find_position((const struct record_array *)&input->profile->modules,
                                             0, sizeof(module->module_id), module->module_id)];
}

uint64_t merge_code_address(const struct merge_input *input, uint64_t address, uint64_t time_ns)
{
    const struct record_module *module = profile_module_at(input->profile, address, time_ns);
    return module ? address + move_of(input, module) : address;
}

uint64_t merge_data_move(const struct merge_input *input, uint8_t object_kind, uint32_t reference)
{
    const struct record_module *module =
        object_kind == OBJECT_GLOBAL ? profile_module(input->profile, reference) : NULL;
    return module ? move_of(input, module) : 0;
}

static uint32_t intern_context(struct profile_merge *merge, uint32_t parent, uint64_t ip)
{
    struct record_context context = {.parent_id = parent, .ip = ip}; /* context_id 0: the key */
    bool added;
    uint32_t number = key_map_intern(&merge->contexts, &context, sizeof(context), &added);
    context.context_id = number;
    if (added)
        merge_append(merge, RECORD_CONTEXT, &context, sizeof(context), NULL, 0);
    return number;
}

uint32_t merge_context(struct merge_input *input, uint32_t context_id, uint64_t time_ns)
{
    const struct record_context *contexts = input->profile->contexts.items;
    const struct record_context *context = profile_recorded_context(input->profile, context_id);
    uint32_t number = 0;
    size_t depth = 0;
    /* Up to the outermost frame or one that is known, then down again. */
    for (; context; context = profile_recorded_context(input->profile, context->parent_id)) {
        size_t position = (size_t)(context - contexts);
        if (!input->addresses_reused && input->contexts[position]) {
            number = input->contexts[position];
            break;
        }
        input->path[depth++] = (uint32_t)position;
    }
    while (depth > 0) {
        size_t position = input->path[--depth];
        number = intern_context(input->merge, number,
                                merge_code_address(input, contexts[position].ip, time_ns));
        input->contexts[position] = number;
    }
    return number;
}

static uint32_t intern_site(struct profile_merge *merge, const struct record_site *site,
                            uint32_t context)
{
    size_t fixed = offsetof(struct record_site, name);
    struct record_site translated = {.context_id = context, .allocator = site->allocator};
    bool added;
    translated.site_id = intern_named(&merge->sites, &translated, fixed, site->name, &added);
    if (added)
        merge_append(merge, RECORD_SITE, &translated, fixed, site->name, strlen(site->name) + 1);
    return translated.site_id;
}

static void add_site_totals(struct profile_merge *merge, uint32_t number,
                            const struct record_site_totals *totals)
{
    merge_reserve((void **)&merge->site_totals, &merge->site_capacity, number,
                  sizeof(*merge->site_totals));
    struct record_site_totals *sum = &merge->site_totals[number - 1];
    sum->site_id = number;
    sum->blocks += totals->blocks;
    sum->bytes += totals->bytes;
    if (totals->largest_bytes > sum->largest_bytes)
        sum->largest_bytes = totals->largest_bytes;
    sum->live_bytes_peak += totals->live_bytes_peak; /* origins run side by side */
}

void merge_sites(struct merge_input *input)
{
    for (size_t i = 0; i < input->profile->sites.count; i++) {
        const struct record_site *site = input->profile->sites.items[i];
        const struct record_site_totals *totals =
            profile_site_totals(input->profile, site->site_id);
        uint32_t number =
            intern_site(input->merge, site, merge_context(input, site->context_id, 0));
        input->sites[i] = number;
        if (totals)
            add_site_totals(input->merge, number, totals);
    }
}

void merge_regions(struct merge_input *input)
{
    struct profile_merge *merge = input->merge;
    for (size_t i = 0; i < input->profile->regions.count; i++) {
        const struct record_region *region = input->profile->regions.items[i];
        struct record_region translated = {
            .entry_ip = merge_code_address(input, region->entry_ip, 0),
        };
        bool added;
        translated.region_id =
            intern_named(&merge->regions, &translated, sizeof(translated), region->name, &added);
        if (added)
            merge_append(merge, RECORD_REGION, &translated, sizeof(translated), region->name,
                         strlen(region->name) + 1);
        input->regions[i] = translated.region_id;
    }
}
