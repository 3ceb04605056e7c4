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
                                                 SECTION_SHARING, SECTION_CONTEXTS};
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
    bool accesses = view->count > 0;

    if (sections[SECTION_SUMMARY] && accesses)
        perfdata_summary(view, document);
    if (sections[SECTION_OBJECTS] && accesses)
        perfdata_objects(view, document);
    if (sections[SECTION_LINES] && accesses)
        perfdata_lines(view, document);
    if (sections[SECTION_CONTEXTS])
        perfdata_contexts(view, document);
    if (sections[SECTION_SHARING] && accesses)
        perfdata_sharing(view, document);
    return document;
}

/* Whether there is nothing to show; then why. */
static bool lacks_samples(const struct perfdata_view *view, const char *path, char *message,
                          size_t message_size)
{
    const struct recording *recording = view->recording;
    int32_t thread = view->options->thread;

    if (view->count > 0)
        return false;
    if (recording->accesses.count > 0) {
        snprintf(message, message_size, "%s: no sampled access of thread %d", path, thread);
        return true;
    }
    if (view->options->sections[SECTION_CONTEXTS]) {
        for (size_t i = 0; i < recording->samples.count; i++)
            if (thread == 0 || recording->samples.items[i].tid == (uint32_t)thread)
                return false;
        snprintf(message, message_size, "%s: no sample of thread %d", path, thread);
        return true;
    }
    snprintf(message, message_size,
             "%s has no sampled access of user space with an address (record with `perf mem "
             "record` or `perf c2c record`); --contexts shows the stacks of its other samples",
             path);
    return true;
}

static struct document *report_on(const struct report_options *options,
                                  const struct recording *recording, const char *path,
                                  char *message, size_t message_size)
{
    const struct file_search search = {.sysroot = options->sysroot,
                                       .debug_directories = options->debug_directories.items,
                                       .debug_directory_count = options->debug_directories.count};
    struct intern_table *strings = intern_table_create();
    struct symbols *symbols = symbols_create(&search, strings);
    struct loaded_files *files = loaded_files_create(recording, &search, symbols, strings);
    struct places *places = places_create(recording, files, strings);
    bool *wanted = allocate_zeroed(recording->accesses.count, sizeof *wanted);
    struct perfdata_view view = {.options = options,
                                 .recording = recording,
                                 .places = places,
                                 .wanted = wanted,
                                 .count = choose_accesses(options, recording, wanted)};
    struct document *document = NULL;
    struct stacks *stacks = NULL;

    if (!lacks_samples(&view, path, message, message_size)) {
        if (options->sections[SECTION_CONTEXTS])
            view.stacks = stacks = stacks_create(recording, files);
        document = build(&view);
    }
    stacks_free(stacks);
    free(wanted);
    places_free(places);
    loaded_files_free(files);
    symbols_free(symbols);
    intern_table_free(strings);
    return document;
}

struct document *perfdata_document(const struct report_options *options, const char *path,
                                   char *message, size_t message_size)
{
    const char *refused = not_served(options);
    struct recording *recording;
    struct document *document;

    if (refused) {
        snprintf(message, message_size,
                 "%s: perf.data cannot answer %s: it has --summary, --objects, --lines, --contexts "
                 "and --sharing",
                 path, refused);
        return NULL;
    }
    recording = recording_load(path, message, message_size);
    if (!recording)
        return NULL;
    document = report_on(options, recording, path, message, message_size);
    recording_free(recording);
    return document;
}
