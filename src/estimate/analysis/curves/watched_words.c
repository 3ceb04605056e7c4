/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From words to lines: what each watch tells of the hazard of its line (docs/estimators.md, "from
 * words to lines").
 */
#include <math.h>

#include "analysis/internal.h"

enum { WORD_BYTES = 8 };

static bool same_line(const struct analysis *analysis, uint64_t a, uint64_t b)
{
    return a / analysis->line_size == b / analysis->line_size;
}

/* Words that one access touches. The sampled one stands for those that visit the line later: a
 * watch on one of several words that are touched at once counts for its part. */
static unsigned touched_words(const struct record_sample *record)
{
    return record->words_accessed ? record->words_accessed : 1;
}

/* Bytes that a register watches: a word, here and in words_accessed. */
static unsigned word_bytes(const struct record_sample *record)
{
    return record->watch_length ? record->watch_length : WORD_BYTES;
}

/* Words of the analysed line that the access did not touch; 0 when it covered the line. */
static unsigned other_words(const struct analysis *analysis, const struct record_sample *record)
{
    unsigned words = analysis->line_size / word_bytes(record), touched = touched_words(record);

    return touched < words ? words - touched : 0;
}

/* The same in the run's line: there the coin was tossed only if there were any. */
static bool coin_was_tossed(const struct analysis *analysis, const struct record_sample *record)
{
    return record->words_accessed * word_bytes(record) < analysis->run_line_size;
}

/*
 * Does a trap on a watched word count? Every visit to the line ends in one place: whoever watches
 * that word counts the visit, so that none counts twice. Without knowledge of the visit words are
 * taken as independent.
 */
static bool ends_visit(unsigned flags, unsigned words_after)
{
    return !(flags & WATCH_END_VISIT_KNOWN) || words_after == 0 ||
           flags & WATCH_END_VISIT_ENDS_HERE;
}

/* Where traps on accessed words did not look ahead, they count all visits that touch their word,
 * and traps on other words leave to them what they know of those. */
static bool ends_other_visit(const struct analysis *analysis, const struct record_watch_end *end)
{
    return ends_visit(end->flags, end->words_after) &&
           (analysis->accessed_visits_known || !(end->flags & WATCH_END_VISIT_TOUCHES_ACCESSED));
}

static enum open_end end_of(const struct analysed_watch *watch)
{
    const struct record_watch_end *end = watch->end;

    /* Cut short by a kill, the run ended for the line as well. */
    if (!end)
        return OPEN_NEVER;
    switch (end->reason) {
    case WATCH_REUSED:
        /* In another group's cache nobody waits for the line: it was no reuse here. */
        return watch->elsewhere ? OPEN_CENSORED : OPEN_USED;
    case WATCH_THREAD_ENDED:
    case WATCH_PROCESS_ENDED:
        return OPEN_NEVER;
    case WATCH_FREED:
        /* Of a smaller one before version 3.2. */
        return watch->record->object_size >= RETURNED_BLOCK_BYTES ? OPEN_NEVER : OPEN_CENSORED;
    default:
        return OPEN_CENSORED;
    }
}

/* Accesses from the sampled one to the next use of its line; REUSE_TIME_NONE: not seen. */
static uint32_t pursued_use(const struct analysis *analysis, const struct analysed_watch *watch)
{
    return watch->end->used[analysis->size_index];
}

double analysis_pursued_accesses(const struct analysis *analysis,
                                 const struct analysed_watch *watch)
{
    uint32_t use;

    if (!watch->end)
        return -1;
    use = pursued_use(analysis, watch);
    return use != REUSE_TIME_NONE ? use : watch->end->pursued;
}

/* It saw the whole line. */
static void observe_pursuit(const struct analysis *analysis, struct analysed_watch *watch)
{
    bool used = pursued_use(analysis, watch) != REUSE_TIME_NONE && !watch->elsewhere;

    watch->open.end = used ? OPEN_USED : OPEN_CENSORED;
    watch->open.accessed = true;
    watch->open.whole = true;
    watch->open.design = 1;
    watch->open.multiplicity = used;
}

bool analysis_observe(const struct analysis *analysis, struct analysed_watch *watch)
{
    const struct record_sample *record = watch->record;
    unsigned others = other_words(analysis, record);
    bool tossed = coin_was_tossed(analysis, record);
    struct open_watch *open = &watch->open;

    if (record->watch_mode == WATCH_PURSUED) {
        observe_pursuit(analysis, watch);
        return true;
    }
    open->end = (uint8_t)end_of(watch);
    open->accessed = record->watch_mode == WATCH_ACCESSED;
    open->whole = open->accessed && !tossed && others == 0;
    open->design = tossed ? 2 : 1;
    open->multiplicity = 0;
    if (!open->accessed && !same_line(analysis, record->watch_address, record->address))
        return false;
    if (open->end != OPEN_USED)
        return true;
    if (open->accessed)
        open->multiplicity = ends_visit(watch->end->flags, watch->end->words_after);
    else if (ends_other_visit(analysis, watch->end))
        open->multiplicity = (float)others / (float)touched_words(record);
    return true;
}

double analysis_invalidation_visits(const struct analysis *analysis,
                                    const struct analysed_watch *watch)
{
    const struct record_sample *record = watch->record;

    if (!watch->invalidation ||
        !ends_visit(watch->invalidation->flags, watch->invalidation->words_after))
        return 0;
    return (double)analysis->line_size / WORD_BYTES / touched_words(record);
}
