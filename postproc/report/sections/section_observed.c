/* SPDX-License-Identifier: BSD-3-Clause */
/* The summary's facts on what was observed: bursts, how well they foresaw the run, watches. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "document/numbers.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"

/* Sums over the threads and profiles that are looked at. */
struct observed {
    struct watch_summary watches; /* by debug registers */
    uint64_t evicted;             /* of these, by the policy */
    uint64_t bursts, probes, markers, foreseen, stops, bridged;
};

static void count_bursts(const struct model *model, struct observed *out)
{
    uint32_t last = UINT32_MAX;

    out->watches = analysis_watches(model->analysis);
    for (size_t i = 0; i < analysis_watch_count(model->analysis); i++) {
        const struct record_watch_end *end = analysis_watch_end(model->analysis, i);
        out->evicted += end != NULL && end->reason == WATCH_EVICTED;
    }
    for (size_t i = 0; i < analysis_probe_count(model->analysis); i++) {
        const struct analysed_probe *probe = analysis_probe(model->analysis, i, NULL);

        out->probes += probe->count;
        out->bursts += probe->count > 0 && probe->burst != last;
        last = probe->count > 0 ? probe->burst : last;
    }
}

static void count_forecasts(const struct model *model, struct observed *out)
{
    for (size_t p = 0; p < model->profile_count; p++) {
        const struct profile *profile = model->profiles[p];

        for (size_t i = 0; i < profile->totals.count; i++) {
            const struct record_totals *totals = &profile->totals.items[i];

            if (!model_looks_at(model, profile, totals->thread_id))
                continue;
            out->markers += totals->markers;
            out->foreseen += totals->foreseen;
            out->stops += totals->stops;
            out->bridged += totals->bridged;
        }
    }
}

/* " (for the miss ratio of L1 as informative as 1500 independent ones)": accesses of one burst are
 * alike, so that all of them tell less than as many taken at random, but no less than one each. The
 * caller frees it. */
static char *sample_size_text(struct model *model, struct document *document,
                              const struct observed *observed, double effect)
{
    double size = fmax((double)observed->bursts, (double)observed->probes / fmax(1, effect));
    double unit = size > 100 && size < 10000 ? pow(10, floor(log10(size)) - 1) : 1;
    char *number = number_count(unit * round(size / unit));
    char *text = format_string(" (for the miss ratio of %s as informative as %s independent ones)",
                               level_name(model, document, 0), number);

    free(number);
    return text;
}

/* What the bursts tell more than one access each, and less than all of theirs. */
static void add_bursts(struct model *model, struct document *document, struct section *section,
                       const struct observed *observed)
{
    double effect =
        model->exact || model->machine.levels == 0
            ? NAN
            : analysis_design_effect(model->analysis, (double)model->machine.caches[0].bytes);
    char *probes = number_count((double)observed->probes), *worth = NULL, *part = NULL, *text;
    uint64_t all = observed->bursts;

    if (effect > 0)
        worth = sample_size_text(model, document, observed, effect);
    if (!model->exact)
        all += analysis_bursts_left_out(model->analysis);
    if (all > observed->bursts)
        part = format_string(", of which %" PRIu64 " are evaluated, drawn at random (--all-bursts)",
                             observed->bursts);
    text = format_string("%" PRIu64 "%s, with %s accesses%s", all, part != NULL ? part : "", probes,
                         worth != NULL ? worth : "");
    section_fact_as(document, section, "samples", model->exact ? NULL : "Bursts", INTERVAL_NONE,
                    cell_value(CELL_COUNT, (double)all), text);
    section_fact(section, "bursts", NULL, INTERVAL_NONE, cell_value(CELL_COUNT, (double)all));
    section_fact(section, "probes", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)observed->probes));
    section_fact(section, "bursts_evaluated", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)observed->bursts));
    section_fact(section, "design_effect", NULL, INTERVAL_NONE,
                 effect > 0 ? cell_value(CELL_NUMBER, effect) : cell_empty());
    free(text);
    free(part);
    free(worth);
    free(probes);
}

/* A line of zeros tells its reader nothing. */
static bool is_worth_a_line(const struct model *model, bool something)
{
    return something || (model->options->verbose && !model->exact);
}

/* How well bursts foresaw what the program then did, and where they could not see on. */
static void add_look_ahead(const struct model *model, struct document *document,
                           struct section *section, const struct observed *observed)
{
    char *text =
        format_string("%" PRIu64 " of %" PRIu64 " forecasts came true; %" PRIu64 " of %" PRIu64
                      " stops in bursts bridged",
                      observed->foreseen, observed->markers, observed->bridged, observed->stops);

    section_fact_as(document, section, "look_ahead.markers",
                    is_worth_a_line(model, observed->markers > 0 || observed->bridged > 0)
                        ? "Look-ahead"
                        : NULL,
                    INTERVAL_NONE, cell_value(CELL_COUNT, (double)observed->markers), text);
    section_fact(section, "look_ahead.foreseen", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)observed->foreseen));
    section_fact(section, "look_ahead.foreseen_share", NULL, INTERVAL_NONE,
                 observed->markers > 0 ? cell_value(CELL_SHARE, (double)observed->foreseen /
                                                                    (double)observed->markers)
                                       : cell_empty());
    section_fact(section, "look_ahead.stops", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)observed->stops));
    section_fact(section, "look_ahead.bridged", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)observed->bridged));
    free(text);
}

static void add_pursuits(struct document *document, struct section *section,
                         const struct watch_summary *watches)
{
    char *farthest = number_count(watches->farthest);
    char *text = format_string("%zu lines looked for after their bursts, %zu of them used again; "
                               "up to %s accesses on",
                               watches->pursued, watches->found, farthest);

    section_fact_as(document, section, "pursuits.lines", watches->pursued > 0 ? "Pursuits" : NULL,
                    INTERVAL_NONE, cell_value(CELL_COUNT, (double)watches->pursued), text);
    section_fact(section, "pursuits.reused", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)watches->found));
    free(text);
    free(farthest);
}

static void add_watches(const struct model *model, struct document *document,
                        struct section *section, const struct observed *observed)
{
    const struct watch_summary *watches = &observed->watches;
    uint64_t lost = watches->censored -
                    (observed->evicted < watches->censored ? observed->evicted : watches->censored);
    char *others = lost > 0 ? format_string(", %" PRIu64 " lost", lost) : copy_string("");
    char *text = format_string("%zu begun: %zu used again, %zu never (data, thread or process "
                               "ended), %" PRIu64 " evicted by the policy%s; %zu lines were "
                               "stored to by another thread first",
                               watches->begun, watches->used, watches->never, observed->evicted,
                               others, watches->invalidated);

    section_fact_as(document, section, "watches.armed",
                    is_worth_a_line(model, watches->begun > 0) ? "Watches" : NULL, INTERVAL_NONE,
                    cell_value(CELL_COUNT, (double)watches->begun), text);
    section_fact(section, "watches.reused", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)watches->used));
    section_fact(section, "watches.invalidated", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)watches->invalidated));
    section_fact(section, "watches.evicted", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)observed->evicted));
    section_fact(section, "watches.ended", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)(watches->never + lost)));
    section_fact(section, "watches.never", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)watches->never));
    section_fact(section, "watches.largest_weight", NULL, INTERVAL_NONE,
                 cell_value(CELL_SHARE, watches->heaviest));
    free(text);
    free(others);
}

void add_observed(struct model *model, struct document *document, struct section *section)
{
    struct observed observed = {0};

    if (!model->exact) {
        count_bursts(model, &observed);
        count_forecasts(model, &observed);
    }
    add_bursts(model, document, section, &observed);
    add_look_ahead(model, document, section, &observed);
    add_pursuits(document, section, &observed.watches);
    add_watches(model, document, section, &observed);
}
