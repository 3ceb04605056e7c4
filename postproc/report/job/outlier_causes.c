/* SPDX-License-Identifier: BSD-3-Clause */
/* See outlier_causes.h. */
#include "report/job/outlier_causes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "document/numbers.h"
#include "report/compare/compare.h"

enum { NAMED = 2 };

/* Smaller parts of the largest difference are not worth a name. */
#define LEAST_PART 0.1

/* A rank as a model of its own. */
struct rank_model {
    struct profile **profiles;
    size_t count;
    struct model *model;
};

static bool open_rank(const struct model *model, const struct job_files *files,
                      const struct rank_figures *rank, struct rank_model *opened)
{
    char message[1024];

    opened->count = rank->files;
    opened->profiles = allocate_zeroed(rank->files, sizeof(*opened->profiles));
    for (size_t i = 0; i < rank->files; i++) {
        opened->profiles[i] =
            profile_load(files->ranks.items[rank->first + i].name, message, sizeof(message));
        if (opened->profiles[i] == NULL)
            return false;
    }
    opened->model = model_create(model->options, (const struct profile *const *)opened->profiles,
                                 rank->files, message, sizeof(message));
    return opened->model != NULL;
}

static void close_rank(struct rank_model *opened)
{
    model_free(opened->model);
    for (size_t i = 0; i < opened->count; i++)
        profile_free(opened->profiles[i]);
    free(opened->profiles);
}

/* Appends to *text what differs most, of one kind. */
static void append_subjects(struct comparison_side sides[SIDES], enum subject_kind kind,
                            uint64_t typical_rank, char **text)
{
    size_t level = comparison_focus(sides);
    double largest = 0;
    struct subject_list list = subjects_compare(sides, kind, NAMED);

    for (size_t i = 0; i < list.count; i++) {
        const struct subject *subject = &list.items[i];
        const struct change *change = &subject->misses[level];
        char *own, *other, *longer;

        if (change->verdict != CHANGE_MORE && change->verdict != CHANGE_LESS)
            continue;
        largest = fmax(largest, fabs(change->absolute.value));
        if (fabs(change->absolute.value) < LEAST_PART * largest)
            continue;
        own = number_count(change->after.value.value);
        other = number_count(change->before.value.value);
        longer = format_string("%s%s%s %s: %s L%u misses, in rank %" PRIu64 " %s", *text,
                               **text != '\0' ? "; " : "",
                               kind == SUBJECT_OBJECT ? "object" : "line", subject->name, own,
                               sides[SIDE_AFTER].figures.level[level], typical_rank, other);
        free(*text);
        free(own);
        free(other);
        *text = longer;
    }
    subjects_free(&list);
}

char *outlier_causes(const struct model *model, const struct job_files *files,
                     const struct rank_figures *typical, const struct rank_figures *apart)
{
    const struct rank_figures *ranks[SIDES] = {typical, apart};
    struct rank_model opened[SIDES] = {0};
    struct comparison_side sides[SIDES];
    bool good = true;
    char *text = NULL;

    for (size_t side = 0; side < SIDES; side++)
        good = open_rank(model, files, ranks[side], &opened[side]) && good;
    if (good) {
        text = copy_string("");
        for (size_t side = 0; side < SIDES; side++)
            comparison_side_init(&sides[side], opened[side].model);
        append_subjects(sides, SUBJECT_OBJECT, typical->rank, &text);
        append_subjects(sides, SUBJECT_LINE, typical->rank, &text);
        for (size_t side = 0; side < SIDES; side++)
            comparison_side_free(&sides[side]);
        if (*text == '\0') {
            free(text);
            text = copy_string("no object and no line of it is shown to differ");
        }
    }
    for (size_t side = 0; side < SIDES; side++)
        close_rank(&opened[side]);
    return text;
}
