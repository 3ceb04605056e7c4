/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/hot_code.h"

#include <stdlib.h>
#include <string.h>

#include "report/findings/burst_time.h"
#include "report/findings/finding_text.h"
#include "report/findings/library_caller.h"
#include "report/model/kernel_use.h"
#include "report/model/last_uses.h"

/* What a moment of the CPU time is put down to. */
struct hot_place {
    struct code_line line, entry; /* entry: what it calls in a library; function NULL: nothing */
    bool with_callees;            /* of a library: what is called there counts, too */
};

/* The program's function that is innermost, and what it calls in a library of the system; of a
 * library alone the function that is called from elsewhere. */
static struct hot_place place_of(struct model *model, const struct moment *moment,
                                 const struct calling_context *context)
{
    struct hot_place place = {.line = moment->line};
    size_t own;

    if (!is_system_library(model, moment->line.module))
        return place;
    own = innermost_own_frame(model, context);
    for (size_t i = 0; i < own; i++)
        if (is_system_library(model, context->frames[i].module) &&
            (own < context->count || context->frames[i].module == context->frames[0].module))
            place.entry = context->frames[i];
    place.with_callees = place.entry.function != NULL;
    if (own < context->count) {
        place.line = context->frames[own];
    } else if (place.entry.function != NULL) {
        place.line =
            (struct code_line){.function = place.entry.function, .module = place.entry.module};
        place.entry.function = NULL;
    }
    return place;
}

/* Of the moments that are labelled so, the line of source with most time; of a function it is one
 * of many. lines: by moment. */
static struct code_line hottest_line(const moment_list *moments, const struct code_line *lines,
                                     const uint32_t *labels, uint32_t label)
{
    struct intern_table *keys = intern_table_create();
    uint32_t *by_line = allocate_zeroed(moments->count, sizeof(*by_line));
    struct code_line hottest = {.function = NULL};
    struct estimate *shares;
    double most = -1;

    for (size_t i = 0; i < moments->count; i++) {
        struct {
            const char *file;
            uint64_t line;
        } key = {lines[i].file, lines[i].line};

        by_line[i] = labels[i] == label ? intern_table_insert(keys, &key, sizeof(key)) : GROUP_NONE;
    }
    shares = burst_time_of_moments(moments, by_line, intern_table_count(keys));
    for (size_t i = 0; i < moments->count; i++)
        if (by_line[i] != GROUP_NONE && shares[by_line[i]].value > most) {
            most = shares[by_line[i]].value;
            hottest = lines[i];
        }
    free(shares);
    free(by_line);
    intern_table_free(keys);
    return hottest;
}

void hot_code_find(struct model *model, struct findings *findings)
{
    moment_list moments = {0};
    struct intern_table *keys = intern_table_create();
    ARRAY(struct hot_place) places = {0};
    struct code_line *lines;
    struct estimate *shares;
    uint32_t *labels, hot = GROUP_NONE;

    burst_time_moments(model, &moments);
    labels = allocate_zeroed(moments.count, sizeof(*labels));
    lines = allocate_zeroed(moments.count, sizeof(*lines));
    for (size_t i = 0; i < moments.count; i++) {
        const struct moment *moment = &moments.items[i];
        struct calling_context context;
        struct hot_place place;
        const char *key[2];

        labels[i] = GROUP_NONE;
        if (moment->line.function == NULL)
            continue;
        context = model_resolve_context(model, moment->profile, moment->burst->context_id, 0,
                                        moment->burst->monotonic_ns);
        place = place_of(model, moment, &context);
        free(context.frames);
        lines[i] = place.line;
        key[0] = place.line.function;
        key[1] = place.entry.function;
        labels[i] = intern_table_insert(keys, key, sizeof(key));
        if (labels[i] == places.count)
            ARRAY_PUSH(&places, place);
    }
    shares = burst_time_of_moments(&moments, labels, places.count);
    for (uint32_t i = 0; i < places.count; i++)
        if (shares[i].value > findings->hot_time.value) {
            hot = i;
            findings->hot_time = shares[i];
            findings->hot_entry = places.items[i].entry;
            findings->hot_with_callees = places.items[i].with_callees;
        }
    if (hot != GROUP_NONE)
        findings->hot = hottest_line(&moments, lines, labels, hot);
    free(shares);
    free(lines);
    free(labels);
    free(places.items);
    free(moments.items);
    intern_table_free(keys);
}

/* "f, near a.c:7", "snprintf (libc.so.6) and what that calls, called by f near a.c:7", or a
 * library's function alone; the caller frees it. */
static char *place_words(struct model *model, const struct findings *findings)
{
    const struct code_line *hot = &findings->hot;
    struct code_line entry = {.function = findings->hot_entry.function,
                              .module = findings->hot_entry.module};

    if (entry.function != NULL)
        return format_string("%s and what that calls, called by %s%s%s",
                             code_line_text(model, &entry), hot->function,
                             hot->file != NULL ? " near " : "",
                             hot->file != NULL ? code_line_text(model, hot) : "");
    return hot->file != NULL
               ? format_string("%s, near %s", hot->function, code_line_text(model, hot))
               : format_string("%s%s", code_line_text(model, hot),
                               findings->hot_with_callees ? " and what that calls" : "");
}

/* A program that asks less of the kernel has no need to be told. */
static const double kernel_time_told = 0.2;

/* The caller frees it. */
static char *kernel_words(const struct model *model)
{
    double time = kernel_use_of(model).time;

    return time >= kernel_time_told
               ? format_string(" The kernel takes %.0f %% of the CPU time.", 100 * time)
               : copy_string("");
}

char *hot_code_text(struct model *model, const struct findings *findings)
{
    const char *most = findings->hot_time.lo > 0.5 ? "Most of the time" : "The most time";
    char *time, *place, *kernel, *text;

    if (findings->hot.function == NULL)
        return copy_string("");
    time = finding_share_text(findings->hot_time);
    place = place_words(model, findings);
    kernel = kernel_words(model);
    text = format_string(" %s%s, %s, is spent in %s.%s", most,
                         *kernel != '\0' ? " outside of the kernel" : "", time, place, kernel);
    free(kernel);
    free(place);
    free(time);
    return text;
}
