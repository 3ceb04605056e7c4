/* SPDX-License-Identifier: BSD-3-Clause */
/* See sector_conclusion.h. */
#include "report/sectors/sector_conclusion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A gain that the interval of "nothing to gain" still allows and that would be worth a second run.
 */
#define OPEN_MIN 0.1

bool sector_row_is_open(const struct sector_row *row)
{
    return row->verdict == SECTOR_BEYOND ||
           (row->verdict == SECTOR_NOTHING_TO_GAIN && row->basis == SECTOR_SAMPLED &&
            row->outcome.reduction.hi >= OPEN_MIN);
}

/*
 * Whether nothing is to be gained at a level, by what is known: no region of it gains, and the
 * first one with a row, which is everything if that has one, is known to. Of smaller regions
 * sector_not_known() tells.
 */
static bool gains_nothing(const struct sector_hints *hints, size_t level)
{
    const struct sector_row *first = NULL;

    for (size_t i = 0; i < hints->rows.count; i++) {
        const struct sector_row *row = &hints->rows.items[i];
        if (row->level != level)
            continue;
        if (row->verdict == SECTOR_ISOLATE)
            return false;
        first = first == NULL ? row : first;
    }
    return first != NULL && first->verdict == SECTOR_NOTHING_TO_GAIN;
}

static bool has_unknown(const struct sector_hints *hints, size_t level)
{
    for (size_t i = 0; i < hints->rows.count; i++)
        if (hints->rows.items[i].level == level && hints->rows.items[i].verdict == SECTOR_BEYOND)
            return true;
    return false;
}

char *sector_nothing_to_gain(const struct sector_hints *hints)
{
    char *levels = NULL, *text;
    bool everywhere = true;

    for (size_t i = 0; i < hints->model->machine.levels; i++) {
        char *longer;
        if (hints->levels[i].ways == 0)
            continue;
        if (!gains_nothing(hints, i)) {
            everywhere = false;
            continue;
        }
        everywhere &= !has_unknown(hints, i);
        longer = format_string("%s%sL%u", levels == NULL ? "" : levels, levels == NULL ? "" : ", ",
                               hints->model->machine.caches[i].level);
        free(levels);
        levels = longer;
    }
    if (levels == NULL)
        return NULL;
    text = format_string("Nothing to gain%s%s: no division saves misses beyond its own uncertainty "
                         "and that of the model (2 %%; 5 %% of what is modelled from counts).",
                         everywhere ? "" : " at ", everywhere ? "" : levels);
    free(levels);
    return text;
}

/* "" where everything is unknown, else " in jacobi, main". */
static char *unknown_regions(const struct sector_hints *hints, size_t level)
{
    char *text = copy_string("");

    for (size_t i = 0; i < hints->rows.count; i++) {
        const struct sector_row *row = &hints->rows.items[i];
        const struct sector_region *region = &hints->regions.items[row->region];
        char *longer;
        if (row->level != level || row->verdict != SECTOR_BEYOND)
            continue;
        if (region->whole) {
            *text = '\0';
            return text;
        }
        longer = format_string("%s%s%s", text, *text == '\0' ? " in " : ", ", region->name);
        free(text);
        text = longer;
    }
    return text;
}

char *sector_not_known(const struct sector_hints *hints, size_t level)
{
    unsigned number = hints->model->machine.caches[level].level;
    double unseen = 0;
    char *regions, *text;

    for (size_t i = 0; i < hints->rows.count; i++) {
        const struct sector_row *row = &hints->rows.items[i];
        if (row->level == level && row->verdict == SECTOR_BEYOND)
            unseen = fmax(unseen, fmin(1, row->outcome.unknown / row->undivided));
    }
    if (unseen <= 0)
        return NULL;
    regions = unknown_regions(hints, level);
    text = format_string("Not known at L%u%s: up to %.0f %% of what counts as misses are uses "
                         "whose watch ended before L%u would have lost the line. Watches last "
                         "longer in a longer run with a longer period (reuse-run -p).",
                         number, regions, 100 * unseen, number);
    free(regions);
    return text;
}

char *sector_left_open(const struct sector_hints *hints, size_t level)
{
    const struct sector_row *most = NULL;

    for (size_t i = 0; i < hints->rows.count; i++) {
        const struct sector_row *row = &hints->rows.items[i];
        if (row->level == level && row->verdict == SECTOR_NOTHING_TO_GAIN &&
            sector_row_is_open(row) &&
            (most == NULL || row->outcome.reduction.hi > most->outcome.reduction.hi))
            most = row;
    }
    if (most == NULL)
        return NULL;
    return format_string("The interval at L%u leaves open a gain of up to %.0f %% (%s): more late "
                         "uses have to be seen, in a longer run.",
                         hints->model->machine.caches[level].level,
                         100 * fmin(1, most->outcome.reduction.hi),
                         hints->regions.items[most->region].name);
}

char *sector_no_contexts(const struct sector_hints *hints)
{
    const struct model *model = hints->model;
    bool has_function = false;

    if (model->exact)
        return NULL;
    for (size_t i = 0; i < model->observations; i++)
        if (analysis_probe(model->analysis, i, NULL)->context_id != 0)
            return NULL;
    for (size_t r = 0; r < hints->regions.count; r++)
        has_function |= hints->regions.items[r].file != NULL;
    return has_function ? copy_string("The profile holds no calling contexts: each function is its "
                                      "own code alone, without what it calls.")
                        : NULL;
}
