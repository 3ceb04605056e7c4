/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/parting.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/try_places.h"
#include "report/sharing/member_lines.h"

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static struct parting parting_of_members(const struct false_sharing *finding, uint32_t line_size)
{
    uint64_t begins[FALSE_SHARING_BEGINS_MAX];
    struct parting parting;

    for (size_t i = 0; i < finding->begin_count; i++)
        begins[i] = finding->begins[i].offset;
    parting.new_size =
        member_lines_size(begins, finding->begin_count, finding->type_size, line_size);
    parting.padding = parting.new_size - finding->type_size;
    return parting;
}

static bool needs_many_lines(const struct false_sharing *finding)
{
    return finding->begin_count > FALSE_SHARING_BEGINS_MAX;
}

struct parting parting_for(const struct false_sharing *finding, uint32_t line_size)
{
    struct parting parting = {0};
    switch (finding->collision) {
    case COLLISION_MEMBERS:
        if (!needs_many_lines(finding))
            parting = parting_of_members(finding, line_size);
        break;
    case COLLISION_ELEMENTS:
        if (finding->parts) {
            parting.padding = line_size - finding->type_size % line_size;
            break;
        }
        parting.new_size = round_up(finding->type_size, line_size);
        parting.padding = parting.new_size - finding->type_size;
        break;
    case COLLISION_OBJECTS:
    case COLLISION_BYTES:
        parting.padding = line_size - 1;
        break;
    }
    return parting;
}

/* Lines begin there already, if the structure is aligned. */
static bool begin_lines(const struct false_sharing *finding, uint32_t line_size)
{
    for (size_t i = 0; i < finding->begin_count; i++)
        if (needs_many_lines(finding) || finding->begins[i].offset % line_size != 0)
            return false;
    return true;
}

/* "a, b (or c before it, if the same thread uses that) and d"; the caller frees it. */
static char *begins_text(const struct false_sharing *finding)
{
    char *text = copy_string("");

    for (size_t i = 0; i < finding->begin_count; i++) {
        const struct line_begin *begin = &finding->begins[i];
        const char *separator = i == 0 ? "" : i + 1 == finding->begin_count ? " and " : ", ";
        char *before =
            begin->between != NULL
                ? format_string(" (or %s before it, if the same thread uses that)", begin->between)
                : copy_string("");
        char *longer = format_string("%s%s%s%s", text, separator,
                                     begin->member + (*begin->member == '.'), before);

        free(before);
        free(text);
        text = longer;
    }
    return text;
}

static char *part_members(const struct false_sharing *finding, uint32_t line_size)
{
    const char *type = finding->type != NULL ? finding->type : "the structure";
    char *begins, *text;

    if (needs_many_lines(finding))
        return format_string("Put the members of %s that one thread uses side by side, and begin a "
                             "line with each group: alignas(%" PRIu32 ").",
                             type, line_size);
    if (begin_lines(finding, line_size))
        return format_string("Align %s to %" PRIu32 " bytes (alignas, aligned_alloc()): then they "
                             "lie on %s lines.",
                             type, line_size, finding->begin_count > 1 ? "different" : "two");
    begins = begins_text(finding);
    text = format_string("Begin a line with %s: alignas(%" PRIu32 "), %s grows from %" PRIu64
                         " to %" PRIu64 " bytes.",
                         begins, line_size, type, finding->type_size,
                         parting_for(finding, line_size).new_size);
    free(begins);
    return text;
}

static char *part_elements(const struct false_sharing *finding, uint32_t line_size)
{
    struct parting parting = parting_for(finding, line_size);

    if (finding->parts)
        return format_string("Let each thread's part begin at a multiple of %" PRIu32
                             " bytes (%" PRIu64 " elements), and the array too.",
                             line_size,
                             finding->type_size > 0 && finding->type_size < line_size
                                 ? line_size / finding->type_size
                                 : 1);
    if (parting.padding == 0)
        return format_string("Align the array to %" PRIu32
                             " bytes: its elements fill whole lines, but begin in their middle.",
                             line_size);
    return format_string(
        "Give each element%s%s%s a line: alignas(%" PRIu32 "), %" PRIu64 " to %" PRIu64
        " bytes each; or each thread a copy, combined at the end.",
        finding->type != NULL ? " (" : "", finding->type != NULL ? finding->type : "",
        finding->type != NULL ? ")" : "", line_size, finding->type_size, parting.new_size);
}

static bool is_kind(const data_objects *objects, const struct collision_side *side,
                    const char *kind)
{
    return strcmp(objects->items[side->object].kind, kind) == 0;
}

/* Whether -g may name the members of either side: not where the program has been compiled so. */
static bool lacks_debug_information(const struct false_sharing *finding,
                                    const data_objects *objects)
{
    for (size_t i = 0; i < 2; i++)
        if (symbol_module_lacks_debug(objects->items[finding->sides[i].object].owner))
            return true;
    return false;
}

char *parting_text(const struct false_sharing *finding, const data_objects *objects,
                   uint32_t line_size)
{
    switch (finding->collision) {
    case COLLISION_MEMBERS:
        return part_members(finding, line_size);
    case COLLISION_ELEMENTS:
        return part_elements(finding, line_size);
    case COLLISION_OBJECTS:
        if (is_kind(objects, &finding->sides[0], "heap") &&
            is_kind(objects, &finding->sides[1], "heap"))
            return format_string("Allocate them with aligned_alloc(%" PRIu32
                                 ", ...), sizes rounded up to %" PRIu32 " bytes.",
                                 line_size, line_size);
        return format_string("Declare both alignas(%" PRIu32 "), so that each begins a line.",
                             line_size);
    default:
        if (is_kind(objects, &finding->sides[0], "stack"))
            return format_string("Keep what the threads use %" PRIu32
                                 " bytes apart: alignas(%" PRIu32
                                 ") for variables and members. Which they are is not known on a "
                                 "stack; the lines of source tell.",
                                 line_size, line_size);
        return format_string("Keep what the threads use %" PRIu32 " bytes apart.%s", line_size,
                             lacks_debug_information(finding, objects)
                                 ? " Where debug information (-g) tells their type, the members "
                                   "are named."
                                 : "");
    }
}

/* Whether whole lines for each block part the two, without a change inside blocks. */
static bool is_parted_by_alignment(const struct false_sharing *finding, uint32_t line_size)
{
    switch (finding->collision) {
    case COLLISION_MEMBERS:
        return begin_lines(finding, line_size);
    case COLLISION_ELEMENTS:
        return !finding->parts && finding->type_size > 0 && finding->type_size % line_size == 0;
    case COLLISION_OBJECTS:
        return true;
    case COLLISION_BYTES:
        return false;
    }
    return false;
}

static const char *try_places_of(const data_objects *objects, uint32_t object)
{
    return object < objects->count ? objects->items[object].try_places : NULL;
}

char *parting_trial(const struct false_sharing *finding, const data_objects *objects,
                    uint32_t line_size)
{
    const char *first = try_places_of(objects, finding->sides[0].object),
               *second = try_places_of(objects, finding->sides[1].object);
    char *value, *first_part, *second_part, *text;
    bool both;

    if (!is_parted_by_alignment(finding, line_size) || (first == NULL && second == NULL))
        return copy_string(" No trial from outside (reuse-run --try): the source must change.");
    if (first != NULL && second != NULL && strcmp(first, second) == 0)
        second = NULL;
    both = first != NULL && second != NULL;
    value = format_string("=%" PRIu32, line_size);
    first_part = try_changes(first, "align:", value);
    second_part = try_changes(second, "align:", value);
    text = format_string(" To time it before: reuse-run -e none --try %s%s%s PROGRAM", first_part,
                         both ? "," : "", second_part);
    free(second_part);
    free(first_part);
    free(value);
    return text;
}
