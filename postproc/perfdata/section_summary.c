/* SPDX-License-Identifier: BSD-3-Clause */
/* What the recording is, what is left out, and where its loads were served. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/sections.h"
#include "report/model/tally.h"

static void add_fact(struct document *document, struct section *section, const char *key,
                     const char *label, const char *text)
{
    if (text[0] != '\0')
        section_fact(section, key, label, INTERVAL_NONE, cell_text(document, text));
}

static size_t level_of(const struct access_record *access)
{
    return access->level < LEVEL_COUNT ? access->level : LEVEL_UNKNOWN;
}

static size_t translation_of(const struct access_record *access)
{
    return access->translation < TRANSLATION_COUNT ? access->translation : TRANSLATION_UNKNOWN;
}

static void add_tables(const struct perfdata_view *view, struct document *document,
                       struct section *section)
{
    struct tally sources[LEVEL_COUNT] = {0}, translations[TRANSLATION_COUNT] = {0};
    double total = (double)view->count;

    for (size_t i = 0; i < view->recording->accesses.count; i++) {
        const struct access_record *access = &view->recording->accesses.items[i];

        if (!view->wanted[i])
            continue;
        tally_add(&sources[level_of(access)], access);
        tally_add(&translations[translation_of(access)], access);
    }
    section_table(
        section,
        tally_sources(document, sources, total,
                      "Counts of samples, as the processor reported them; latency in its "
                      "cycles. A unit that samples loads above a latency sees no others."));
    section_table(section, tally_translations(document, translations, total, NULL));
    for (size_t i = 0; i < LEVEL_COUNT; i++)
        tally_free(&sources[i]);
    for (size_t i = 0; i < TRANSLATION_COUNT; i++)
        tally_free(&translations[i]);
}

/* What was recorded and is not among the accesses. */
static void add_left_out(const struct recording *recording, struct section *section)
{
    const struct {
        const char *key, *label;
        uint64_t count;
    } counts[] = {
        {"left_out.kernel", "in the kernel", recording->left_out[USE_KERNEL]},
        {"left_out.no_access", "no memory access", recording->left_out[USE_NO_ACCESS]},
        {"left_out.no_address", "without an address", recording->left_out[USE_NO_ADDRESS]},
        {"left_out.speculative", "never retired", recording->left_out[USE_SPECULATIVE]},
        {"left_out.damaged", "not readable", recording->left_out[USE_DAMAGED]},
        {"lost.records", "records lost", recording->lost},
        {"lost.throttled", "times throttled", recording->throttled},
        {"lost.truncated", "buffers cut short", recording->truncated},
    };

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        section_fact(section, counts[i].key, counts[i].count ? counts[i].label : NULL,
                     INTERVAL_NONE, cell_value(CELL_COUNT, (double)counts[i].count));
}

void perfdata_summary(const struct perfdata_view *view, struct document *document)
{
    const struct recording *recording = view->recording;
    struct section *section =
        document_section(document, "summary", "Sampled accesses of a perf.data file", true);

    add_fact(document, section, "command", "recorded by", recording->command);
    add_fact(document, section, "host", "host", recording->host);
    add_fact(document, section, "processor", "processor", recording->processor);
    add_fact(document, section, "unit", "sampled by", recording->units);
    section_fact(section, "samples", "accesses", INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)view->count));
    add_left_out(recording, section);
    if (recording->file.cut)
        section_paragraph(document, section, NULL,
                          "The file is cut short: what stands before its end is shown.");
    add_tables(view, document, section);
    section_paragraph(
        document, section, "notes",
        "perf.data holds sampled accesses, not when their data is used again: there "
        "are no reuse times, no miss-ratio curves and no advice on caches. For these, "
        "run the program under reuse-run.");
}
