/* SPDX-License-Identifier: BSD-3-Clause */
/* The report on a perf.data file. See sections.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/sections.h"

/* What the options ask for and such a file cannot tell; NULL: nothing. */
static const char *not_served(const struct report_options *options)
{
    static const enum report_section served[] = {SECTION_SUMMARY, SECTION_OBJECTS, SECTION_LINES,
                                                 SECTION_SHARING};
    bool any = false;

    for (size_t i = 0; i < sizeof served / sizeof served[0]; i++)
        any |= options->sections[served[i]];
    if (options->region != NULL)
        return "--region";
    if (options->csv_layout != CSV_LAYOUT_NONE || !any)
        return "what was asked for";
    return NULL;
}

static uint64_t choose_accesses(const struct report_options *options,
                                const struct recording *recording, bool *wanted)
{
    uint64_t count = 0;

    for (size_t i = 0; i < recording->accesses.count; i++) {
        wanted[i] =
            options->thread == 0 || recording->accesses.items[i].tid == (uint32_t)options->thread;
        count += wanted[i];
    }
    return count;
}

static struct document *build(const struct perfdata_view *view)
{
    struct document *document = document_create();
    const bool *sections = view->options->sections;

    if (sections[SECTION_SUMMARY])
        perfdata_summary(view, document);
    if (sections[SECTION_OBJECTS])
        perfdata_objects(view, document);
    if (sections[SECTION_LINES])
        perfdata_lines(view, document);
    if (sections[SECTION_SHARING])
        perfdata_sharing(view, document);
    return document;
}

struct document *perfdata_document(const struct report_options *options, const char *path,
                                   char *message, size_t message_size)
{
    const struct file_search search = {.sysroot = options->sysroot,
                                       .debug_directories = options->debug_directories.items,
                                       .debug_directory_count = options->debug_directories.count};
    const char *refused = not_served(options);
    struct recording *recording;
    struct document *document = NULL;
    struct intern_table *strings;
    struct symbols *symbols;
    struct places *places;
    bool *wanted;

    if (refused) {
        snprintf(message, message_size,
                 "%s: perf.data cannot answer %s: it has --summary, --objects, --lines and "
                 "--sharing",
                 path, refused);
        return NULL;
    }
    recording = recording_load(path, message, message_size);
    if (!recording)
        return NULL;
    strings = intern_table_create();
    symbols = symbols_create(&search, strings);
    places = places_create(recording, &search, symbols, strings);
    wanted = allocate_zeroed(recording->accesses.count, sizeof *wanted);
    struct perfdata_view view = {options, recording, places, wanted,
                                 choose_accesses(options, recording, wanted)};
    if (view.count > 0)
        document = build(&view);
    else
        snprintf(message, message_size, "%s: no sampled access of thread %d", path,
                 options->thread);
    free(wanted);
    places_free(places);
    symbols_free(symbols);
    intern_table_free(strings);
    recording_free(recording);
    return document;
}
