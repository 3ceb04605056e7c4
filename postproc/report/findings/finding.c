/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/finding.h"

#include <math.h>

const char *const pattern_names[PATTERN_COUNT] = {
    [PATTERN_NONE] = "none",
    [PATTERN_IN_ORDER] = "in order",
    [PATTERN_PASSES] = "passes",
    [PATTERN_ACROSS_LINES] = "across lines",
    [PATTERN_TOO_LARGE] = "too large",
    [PATTERN_CROWDED_SETS] = "crowded sets",
    [PATTERN_FEW_MEMBERS] = "few members",
    [PATTERN_LINKED] = "linked nodes",
    [PATTERN_INDEXED] = "indexed",
    [PATTERN_ANYWHERE] = "anywhere",
    [PATTERN_FALSE_SHARING] = "false sharing",
    [PATTERN_TRUE_SHARING] = "true sharing",
    [PATTERN_SHARED_INDEX] = "shared index",
    [PATTERN_HANDED_OVER] = "handed over",
    [PATTERN_ALLOCATOR] = "allocator",
    [PATTERN_GROWTH] = "growing container",
    [PATTERN_LOCKS] = "locks",
    [PATTERN_WAITING] = "waiting",
    [PATTERN_PAGE_FAULTS] = "page faults",
    [PATTERN_SMALL_CALLS] = "small system calls",
};

bool pattern_is_sharing(enum pattern pattern)
{
    return pattern == PATTERN_FALSE_SHARING || pattern == PATTERN_TRUE_SHARING ||
           pattern == PATTERN_SHARED_INDEX || pattern == PATTERN_HANDED_OVER;
}

/* At least this part of each line is used while it is there: whole lines. */
static const double dense = 0.5;

/* Of lines that follow each other, four are one line four times as long; of pairs, two. */
static const double follow_each_other = 0.6;

/* Used more than so many times over, a line was not just passed over. */
static const double passed_over_once = 4;

/* Nodes: more blocks than this, each of less than so many bytes. */
static const double node_blocks = 256, node_bytes = 1024;

/* From here on blocks are arrays; a sample of them is tracked where there are very many. */
static const double array_bytes = 65536;

/* A structure of which more than this part is used has nothing to part. */
static const double used_part = 0.5;

/* Reuses after more than this part of all that is touched come back in another pass over it. */
static const double another_pass = 0.55;

/* Loops come back after the same amount of data each time; what is random does not. */
static const double sharp = 0.85;

/* Nor does it take the same time each time: quartiles of exponential times are 4.8 apart. */
static const double same_time = 2;

/* Reuses after fewer lines than a burst has accesses are seen within it, by the thousand. */
static const double lines_of_burst = 4096;

/* Part of a place's accesses, or misses, that tells what it does. */
static const double explains = 0.5;

/* Of steps across lines, those as long as the one before: inner loops of five turns have three. */
static const double evenly = 0.6;

/* Steps of chance are seldom as long as the one before: in a table of 16 places 0.06 of them. */
static const double unevenly = 0.1;

/* Misses for want of ways, per access, that are worth a word. */
static const double crowded_least = 0.02;

/* So many times as many as others: more than half are. */
static const double mostly = 2;
/* What needs hardly more than a cache has is noise of the model. */
static const double hardly_more = 1.2;

double evidence_extent(const struct access_evidence *evidence)
{
    return fmax(evidence->object_bytes, evidence->touched_bytes);
}

static double used_of_line(const struct access_evidence *evidence)
{
    double used = evidence->visits > 0 ? evidence->width / evidence->visits : evidence->line_bytes;

    return fmin(1, used / evidence->line_bytes);
}

/* Lines that are used many times while they are there look whole however they are reached: their
 * order has to be known. */
bool evidence_is_in_order(const struct access_evidence *evidence)
{
    if (evidence->loop_in_order)
        return true;
    if (!(evidence->width > 0) || !(evidence->line_bytes > 0) || used_of_line(evidence) < dense)
        return false;
    if (evidence->line_order > 0)
        return evidence->line_order <= follow_each_other;
    return evidence->width <= passed_over_once * evidence->visits * evidence->line_bytes;
}

/* Its misses are those of steps across lines, which were seen. */
static bool misses_by_steps(const struct access_evidence *evidence)
{
    return evidence->far_steps >= explains * evidence->visits;
}

bool evidence_steps_evenly(const struct access_evidence *evidence)
{
    return misses_by_steps(evidence) && evidence->even_steps >= evenly;
}

/* No step across lines is as the one before: no loop goes across them, however regular reuses look.
 */
static bool steps_unevenly(const struct access_evidence *evidence)
{
    return misses_by_steps(evidence) && evidence->even_steps < unevenly;
}

/* Loops that were unrolled take a line per turn, each of their instructions a part of it. */
static bool steps_line_by_line(const struct access_evidence *evidence)
{
    return evidence_steps_evenly(evidence) && evidence->stride_bytes > 0 &&
           evidence->stride_bytes <= evidence->line_bytes;
}

/* Most steps lead to a line that is still there from the last time, until most of it is used: the
 * loop goes across a block that the innermost cache holds. */
static bool stays_in_a_block(const struct access_evidence *evidence)
{
    return evidence->visits < explains * evidence->far_steps && used_of_line(evidence) >= dense;
}

static bool goes_from_node_to_node(const struct access_evidence *evidence)
{
    return evidence->chased >= explains;
}

bool evidence_is_led_from_elsewhere(const struct access_evidence *evidence)
{
    return misses_by_steps(evidence) && evidence->far_steps > 0 &&
           !goes_from_node_to_node(evidence);
}

static bool comes_back_within_a_pass(const struct access_evidence *evidence)
{
    double all = evidence->object_bytes > 0 ? evidence->object_bytes : evidence->touched_bytes;

    return evidence->need_bytes > hardly_more * evidence->inner_bytes &&
           evidence->need_bytes < another_pass * all;
}

/* Reuses that always come after as much, as loops make them. Beyond a burst, watches have to say.
 */
static bool is_regular(const struct access_evidence *evidence)
{
    bool seen_whole = evidence->need_bytes <= lines_of_burst * evidence->line_bytes;

    return evidence->sharpness >= sharp &&
           (seen_whole || (evidence->late_spread > 0 && evidence->late_spread < same_time));
}

bool evidence_comes_back_evenly(const struct access_evidence *evidence)
{
    return comes_back_within_a_pass(evidence) && is_regular(evidence);
}

/* Between two passes of one loop over an object that no cache holds comes the other loop's. */
bool evidence_passes_unwatched(const struct access_evidence *evidence)
{
    return evidence->late_reuses < EVIDENCE_REUSES_MIN && evidence->passed_elsewhere &&
           evidence_extent(evidence) >= EVIDENCE_FITS * evidence->level_bytes;
}

static enum pattern pattern_of_whole_lines(const struct access_evidence *evidence)
{
    if (evidence->late_reuses >= EVIDENCE_REUSES_MIN &&
        evidence->reused_elsewhere > EVIDENCE_PASSES)
        return PATTERN_PASSES;
    if (evidence_passes_unwatched(evidence))
        return PATTERN_PASSES;
    return evidence_comes_back_evenly(evidence) ? PATTERN_TOO_LARGE : PATTERN_IN_ORDER;
}

bool evidence_is_of_nodes(const struct access_evidence *evidence)
{
    /* While tracking is dear arrays are sampled, too. */
    return (evidence->sampled_blocks && evidence->block_bytes < array_bytes) ||
           (evidence->blocks >= node_blocks && evidence->object_bytes > 0 &&
            evidence->object_bytes < node_bytes);
}

static bool uses_few_members(const struct access_evidence *evidence)
{
    return (double)evidence->element_bytes >= evidence->line_bytes / 2 &&
           (double)evidence->element_bytes < evidence->object_bytes / 2 &&
           (double)evidence->element_used <= used_part * (double)evidence->element_bytes;
}

/* Elements in no order take a line each, however small they are, unless what is used of all of them
 * fits. */
static bool splitting_spares_lines(const struct access_evidence *evidence)
{
    double used = (double)evidence->element_used / (double)evidence->element_bytes;

    return !steps_unevenly(evidence) ||
           used * evidence_extent(evidence) < EVIDENCE_FITS * evidence->level_bytes;
}

/* What takes half of the innermost cache at most has no misses to speak of. */
static bool is_small(const struct access_evidence *evidence)
{
    return evidence->touched_bytes > 0 && evidence->touched_bytes < evidence->inner_bytes / 2;
}

bool evidence_is_crowded(const struct access_evidence *evidence)
{
    return evidence->crowded > fmax(crowded_least, mostly * evidence->visits);
}

/* Blocks that are rows, each allocated by itself, of which a loop takes one element after the
 * other: nodes do not lie as far apart. */
static bool goes_across_rows(const struct access_evidence *evidence)
{
    return evidence_steps_evenly(evidence) && evidence->stride_bytes >= node_bytes &&
           !goes_from_node_to_node(evidence);
}

enum pattern pattern_of(const struct access_evidence *evidence)
{
    if (evidence->bursts < EVIDENCE_BURSTS_MIN || !(evidence->width > 0))
        return PATTERN_NONE;
    if (evidence_is_crowded(evidence))
        return PATTERN_CROWDED_SETS;
    if (is_small(evidence))
        return PATTERN_NONE;
    if (evidence_is_of_nodes(evidence))
        return goes_across_rows(evidence) ? PATTERN_ACROSS_LINES : PATTERN_LINKED;
    if (evidence_is_in_order(evidence))
        return pattern_of_whole_lines(evidence);
    if (goes_from_node_to_node(evidence))
        return PATTERN_LINKED;
    if (uses_few_members(evidence) && splitting_spares_lines(evidence))
        return PATTERN_FEW_MEMBERS;
    if (steps_line_by_line(evidence))
        return pattern_of_whole_lines(evidence);
    if (evidence_steps_evenly(evidence) ||
        (evidence_comes_back_evenly(evidence) && !steps_unevenly(evidence)))
        return stays_in_a_block(evidence) ? pattern_of_whole_lines(evidence) : PATTERN_ACROSS_LINES;
    if (evidence_extent(evidence) < EVIDENCE_FITS * evidence->level_bytes)
        return PATTERN_NONE;
    return evidence->indexed && evidence->computed < EVIDENCE_COMPUTED ? PATTERN_INDEXED
                                                                       : PATTERN_ANYWHERE;
}

struct estimate pattern_saving(enum pattern pattern, const struct access_evidence *evidence)
{
    static const struct estimate savings[PATTERN_COUNT] = {
        [PATTERN_PASSES] = {0.6, 0.3, 0.8},       [PATTERN_ACROSS_LINES] = {0.85, 0.6, 1},
        [PATTERN_TOO_LARGE] = {0.5, 0.2, 0.8},    [PATTERN_CROWDED_SETS] = {0.8, 0.5, 1},
        [PATTERN_LINKED] = {0.85, 0.5, 1},        [PATTERN_INDEXED] = {0.8, 0.5, 1},
        [PATTERN_ANYWHERE] = {0.7, 0.4, 0.9},     [PATTERN_FALSE_SHARING] = {0.9, 0.7, 1},
        [PATTERN_TRUE_SHARING] = {0.8, 0.5, 1},   [PATTERN_HANDED_OVER] = {0.5, 0.2, 0.9},
        [PATTERN_FEW_MEMBERS] = {0.75, 0.5, 0.9}, [PATTERN_ALLOCATOR] = {0.9, 0.6, 1},
        [PATTERN_SHARED_INDEX] = {0.8, 0.5, 1},   [PATTERN_GROWTH] = {0.9, 0.7, 1},
        [PATTERN_LOCKS] = {0.8, 0.4, 1},          [PATTERN_WAITING] = {0.5, 0.1, 1},
        [PATTERN_PAGE_FAULTS] = {0.9, 0.7, 1},    [PATTERN_SMALL_CALLS] = {0.9, 0.7, 1},
    };
    struct estimate saving = savings[pattern];

    if (pattern == PATTERN_FEW_MEMBERS && evidence->element_bytes > 0)
        saving.hi = 1 - fmin(0.5, (double)evidence->element_used / (double)evidence->element_bytes);
    if (saving.value > saving.hi)
        saving.value = saving.hi;
    return saving;
}

enum finding_weight finding_weight(struct estimate time, double *longer)
{
    double half = fmax(time.value - time.lo, time.hi - time.value);
    double distance = fabs(time.value - FINDING_TIME_MIN);

    *longer = 1;
    if (time.value < FINDING_TIME_MIN)
        return FINDING_NOTHING;
    if (time.lo >= FINDING_TIME_MIN)
        return FINDING_CLEAR;
    /* Intervals shrink with the root of the length of the run. */
    *longer = distance > 0 ? fmin(100, fmax(1.5, pow(half / distance, 2))) : 100;
    return FINDING_OPEN;
}
