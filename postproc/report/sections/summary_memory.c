/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sections/summary_memory.h"

#include <math.h>
#include <stdlib.h>

#include "document/numbers.h"
#include "report/model/kernel_use.h"

/* What came by page faults is more than what was there at once by this factor: worth a word. */
static const double much_more = 1.5;

/* The caller frees it. */
static char *memory_text(const struct model *model, const struct kernel_use *use, double farthest)
{
    const char *of_one = model->profile_count > 1 ? " by one process" : "";
    char *bound = number_bytes(farthest), *peak = number_bytes(use->peak_bytes), *text;

    if (use->peak_bytes > 0 && farthest > much_more * use->peak_bytes)
        text = format_string("%s at once%s; page faults brought up to %s: no reuse is farther than "
                             "that",
                             peak, of_one, bound);
    else
        text = format_string("at most %s in use%s: no reuse is farther than that", bound, of_one);
    free(peak);
    free(bound);
    return text;
}

/* Calls that take less than this part of the CPU time are not worth a word. */
static const double much_time = 0.05;

/* ", 1.5 M reads and writes of 16 B each", or nothing; the caller frees it. */
static char *calls_text(const struct kernel_use *use)
{
    char *calls = number_count(use->calls);
    char *bytes = number_bytes(use->calls > 0 ? use->call_bytes / use->calls : 0);
    char *text = use->calls > 0 && use->call_time.value >= much_time
                     ? format_string(", %s reads and writes of %s on average", calls, bytes)
                     : copy_string("");

    free(bytes);
    free(calls);
    return text;
}

static void add_kernel(struct document *document, struct section *section,
                       const struct kernel_use *use)
{
    char *faults, *calls, *text;

    if (use->time < 0)
        return;
    faults = number_count(use->page_faults);
    calls = calls_text(use);
    text = format_string("%.0f %% of the CPU time%s%s%s%s", 100 * use->time,
                         use->page_faults > 0 ? ", " : "", use->page_faults > 0 ? faults : "",
                         use->page_faults > 0 ? " page faults" : "", calls);
    section_fact_as(document, section, "kernel_time", "Kernel", INTERVAL_NONE,
                    cell_value(CELL_SHARE, use->time), text);
    if (use->page_faults > 0)
        section_fact(section, "page_faults", NULL, INTERVAL_NONE,
                     cell_value(CELL_COUNT, use->page_faults));
    if (use->calls > 0) {
        section_fact(section, "read_write_calls", NULL, INTERVAL_NONE,
                     cell_value(CELL_COUNT, use->calls));
        section_fact(section, "read_write_bytes", NULL, INTERVAL_NONE,
                     cell_value(CELL_BYTES, use->call_bytes));
    }
    free(calls);
    free(text);
    free(faults);
}

void summary_add_memory(struct model *model, struct document *document, struct section *section)
{
    const struct kernel_use use = kernel_use_of(model);
    double farthest = analysis_farthest_reuse(model->analysis);
    char *text;

    add_kernel(document, section, &use);
    if (use.peak_bytes > 0)
        section_fact(section, "peak_memory", NULL, INTERVAL_NONE,
                     cell_value(CELL_BYTES, use.peak_bytes));
    if (!isfinite(farthest))
        return;
    text = memory_text(model, &use, farthest);
    section_fact_as(document, section, "farthest_reuse", "Memory", INTERVAL_NONE,
                    cell_value(CELL_BYTES, farthest), text);
    free(text);
}
