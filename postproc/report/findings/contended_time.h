/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What threads wait for lines that others write to, from what their loops wait: the time that a
 * loop takes, as measured, less what its code needs and what its misses take. How often a line
 * moves is known to powers of ten where nobody saw how threads take turns; how long their loops
 * take is measured.
 */
#ifndef REUSE_POSTPROC_CONTENDED_TIME_H
#define REUSE_POSTPROC_CONTENDED_TIME_H

#include "report/findings/burst_time.h"
#include "report/model/communication_view.h"
#include "report/sharing/sharing_cost.h"

typedef ARRAY(struct line_user_place) line_user_places;

/* Adds the two ends of a flow whose line is known. */
void contended_places_add(line_user_places *, const struct flow *);

/*
 * The bursts in loops at lines that move between threads in the program's code; `fought` is NULL
 * where such transfers take less than `least` of the CPU time at most, or nothing is known. To be
 * filled in by burst_time_shares() and freed by contended_bursts_free().
 */
void contended_bursts_find(struct model *, double cpu_ns, double least, struct contended_bursts *);
void contended_bursts_free(struct contended_bursts *);

/*
 * Share of the CPU time that loops at these places wait beyond their code and their misses. False:
 * less than half of their time is in loops of known rate and pace. Reorders the places.
 */
bool contended_time_at(const struct model *, const struct contended_bursts *, line_user_places *,
                       struct estimate *);

#endif
