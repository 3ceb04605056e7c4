/* SPDX-License-Identifier: BSD-3-Clause */
/* Why there is no finding: nothing to gain, no known cure, too little seen, or not observed. */
#include "report/findings/nothing_found.h"

#include <math.h>
#include <stdlib.h>

#include "report/findings/finding_text.h"
#include "report/findings/hot_code.h"
#include "report/model/last_uses.h"

/* Where misses may take a third of the time, not even "probably nothing to gain" is known. */
#define UNDECIDED 0.33

/* Misses take time, and nothing that the record shows would spare them. */
static char *unavoidable_text(struct model *model, const struct findings *findings,
                              const char *time_word)
{
    char *memory = finding_share_text(findings->memory), *text;

    if (findings->in_order.value > 0.5 * findings->memory.value &&
        findings->in_order_at.function != NULL)
        text = format_string(
            "Nothing to gain that the record shows: misses take %s of the %s, most of it on data "
            "that is used in order (first at %s), which prefetches hide in part.",
            memory, time_word, code_line_text(model, &findings->in_order_at));
    else
        text = format_string("No pattern with a known cure: misses take %s of the %s. See --lines "
                             "and --objects.",
                             memory, time_word);
    free(memory);
    return text;
}

/* No clock has expired in any of the programs. */
static bool is_unsampled(const struct model *model, const struct findings *findings)
{
    for (size_t p = 0; p < model->profile_count; p++)
        if (model->profiles[p]->bursts.count > 0 || model->profiles[p]->samples.count > 0)
            return false;
    return !model->exact && findings->silent == 0;
}

/* Intervals shrink with the root of the length of the run. */
static double times_until_decided(struct estimate memory)
{
    return fmin(
        100, fmax(2, pow((memory.hi - memory.value) / fmax(0.001, UNDECIDED - memory.value), 2)));
}

/* Misses may take time, and whether they do hangs on what was not seen. */
static char *unseen_text(const struct findings *findings, const char *time_word)
{
    return format_string("Whether anything can be gained is not known: misses may take up to %.0f "
                         "%% of the %s, but reuses after a burst were not observed (%s). A "
                         "longer run helps little. What would count them: %s; then see "
                         "reuse-report --blocking.",
                         ceil(100 * findings->memory.hi), time_word, findings->sight.cause,
                         findings->sight.way_out);
}

/* Of counts the time is modelled: what misses take at most is known, and may be next to nothing. */
static char *counted_text(const struct model *model, const struct findings *findings)
{
    const char *counted = model->line_rate > 1 ? "The accesses to a part of the lines were counted"
                                               : "Every access was counted";
    double most = ceil(100 * findings->memory.hi);

    if (findings->memory.hi < 2 * FINDING_TIME_MIN)
        return format_string("Nothing to gain: memory is not the problem. %s, and by the latencies "
                             "below misses take at most %.0f %% of the modelled time.",
                             counted, most);
    return format_string("%s, but none was timed. By the latencies below misses take %.0f %% of "
                         "the modelled time, less what overlaps. Where lines are used again too "
                         "late, and what blocking would save: --blocking. Most misses: --lines, "
                         "--objects.",
                         counted, most);
}

/* Where it is worth a look all the same. Frees the text. */
static char *with_hot_code(struct model *model, const struct findings *findings, char *text)
{
    char *hot = hot_code_text(model, findings), *longer = format_string("%s%s", text, hot);

    free(hot);
    free(text);
    return longer;
}

char *nothing_found_text(struct model *model, const struct findings *findings,
                         const char *time_word)
{
    char *memory, *text;

    if (is_unsampled(model, findings))
        return copy_string("Too short for a sample: nothing is known of its accesses. Let it work "
                           "longer or on more data; or run it many times and report all profiles "
                           "together; or have every access counted, with reuse-run --engine "
                           "exact.");
    if (findings->silent > model->bursts && findings->silent >= EVIDENCE_BURSTS_MIN)
        return format_string("Nothing to gain: memory is not the problem. At %zu of %zu "
                             "samples of its %s the program made no memory access for thousands "
                             "of instructions: it computes.",
                             findings->silent, findings->silent + model->bursts, time_word);
    if (!(model->accesses.value > 0))
        return copy_string("No access was observed: there is nothing to say.");
    if (model->exact)
        return counted_text(model, findings);
    if (!model->exact && model->bursts < EVIDENCE_BURSTS_MIN)
        return format_string("%zu burst%s: too few for a verdict. Run longer, or with a larger "
                             "budget.",
                             model->bursts, model->bursts == 1 ? "" : "s");
    if (findings->sight.misses_long_uses && findings->memory.hi >= 2 * FINDING_TIME_MIN)
        return with_hot_code(model, findings, unseen_text(findings, time_word));
    if (findings->memory.value >= 2 * FINDING_TIME_MIN)
        return with_hot_code(model, findings, unavoidable_text(model, findings, time_word));
    memory = finding_share_text(findings->memory);
    if (findings->memory.hi >= UNDECIDED) {
        text = format_string("Too few samples to tell whether memory is the problem: misses take "
                             "%s of the %s. Run about %.0f times as long.",
                             memory, time_word, times_until_decided(findings->memory));
    } else {
        text =
            format_string("%s%s. Misses take %s of the %s.",
                          findings->memory.hi >= 2 * FINDING_TIME_MIN ? "Probably nothing to gain"
                                                                      : "Nothing to gain",
                          findings->sight.misses_sharing ? " from a thread's own use of its caches"
                                                         : ": memory is not the problem",
                          memory, time_word);
    }
    free(memory);
    return with_hot_code(model, findings, text);
}
