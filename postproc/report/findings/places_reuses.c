/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a place's data was used last: in its own loop or in another one. */
#include "report/findings/places_internal.h"
#include "report/model/last_uses.h"

/* Two places whose bursts are as often the same ones as this are in one loop. */
static const double one_loop = 0.5;

/* Part of the bursts with members of one subset that have members of the other. */
static double bursts_in_common(const struct model *model, struct subset a, struct subset b)
{
    size_t k = 0, common = 0, all = 0;
    uint32_t last = GROUP_NONE;

    for (size_t i = 0; i < a.member_count; i++) {
        uint32_t burst = analysis_probe(model->analysis, a.members[i], NULL)->burst;

        if (burst == last)
            continue;
        last = burst;
        all++;
        while (k < b.member_count &&
               analysis_probe(model->analysis, b.members[k], NULL)->burst < burst)
            k++;
        common += k < b.member_count &&
                  analysis_probe(model->analysis, b.members[k], NULL)->burst == burst;
    }
    return all > 0 ? (double)common / (double)all : 0;
}

static bool is_line(const struct code_line *a, const struct code_line *b)
{
    return a->file == b->file && a->line == b->line && a->function == b->function;
}

static uint32_t number_of_line(const struct model *model, const struct code_line *line)
{
    for (size_t i = 0; i < model->lines.count; i++)
        if (is_line(&model->lines.items[i], line))
            return (uint32_t)i;
    return GROUP_NONE;
}

bool places_is_in_other_loop(const struct search *search, uint32_t group, uint32_t line)
{
    const struct model *model = search->model;

    return line == GROUP_NONE ||
           (line != search->candidates.items[group].line &&
            bursts_in_common(model, grouping_subset(&search->all, group),
                             grouping_subset(&model->by_line, line)) < one_loop);
}

/* Thousands of late uses are on a few lines: what is found of one serves the next question on it.
 */
bool places_is_elsewhere(struct search *search, uint32_t group, const struct code_line *use)
{
    const struct line_key key = {use->file, use->function, use->line};
    uint32_t number = intern_table_insert(search->line_keys, &key, sizeof(key));
    struct next_line *next;

    if (number == search->next_lines.count)
        ARRAY_PUSH(&search->next_lines,
                   ((struct next_line){number_of_line(search->model, use), GROUP_NONE, false}));
    next = &search->next_lines.items[number];
    if (next->group != group) {
        next->group = group;
        next->elsewhere = places_is_in_other_loop(search, group, next->line);
    }
    return next->elsewhere;
}

void places_find_reuses(struct search *search, uint32_t group, struct access_place *place)
{
    struct last_uses uses;
    double most = 0;

    last_uses_of(search->model, &search->late, group, &uses);
    place->evidence.late_reuses = uses.watched;
    place->evidence.late_spread = uses.late_spread;
    for (size_t i = 0; i < uses.count; i++) {
        if (!places_is_elsewhere(search, group, &uses.uses[i].line))
            continue;
        place->evidence.reused_elsewhere += uses.uses[i].share;
        if (uses.uses[i].share > most) {
            most = uses.uses[i].share;
            place->reused_at = uses.uses[i].line;
        }
    }
}
