/* SPDX-License-Identifier: BSD-3-Clause */
/* The last lines of the summary: what to look at first, or that there is nothing to look at. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/next_uses.h"
#include "report/numbers.h"
#include "report/section_support.h"
#include "report/sections.h"
#include "report/sharing_advice.h"

/* Misses below this part of all accesses are not worth a reader's time. */
#define MISSES_MIN 0.005
/* Coherence misses above this part of the misses are named. */
#define COHERENCE_MIN 0.2

static void say(struct document *document, struct section *section, char *text)
{
    section_paragraph(document, section, "verdict", text);
    free(text);
}

static char *percent(double share)
{
    char *number = number_percent(share), *text = format_string("%s %%", number);

    free(number);
    return text;
}

static void name_line(struct model *model, struct document *document, struct section *section,
                      size_t level)
{
    const struct ranking *ranking;
    const struct ranked_group *first;
    const struct code_line *line;
    struct next_uses uses;
    char *share, *distance = NULL, *capacity, *next = NULL, *late = NULL;
    double bytes;

    model_label_lines(model);
    ranking = model_rank(model, &model->by_line);
    if (ranking->count == 0)
        return;
    first = &ranking->items[0];
    line = &model->lines.items[first->group];
    next_uses_of(model, &model->by_line, first->group, &uses);
    share = percent(model_share_of_misses(model, first, level).value);
    capacity = number_bytes((double)model->machine.caches[level].bytes);
    if (model_median_distance(model, first->points, model->level_size[level], &bytes) ==
        MEDIAN_KNOWN) {
        distance = number_bytes(bytes);
        late = format_string(": half of them come back only after %s of other data (%s holds %s)",
                             distance, level_name(model, document, level), capacity);
    }
    if (uses.count > 0)
        next = format_string("; the next use is mostly at %s",
                             code_line_text(model, &uses.uses[0].line));
    say(document, section,
        format_string("Look first at %s in %s%s%s: it makes %s of the misses at %s%s%s.",
                      code_line_text(model, line), line->function,
                      uses.object != GROUP_NONE ? ", which uses " : "",
                      uses.object != GROUP_NONE ? model->objects.items[uses.object].name : "",
                      share, level_name(model, document, level), late != NULL ? late : "",
                      next != NULL ? next : ""));
    free(late);
    free(next);
    free(distance);
    free(capacity);
    free(share);
}

static void name_object(struct model *model, struct document *document, struct section *section,
                        size_t level)
{
    const struct ranking *ranking;
    const struct ranked_group *first;
    const struct data_object *object;
    const char *place;
    char *share, *size;

    model_label_objects(model);
    ranking = model_rank(model, &model->by_object);
    if (ranking->count == 0)
        return;
    first = &ranking->items[0];
    object = &model->objects.items[first->group];
    place = place_text(model->strings, object->file, object->line);
    share = percent(model_share_of_misses(model, first, level).value);
    size = object->size > 0 ? number_bytes((double)object->size) : NULL;
    say(document, section,
        format_string("The data with most misses there is %s (%s%s%s%s%s): %s of them.",
                      object->name, object->kind, size != NULL ? ", " : "",
                      size != NULL ? size : "", place != NULL ? ", " : "",
                      place != NULL ? place : "", share));
    free(size);
    free(share);
}

/* No clock has expired in any of the programs. */
static bool is_unsampled(const struct model *model)
{
    for (size_t p = 0; p < model->profile_count; p++)
        if (model->profiles[p]->bursts.count > 0 || model->profiles[p]->samples.count > 0)
            return false;
    return !model->exact;
}

static void judge_misses(struct model *model, struct document *document, struct section *section)
{
    size_t level = model_focus_level(model);
    const struct curve_point *point = &model->whole[model->level_size[level]];
    const struct miss_split *split = &model->misses[level];
    const char *name = level_name(model, document, level);
    char *share, *most;

    if (is_unsampled(model)) {
        say(document, section,
            format_string("Too short for a sample: nothing is known of its accesses. Let it work "
                          "longer or on more data; or run it many times and report all profiles "
                          "together; or have every access counted, with reuse-run --engine "
                          "exact."));
        return;
    }
    if (model->observations == 0 || !(model->accesses.value > 0)) {
        say(document, section, format_string("No access was observed: there is nothing to say."));
        return;
    }
    if (!model->exact && model->bursts < MODEL_BURSTS_MIN) {
        say(document, section,
            format_string("%zu burst%s: too few for a verdict. Run longer, or with a larger "
                          "budget.",
                          model->bursts, model->bursts == 1 ? "" : "s"));
        return;
    }
    if (point->beyond) {
        say(document, section,
            format_string("Reuse as late as %s holds was not watched long enough for a verdict: "
                          "run longer.",
                          name));
        return;
    }
    share = percent(point->miss_ratio.value);
    if (point->miss_ratio.hi < MISSES_MIN) {
        say(document, section,
            format_string("Nothing to gain at %s: %s of the accesses miss there.", name, share));
        free(share);
        return;
    }
    if (point->miss_ratio.value < MISSES_MIN) {
        most = percent(point->miss_ratio.hi);
        say(document, section,
            format_string("Probably nothing to gain at %s: %s of the accesses miss there, but it "
                          "may be %s. Run longer to be sure.",
                          name, share, most));
        free(most);
        free(share);
        return;
    }
    say(document, section, format_string("%s of all accesses miss in %s.", share, name));
    free(share);
    name_line(model, document, section, level);
    name_object(model, document, section, level);
    if (split->coherence.lo > COHERENCE_MIN * point->miss_ratio.value) {
        share = percent(split->coherence.value / point->miss_ratio.value);
        say(document, section,
            format_string("%s of these misses are coherence misses: another thread writes the "
                          "data in between.",
                          share));
        free(share);
    }
}

void add_verdict(struct model *model, struct document *document, struct section *section)
{
    judge_misses(model, document, section);
    add_sharing_verdict(model, document, section);
}
