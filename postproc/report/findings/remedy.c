/* SPDX-License-Identifier: BSD-3-Clause */
/* What findings say: the reason to believe a pattern, and the change that cures it. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "document/numbers.h"
#include "heap_remedy.h"
#include "report/findings/finding.h"
#include "support/memory.h"

/* Three tiles share a cache, and other data wants room as well. */
static double tile_side(const struct access_evidence *evidence)
{
    double side = sqrt(evidence->fall_bytes / 3 / fmax(1, evidence->width));

    return fmax(8, 8 * floor(side / 8));
}

static char *remedy_across_lines(const struct access_evidence *evidence, const char *object)
{
    return format_string("interchange the loops, so that the inner one goes along the lines of "
                         "%s; where that cannot be, tile them (%.0f x %.0f elements)",
                         object, tile_side(evidence), tile_side(evidence));
}

static char *remedy_too_large(const struct access_evidence *evidence, const char *object)
{
    char *fit = number_bytes(evidence->fall_bytes / 2);
    char *text = format_string("tile the loops around it, so that at most %s pass between two uses "
                               "of %s",
                               fit, object);

    free(fit);
    return text;
}

static char *remedy_crowded(const struct access_evidence *evidence, const char *object)
{
    char *line = number_bytes(evidence->line_bytes);
    char *text = format_string("let steps through %s be no multiple of a power of two: %s more in "
                               "each row (pad it); or copy what is used into a block of its own",
                               object, line);

    free(line);
    return text;
}

static char *remedy_few_members(const struct access_evidence *evidence, const char *object)
{
    return format_string("move what is used here, %" PRIu64 " of every %" PRIu64
                         " bytes of %s, into an array of its own (hot and cold parts), or pack "
                         "the elements if the rest is padding",
                         evidence->element_used, evidence->element_bytes, object);
}

static char *remedy_indexed(const struct access_evidence *evidence, const char *object)
{
    if (evidence->index_counts)
        return format_string("write to fewer places of %s in turn: fewer buckets per pass; or "
                             "collect a cache line of elements for each bucket in a small buffer "
                             "before they go there (software write combining)",
                             object);
    if (evidence->index_object == NULL)
        return format_string("renumber or sort so that neighbouring turns use neighbouring "
                             "elements of %s (reverse Cuthill-McKee for meshes and sparse "
                             "matrices, space-filling order for particles); or make it smaller "
                             "(narrower elements, fewer of them)",
                             object);
    return format_string(
        "renumber or sort so that neighbouring entries of %s lead to neighbouring elements of "
        "%s (meshes, graphs: reverse Cuthill-McKee; particles: by cell; look-ups: partition "
        "them by hash, or issue several at a time with prefetches); or make %s smaller "
        "(narrower elements, fewer of them)",
        evidence->index_object, object, object);
}

/* Elements of a machine word are as small as they get. */
static const uint64_t word_bytes = 8;

/* Addresses that no loaded value makes, in no order: searches by halves, and numbers drawn at
 * random. */
static char *remedy_anywhere(const struct access_evidence *evidence, const char *object)
{
    bool searched = evidence->traced && evidence->computed >= EVIDENCE_COMPUTED;
    bool large = evidence->element_bytes > word_bytes;

    return format_string("partition or sort the look-ups and insertions in %s, or issue several "
                         "at a time with prefetches%s%s%s",
                         object,
                         searched
                             ? "; a binary search: keep what it asks first together (Eytzinger "
                               "or B-tree order)"
                             : "",
                         large ? "; make its elements smaller" : "",
                         evidence_extent(evidence) >= HEAP_REMEDY_HUGE_PAGE ? "; huge pages" : "");
}

static char *remedy_linked(const struct access_evidence *evidence, const char *object)
{
    if (!evidence_is_of_nodes(evidence))
        return format_string("keep the elements of %s in the order in which they are visited, or "
                             "sort what they stand for in that order, so that no links are needed; "
                             "or prefetch the next element",
                             object);
    if (!evidence_is_led_from_elsewhere(evidence))
        return format_string("keep the nodes of %s in an array or a pool, in the order in which "
                             "they are visited (indexes instead of pointers); or a flat, sorted or "
                             "hashed container; or prefetch the next node",
                             object);
    return format_string("keep the blocks of %s by value where the pointers to them are%s%s%s, in "
                         "the order in which they are visited, or what is used of them "
                         "beside the pointers (a key, a hash); or, where an array has the next "
                         "pointers, prefetch what they lead to",
                         object, evidence->index_object != NULL ? " (" : "",
                         evidence->index_object != NULL ? evidence->index_object : "",
                         evidence->index_object != NULL ? ")" : "");
}

char *pattern_remedy(enum pattern pattern, const struct access_evidence *evidence,
                     const char *object, const char *elsewhere)
{
    switch (pattern) {
    case PATTERN_PASSES:
        return format_string("fuse the loops (here and %s), or do all of them on one block of %s "
                             "after the other",
                             elsewhere, object);
    case PATTERN_ACROSS_LINES:
        return remedy_across_lines(evidence, object);
    case PATTERN_TOO_LARGE:
        return remedy_too_large(evidence, object);
    case PATTERN_CROWDED_SETS:
        return remedy_crowded(evidence, object);
    case PATTERN_FEW_MEMBERS:
        return remedy_few_members(evidence, object);
    case PATTERN_LINKED:
        return remedy_linked(evidence, object);
    case PATTERN_INDEXED:
        return remedy_indexed(evidence, object);
    case PATTERN_ANYWHERE:
        return remedy_anywhere(evidence, object);
    case PATTERN_FALSE_SHARING:
        return format_string("part them: %c%s", tolower((unsigned char)*elsewhere), elsewhere + 1);
    case PATTERN_TRUE_SHARING:
        return format_string(
            "write %s less often: a copy for each thread, combined at the end (sums, "
            "counters); several at a time (queues, under one lock); or split it",
            object);
    case PATTERN_SHARED_INDEX:
        return format_string("each of its words is written by one thread: let others keep a copy "
                             "of what they read of %s, and read it again only when the copy "
                             "no longer serves (indexes of a queue, flags); keep what different "
                             "threads write on lines of their own; publish several at a time",
                             object);
    case PATTERN_HANDED_OVER:
        return format_string("run the threads that exchange %s on CPUs that share a cache; or let "
                             "who writes it use it as well, or hand over more at a time, less "
                             "often",
                             object);
    case PATTERN_ALLOCATOR:
        return copy_string("allocate less often: keep buffers from turn to turn instead of "
                           "making them anew, take small objects from a pool or an arena, or "
                           "allocate outside of the loop");
    case PATTERN_LOCKS:
        return format_string("take %s less often (collect in each thread, and add up under one "
                             "lock), hold it for less, or split it into several",
                             object);
    case PATTERN_WAITING:
        return copy_string("give threads even work (smaller pieces, dynamic schedules), and fewer, "
                           "longer parallel parts; fewer threads, if there are more than CPUs");
    case PATTERN_PAGE_FAULTS:
        return copy_string("keep memory and use it again, instead of giving it back to the kernel "
                           "(munmap, madvise(MADV_DONTNEED)) and having it anew; or ask for huge "
                           "pages (madvise(MADV_HUGEPAGE)); of a file, read it into a buffer, or "
                           "map it with MAP_POPULATE");
    case PATTERN_SMALL_CALLS:
        return copy_string("read and write more at a time: through a buffer of some KiB (fread and "
                           "fwrite, without a flush after each piece, as std::endl is one), or "
                           "several pieces with one call (readv, writev)");
    case PATTERN_GROWTH:
        return copy_string("reserve room for all elements before they are inserted (reserve(), "
                           "or its like), or keep the container from turn to turn");
    default:
        return copy_string("");
    }
}

static char *reason_of_nodes(const struct access_evidence *evidence)
{
    char *blocks = number_count(evidence->blocks), *bytes = number_bytes(evidence->object_bytes);
    char *text = format_string("%s%s%ssmall blocks of the heap%s%s, and %.2f new lines per access",
                               evidence->blocks > 0 && evidence->some_untracked ? "at least " : "",
                               evidence->blocks > 0 ? blocks : "", evidence->blocks > 0 ? " " : "",
                               evidence->object_bytes > 0 ? " of up to " : "",
                               evidence->object_bytes > 0 ? bytes : "", evidence->visits);

    free(bytes);
    free(blocks);
    return text;
}

/* Steps across lines; empty where bursts do not tell. */
static char *steps_text(const struct access_evidence *evidence)
{
    char *stride, *text;

    if (!(evidence->stride_bytes > 0))
        return copy_string("");
    stride = number_bytes(evidence->stride_bytes);
    text = format_string(" in even steps of %s", stride);
    free(stride);
    return text;
}

static char *reason_of_steps(const struct access_evidence *evidence)
{
    char *steps = steps_text(evidence), *size = number_bytes(evidence_extent(evidence));
    char *text =
        format_string("%.2f new lines per access%s, through %s", evidence->visits, steps, size);

    free(size);
    free(steps);
    return text;
}

static char *reason_of_sets(const struct access_evidence *evidence)
{
    char *steps = steps_text(evidence);
    char *text = format_string("%.2f of the accesses%s miss for want of ways in their sets, "
                               "though the first cache has room for what was used since",
                               evidence->crowded, steps);

    free(steps);
    return text;
}

static char *reason_of_distance(const struct access_evidence *evidence)
{
    char *need = number_bytes(evidence->need_bytes), *level = number_bytes(evidence->fall_bytes);
    char *steps = steps_text(evidence);
    char *text = format_string("%.2f new lines per access%s; a line is used again after %s of "
                               "other data, always about as much (%s fit)",
                               evidence->visits, steps, need, level);

    free(steps);
    free(level);
    free(need);
    return text;
}

static char *reason_of_places(const struct access_evidence *evidence, const char *how)
{
    char *size = number_bytes(evidence_extent(evidence));
    char *level = number_bytes(evidence->level_bytes);
    char *text = format_string("%.2f new lines per access, %s %s (%s fit)", evidence->visits, how,
                               size, level);

    free(level);
    free(size);
    return text;
}

static char *reason_of_indexes(const struct access_evidence *evidence)
{
    char *how, *text;

    if (evidence->index_object == NULL)
        return reason_of_places(evidence, "at indexes that are loaded, anywhere in");
    how = format_string("at indexes that come from %s (%s), anywhere in", evidence->index_object,
                        evidence->index_line);
    text = reason_of_places(evidence, how);
    free(how);
    return text;
}

/* Fewer loads say little of where lines come from. */
static const double timed_min = 16;

/* Frees the text. */
static char *with_source(char *text, const struct access_evidence *evidence)
{
    const struct timed_evidence *timed = &evidence->timed;
    char *longer;

    if (timed->bursts < EVIDENCE_BURSTS_MIN || timed->timed < timed_min)
        return text;
    longer = format_string("%s; %.0f %% of %.0f loads timed came from memory", text,
                           100 * timed->from_memory / timed->timed, timed->timed);
    free(text);
    return longer;
}

char *pattern_reason(enum pattern pattern, const struct access_evidence *evidence)
{
    switch (pattern) {
    case PATTERN_PASSES:
        if (evidence_passes_unwatched(evidence))
            return copy_string("both loops go through whole lines in order, in turn; what is used "
                               "next was not watched");
        return format_string("whole lines in order; %.0f %% of %zu late reuses are in another loop",
                             100 * evidence->reused_elsewhere, evidence->late_reuses);
    case PATTERN_ACROSS_LINES:
        return evidence_comes_back_evenly(evidence) ? reason_of_distance(evidence)
                                                    : reason_of_steps(evidence);
    case PATTERN_TOO_LARGE:
        return reason_of_distance(evidence);
    case PATTERN_CROWDED_SETS:
        return reason_of_sets(evidence);
    case PATTERN_FEW_MEMBERS:
        return format_string("%" PRIu64 " bytes used of every %" PRIu64
                             ", and %.2f new lines per access",
                             evidence->element_used, evidence->element_bytes, evidence->visits);
    case PATTERN_LINKED:
        return with_source(
            evidence_is_of_nodes(evidence)
                ? reason_of_nodes(evidence)
                : reason_of_places(evidence, "each place read from the one before, anywhere in"),
            evidence);
    case PATTERN_INDEXED:
        return with_source(reason_of_indexes(evidence), evidence);
    case PATTERN_ANYWHERE:
        return with_source(reason_of_places(evidence, "in no order, anywhere in"), evidence);
    default:
        return copy_string("");
    }
}
