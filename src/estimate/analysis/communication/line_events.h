/* SPDX-License-Identifier: BSD-3-Clause */
/* What was seen at lines that all threads were watched on, by watch and time. */
#ifndef REUSE_ANALYSIS_LINE_EVENTS_H
#define REUSE_ANALYSIS_LINE_EVENTS_H

#include "analysis/internal.h"

struct line_event_place {
    uint32_t profile;
    const struct record_line_event *event;
};

struct line_events {
    /* By profile and sample; the one that opens a segment first, then by time. */
    struct line_event_place *items;
    size_t count;
};

void line_events_create(const struct analysis *, struct line_events *);
void line_events_free(struct line_events *);

/* The n events of a sample's watch, in that order. */
const struct line_event_place *line_events_of(const struct line_events *, uint32_t profile,
                                              uint64_t sample_id, size_t *n);

/*
 * How many arrivals this one stands for. A visit counts once, whatever it touches: a read of
 * several words by the last of them, one that stores (read false) by the last word that it stores
 * to; at the sampled word with certainty, elsewhere by chance (docs/estimators.md section 3 has the
 * reasons). Where visits were not followed, each touched word is taken for a visit of its own.
 */
double line_event_visits(const struct record_line_watch *, const struct record_line_event *,
                         uint32_t line_size, bool read);

#endif
