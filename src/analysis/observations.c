/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From words to lines: what each sample tells of the hazard of its line (docs/estimators.md, "from
 * words to lines").
 */
#include "analysis/internal.h"

enum {
    WORD_BYTES = 8,
    /* A block this large came from the system and goes back to it (glibc's mmap threshold): its
     * lines are gone when it is freed. The allocator hands smaller blocks out again. */
    RETURNED_BYTES = 128 * 1024,
};

static bool same_line(const struct analysis *analysis, uint64_t a, uint64_t b)
{
    return (a ^ b) < analysis->line_size && a / analysis->line_size == b / analysis->line_size;
}

static uint32_t window_reuse(const struct analysis *analysis, const struct record_sample *record)
{
    return record->window_reuse[line_size_index(analysis->line_size)];
}

bool analysis_was_watched(const struct analysis *analysis, uint32_t sample)
{
    const struct record_sample *record = analysis->samples[sample].record;

    return window_reuse(analysis, record) == REUSE_TIME_NONE &&
           analysis->samples[sample].watched > 0;
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
    unsigned words = analysis->line_size / word_bytes(record);
    unsigned touched = touched_words(record);

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

static bool ended_by_death(const struct analysed_sample *sample)
{
    return sample->end && sample->end->reason == WATCH_FREED &&
           sample->record->object_size >= RETURNED_BYTES;
}

size_t analysis_observe(const struct analysis *analysis, uint32_t index,
                        struct survival_event events[OBSERVATION_EVENTS_MAX])
{
    const struct analysed_sample *sample = &analysis->samples[index];
    const struct record_sample *record = sample->record;
    uint32_t reuse = window_reuse(analysis, record);
    double start = record->window_accesses * sample->dilation;
    size_t n = 0;

    if (reuse != REUSE_TIME_NONE) {
        events[n++] = (struct survival_event){.time = reuse * sample->dilation,
                                              .sample = index,
                                              .multiplicity = 1,
                                              .observer = OBSERVER_WINDOW};
        return n;
    }
    events[n++] =
        (struct survival_event){.time = start, .sample = index, .observer = OBSERVER_WINDOW};
    if (sample->crossing > 0) {
        events[n++] = (struct survival_event){.time = sample->crossing_from,
                                              .sample = index,
                                              .observer = OBSERVER_CROSSING,
                                              .begins = 1,
                                              .design = sample->crossing_design};
        events[n++] = (struct survival_event){.time = sample->crossing,
                                              .sample = index,
                                              .observer = OBSERVER_CROSSING,
                                              .multiplicity = sample->crossing_visits,
                                              .design = sample->crossing_design};
    }
    if (!analysis_was_watched(analysis, index))
        return n;

    const struct record_watch_end *end = sample->end;
    /* In another group's cache nobody waits for the line: it was no reuse. */
    unsigned reason = end && !sample->elsewhere ? end->reason : WATCH_PROCESS_ENDED;
    unsigned others = other_words(analysis, record);
    bool tossed = coin_was_tossed(analysis, record);
    bool accessed = record->watch_mode == WATCH_ACCESSED;
    bool forever = ended_by_death(sample);
    struct survival_event begin = {.time = start, .sample = index, .begins = 1, .design = 1};
    struct survival_event finish = {.time = sample->watched, .sample = index, .design = 1};

    if (accessed) {
        begin.observer = finish.observer = OBSERVER_ACCESSED;
        begin.design = finish.design = tossed ? 2 : 1;
        finish.multiplicity = reason == WATCH_REUSED && ends_visit(end->flags, end->words_after);
        events[n++] = begin;
        if (!forever)
            events[n++] = finish;
    }
    /* A line without other words has no such hazard: it is at risk of it and never ends by it. */
    bool sees_other = accessed ? !tossed && others == 0
                               : same_line(analysis, record->watch_address, record->address);
    if (sees_other) {
        begin.observer = finish.observer = OBSERVER_OTHER;
        begin.design = finish.design = tossed ? 2 : 1;
        finish.multiplicity = 0;
        if (!accessed && reason == WATCH_REUSED && ends_other_visit(analysis, end))
            finish.multiplicity = (float)others / (float)touched_words(record);
        events[n++] = begin;
        if (!forever)
            events[n++] = finish;
    }
    if (record->invalidation_address && sample->covered > 0 &&
        same_line(analysis, record->invalidation_address, record->address)) {
        begin.observer = finish.observer = OBSERVER_INVALIDATION;
        /* Armed with the access itself: other threads do not wait for the window to end. */
        begin.design = finish.design = 1;
        begin.time = 0;
        finish.multiplicity = 0;
        finish.time = sample->covered;
        finish.trapped = sample->invalidation != NULL;
        if (finish.trapped &&
            ends_visit(sample->invalidation->flags, sample->invalidation->words_after))
            finish.multiplicity =
                (float)(analysis->line_size / WORD_BYTES) / (float)touched_words(record);
        events[n++] = begin;
        if (!forever || finish.trapped)
            events[n++] = finish;
    }
    return n;
}
