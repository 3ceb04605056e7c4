/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sections/summary_losses.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/sections/section_support.h"

/* many: after a number other than 1. */
struct loss_words {
    const char *key, *one, *many;
};

static const struct loss_words in_run[LOSS_COUNT] = {
    [LOSS_UNREADABLE] = {"lost.unreadable",
                         "sample without a memory access: code that only computes, or not decoded",
                         "samples without a memory access: code that only computes, or not "
                         "decoded"},
    [LOSS_ASYNCHRONOUS] = {"lost.asynchronous",
                           "sample: signal delivered late, program counter unknown",
                           "samples: signal delivered late, program counter unknown"},
    [LOSS_IN_RUNTIME] = {"lost.in_runtime", "sample inside the profiler or the dynamic loader",
                         "samples inside the profiler or the dynamic loader"},
    [LOSS_BUFFER] = {"lost.buffer", "record dropped: output buffer full",
                     "records dropped: output buffer full"},
    [LOSS_NO_REGISTER] = {"lost.no_register", "watch not armed: no free debug register",
                          "watches not armed: no free debug register"},
    [LOSS_TRAP_UNKNOWN] = {"lost.trap_unknown", "trap without a watch that it belongs to",
                           "traps without a watch that they belong to"},
    [LOSS_CONTEXT] = {"lost.context", "call stack not unwound", "call stacks not unwound"},
    [LOSS_THREAD] = {"lost.thread", "thread not profiled: no descriptor, or no permission",
                     "threads not profiled: no descriptor, or no permission"},
};

static const struct loss_words lost_records = {"lost.records", "record not written to the file",
                                               "records not written to the file"};
static const struct loss_words lost_bytes = {"lost.bytes",
                                             "byte of an incomplete record at the end of the file",
                                             "bytes of an incomplete record at the end of the "
                                             "file"};
static const struct loss_words lost_invalid = {
    "lost.invalid_records", "inconsistent record, skipped", "inconsistent records, skipped"};
static const struct loss_words lost_unknown = {"lost.unknown_records",
                                               "record of a newer format, skipped",
                                               "records of a newer format, skipped"};

static void add(struct document *document, struct section *section, const struct loss_words *words,
                uint64_t count)
{
    char *text = format_string("%" PRIu64 " %s", count, count == 1 ? words->one : words->many);

    section_fact_as(document, section, words->key, count > 0 ? "Lost" : NULL, INTERVAL_NONE,
                    cell_value(CELL_COUNT, (double)count), text);
    free(text);
}

void summary_losses(struct document *document, struct section *section,
                    const struct lost_counts *lost)
{
    for (size_t i = 0; i < LOSS_COUNT; i++)
        if (in_run[i].key != NULL)
            add(document, section, &in_run[i], lost->in_run[i]);
    add(document, section, &lost_records, lost->records);
    add(document, section, &lost_bytes, lost->dropped_bytes);
    add(document, section, &lost_invalid, lost->invalid_records);
    add(document, section, &lost_unknown, lost->unknown_records);
}
