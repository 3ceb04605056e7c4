/* SPDX-License-Identifier: BSD-3-Clause */
/* See sector_groups.h. */
#include "report/sectors/sector_groups.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects/object_groups.h"
#include "objects/object_key.h"
#include "report/sectors/sector_conclusion.h"
#include "support/memory.h"

static uint64_t add_address(const struct profile *profile, uint64_t key, uint64_t address)
{
    const struct record_module *module = profile_module_at(profile, address, 0);

    return module != NULL ? object_key_address(key, module->path, address - module->start) : key;
}

/* As exact/partition_groups.c makes it of the same object. */
static uint32_t key_of(const struct profile *profile, const struct record_histogram *object)
{
    uint32_t kind = (uint32_t)(object->key >> 32);
    const struct record_site *site = profile_site(profile, (uint32_t)object->key);
    uint64_t key = object_key_begin(kind);

    if (kind == OBJECT_GLOBAL)
        return object_key_end(add_address(profile, key, object->key2));
    if (kind == OBJECT_NAMED)
        return object_key_end(object_key_text(key, site != NULL ? site->name : ""));
    for (const struct record_context *at = site != NULL ? profile_context(profile, site->context_id)
                                                        : NULL;
         at != NULL; at = profile_context(profile, at->parent_id))
        key = add_address(profile, key, at->ip);
    return object_key_end(key);
}

/* What is not part of a name in C or C++ would need quotes or divide the list. */
static void put_name(FILE *stream, const char *name)
{
    for (; *name != '\0'; name++)
        fputc(isalnum((unsigned char)*name) || *name == '_' || *name == ':' ? *name : '_', stream);
}

/* name:key of every object that the structures consist of; false: there are too many. */
static bool put_group(const struct sector_hints *hints, uint64_t set, FILE *stream)
{
    const struct model *model = hints->model;
    uint32_t keys[OBJECT_GROUP_MEMBERS_MAX];
    unsigned count = 0;

    for (size_t i = 0; i < model->observations; i++) {
        size_t profile;
        const struct record_histogram *histogram = analysis_histogram(model->analysis, i, &profile);
        uint32_t structure = hints->structure_of[i], key;
        unsigned k = 0;

        if (structure >= hints->structure_count || !(set >> structure & 1) ||
            histogram->scope != SCOPE_OBJECT)
            continue;
        key = key_of(model->profiles[profile], histogram);
        while (k < count && keys[k] != key)
            k++;
        if (k < count)
            continue;
        if (count == OBJECT_GROUP_MEMBERS_MAX)
            return false;
        if (count > 0)
            fputc('+', stream);
        put_name(stream, model->objects.items[hints->structures[structure]].name);
        fprintf(stream, ":%08" PRIx32, key);
        keys[count++] = key;
    }
    return count > 0;
}

static bool is_new(const uint64_t *sets, size_t count, uint64_t set)
{
    for (size_t i = 0; i < count; i++)
        if (sets[i] == set)
            return false;
    return true;
}

/* Sets that are to be followed: those of rows that are worth it and modelled, then those that this
 * profile's run has followed, for comparison. */
static size_t choose_sets(const struct sector_hints *hints, uint64_t sets[OBJECT_GROUPS_MAX])
{
    uint64_t followed[OBJECT_GROUPS_MAX] = {0};
    size_t count = 0;

    for (size_t i = 0; i < hints->rows.count && count < OBJECT_GROUPS_MAX; i++) {
        const struct sector_row *row = &hints->rows.items[i];

        if (row->basis == SECTOR_MODELLED && row->verdict == SECTOR_ISOLATE &&
            is_new(sets, count, row->isolated))
            sets[count++] = row->isolated;
    }
    if (count == 0)
        return 0;
    for (size_t i = 0; i < hints->model->observations; i++) {
        const struct record_histogram *histogram =
            analysis_histogram(hints->model->analysis, i, NULL);
        size_t group = histogram->key >> HISTOGRAM_GROUP_SHIFT;

        if (histogram->scope == SCOPE_PARTITION && group >= 1 && group <= OBJECT_GROUPS_MAX &&
            hints->structure_of[i] < hints->structure_count)
            followed[group - 1] |= UINT64_C(1) << hints->structure_of[i];
    }
    for (size_t g = 0; g < OBJECT_GROUPS_MAX && count < OBJECT_GROUPS_MAX; g++)
        if (followed[g] != 0 && is_new(sets, count, followed[g]))
            sets[count++] = followed[g];
    return count;
}

/* As the option has them; NULL: none. */
static char *list_groups(const struct sector_hints *hints)
{
    uint64_t sets[OBJECT_GROUPS_MAX];
    size_t count = choose_sets(hints, sets);
    char *text = NULL;

    for (size_t i = 0; i < count; i++) {
        char *group, *longer;
        size_t size;
        FILE *stream = open_text(&group, &size);
        bool whole = put_group(hints, sets[i], stream);

        fclose(stream);
        if (whole) {
            longer = text == NULL ? copy_string(group) : format_string("%s,%s", text, group);
            free(text);
            text = longer;
        }
        free(group);
    }
    return text;
}

/* Those of functions: spans of the API need no option. NULL: none. */
static char *list_regions(const struct sector_hints *hints)
{
    char *text = NULL;

    for (size_t r = 0; r < hints->regions.count; r++) {
        const struct sector_region *region = &hints->regions.items[r];
        char *longer;

        if (region->span || strcmp(region->name, "(all)") == 0)
            continue;
        longer =
            text == NULL ? copy_string(region->name) : format_string("%s,%s", text, region->name);
        free(text);
        text = longer;
    }
    return text;
}

/* Sampled profiles: whether counts could change a verdict. */
static bool has_open_rows(const struct sector_hints *hints)
{
    for (size_t i = 0; i < hints->rows.count; i++)
        if (sector_row_is_open(&hints->rows.items[i]))
            return true;
    return false;
}

char *sector_counting_command(const struct sector_hints *hints)
{
    char *groups = hints->model->exact ? list_groups(hints) : NULL, *regions, *text;

    if (hints->model->exact ? groups == NULL : !has_open_rows(hints))
        return NULL;
    regions = list_regions(hints);
    text = format_string("reuse-run -e exact --line-size %u --partitions 8 %s%s%s%s%s%sPROGRAM",
                         analysis_line_size(hints->model->analysis),
                         regions != NULL ? "--regions '" : "", regions != NULL ? regions : "",
                         regions != NULL ? "' " : "", groups != NULL ? "--partition-groups '" : "",
                         groups != NULL ? groups : "", groups != NULL ? "' " : "");
    free(regions);
    free(groups);
    return text;
}
