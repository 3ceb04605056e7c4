/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Brings the arrays of a loaded profile into their order, enforces what reader.h guarantees about
 * identifiers and parents, and builds the index of modules, mappings and watch ends.
 */
#define _GNU_SOURCE /* qsort_r */
#include <stdlib.h>
#include <string.h>

#include "profile/reader_internal.h"
#include "support/memory.h"

/* One record to be sorted: by identifier, else by the layout's comparison, then by file order. */
struct sort_entry {
    uint64_t id;
    const void *record;
    size_t position;
};

typedef int (*record_compare)(const void *, const void *);

static int compare_entries(const void *left, const void *right, void *compare)
{
    const struct sort_entry *a = left;
    const struct sort_entry *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (compare) {
        int order = (*(record_compare *)compare)(a->record, b->record);
        if (order)
            return order;
    }
    return a->position < b->position ? -1 : a->position > b->position;
}

static bool same_key(const struct record_layout *layout, const struct sort_entry *a,
                     const struct sort_entry *b)
{
    return a->id == b->id && (!layout->compare || layout->compare(a->record, b->record) == 0);
}

static uint64_t record_id(const struct record_layout *layout, const void *record)
{
    uint64_t id = 0;
    memcpy(&id, record, layout->id_size);
    return id;
}

/* The usual case for identifiers: given out and written in order. */
static bool is_ordered(const struct record_layout *layout, const struct record_array *array)
{
    uint64_t previous = 0;
    if (!layout->id_size)
        return array->count < 2;
    for (size_t i = 0; i < array->count; i++) {
        uint64_t id = record_id(layout, layout_record(layout, array, i));
        if (id <= previous)
            return false;
        previous = id;
    }
    return true;
}

/* Sorts and leaves one record per key. Returns how many others there were. */
static uint64_t sort_unique(const struct record_layout *layout, struct record_array *array)
{
    if (is_ordered(layout, array))
        return 0;
    size_t item_size = layout->tail ? sizeof(void *) : layout->fixed_size;
    struct sort_entry *entries = allocate(array->count, sizeof(*entries));
    unsigned char *items = allocate(array->count, item_size);
    for (size_t i = 0; i < array->count; i++) {
        const void *record = layout_record(layout, array, i);
        entries[i] = (struct sort_entry){record_id(layout, record), record, i};
    }
    record_compare compare = layout->compare;
    qsort_r(entries, array->count, sizeof(*entries), compare_entries, compare ? &compare : NULL);
    size_t kept = 0;
    for (size_t i = 0; i < array->count; i++) {
        bool repeats = layout->keep == KEEP_FIRST
                           ? i > 0 && same_key(layout, &entries[i - 1], &entries[i])
                           : i + 1 < array->count && same_key(layout, &entries[i], &entries[i + 1]);
        if (repeats)
            continue;
        memcpy(items + kept * item_size,
               (const unsigned char *)array->items + entries[i].position * item_size, item_size);
        kept++;
    }
    free(entries);
    free(array->items);
    uint64_t surplus = array->count - kept;
    array->items = items;
    array->count = kept;
    return surplus;
}

static size_t parent_of(const struct profile *profile, size_t i)
{
    return find_position((const struct record_array *)&profile->contexts,
                         sizeof(struct record_context), sizeof(uint32_t),
                         profile->contexts.items[i].parent_id);
}

/* A path that comes back to itself is cut where it does. Each context is visited twice at most. */
static void break_cycles(struct profile *profile)
{
    enum { UNSEEN, ON_PATH, DONE };
    size_t count = profile->contexts.count;
    unsigned char *state = allocate_zeroed(count, 1);
    for (size_t start = 0; start < count; start++) {
        size_t last = start;
        size_t i = start;
        while (i != NOT_FOUND && state[i] == UNSEEN) {
            state[i] = ON_PATH;
            last = i;
            i = parent_of(profile, i);
        }
        if (i != NOT_FOUND && state[i] == ON_PATH) {
            profile->contexts.items[last].parent_id = 0;
            profile->broken_contexts++;
        }
        for (i = start; i != NOT_FOUND && state[i] == ON_PATH; i = parent_of(profile, i))
            state[i] = DONE;
    }
    free(state);
}

static int compare_extents(const void *left, const void *right)
{
    const struct extent *a = left;
    const struct extent *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* Brings them into their order, and sets how far those before each reach. */
static struct extents order_extents(struct extent *items, size_t count)
{
    uint64_t highest = 0;
    qsort(items, count, sizeof(*items), compare_extents);
    for (size_t i = 0; i < count; i++) {
        if (items[i].end > highest)
            highest = items[i].end;
        items[i].highest_end = highest;
    }
    return (struct extents){items, count};
}

static void set_unload_times(struct profile *profile)
{
    uint64_t *unloaded_ns = allocate(profile->modules.count, sizeof(*unloaded_ns));
    for (size_t i = 0; i < profile->modules.count; i++)
        unloaded_ns[i] = UINT64_MAX;
    for (size_t i = 0; i < profile->module_ends.count; i++) {
        const struct record_module_end *end = &profile->module_ends.items[i];
        size_t module = find_position((const struct record_array *)&profile->modules, 0,
                                      sizeof(end->module_id), end->module_id);
        if (module != NOT_FOUND)
            unloaded_ns[module] = end->monotonic_ns;
    }
    profile->index->unloaded_ns = unloaded_ns;
}

static void index_modules(struct profile *profile)
{
    size_t count = profile->modules.count;
    struct extent *extents = allocate(count, sizeof(*extents));
    for (size_t i = 0; i < count; i++) {
        const struct record_module *module = profile->modules.items[i];
        extents[i] = (struct extent){.start = module->start, .end = module->end, .number = i};
    }
    profile->index->modules = order_extents(extents, count);
    set_unload_times(profile);
}

static void index_mappings(struct profile *profile)
{
    size_t count = profile->mappings.count;
    struct extent *extents = allocate(count, sizeof(*extents));
    for (size_t i = 0; i < count; i++) {
        const struct record_mapping *mapping = profile->mappings.items[i];
        extents[i] = (struct extent){.start = mapping->start, .end = mapping->end, .number = i};
    }
    profile->index->mappings = order_extents(extents, count);
}

/* Sample identifiers are dense but for lost records; a table of them beats a search per sample. */
static void index_watch_ends(struct profile *profile)
{
    struct profile_index *index = profile->index;
    size_t count = profile->watch_ends.count;
    if (count == 0 || count >= UINT32_MAX)
        return;
    uint64_t highest = profile->watch_ends.items[count - 1].sample_id;
    if (highest / 4 > count + profile->samples.count)
        return;
    index->watch_ends = allocate_zeroed(highest + 1, sizeof(*index->watch_ends));
    index->watch_end_limit = highest + 1;
    for (size_t i = 0; i < count; i++)
        index->watch_ends[profile->watch_ends.items[i].sample_id] = (uint32_t)i + 1;
}

void profile_build_index(struct profile *profile)
{
    for (size_t i = 0; i < record_layout_count; i++) {
        const struct record_layout *layout = &record_layouts[i];
        if (layout->keep == KEEP_ALL)
            continue;
        uint64_t surplus = sort_unique(layout, layout_array(profile, layout));
        if (layout->type == RECORD_WATCH_END)
            profile->surplus_watch_ends = surplus;
    }
    break_cycles(profile);
    add_instruction_contexts(profile);
    index_modules(profile);
    index_mappings(profile);
    index_watch_ends(profile);
}
