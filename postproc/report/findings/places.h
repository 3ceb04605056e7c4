/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Evidence on locality: what the accesses of each line of source to each object do, for those that
 * may take much of the time. In exact profiles lines alone, whatever they touch.
 */
#ifndef REUSE_POSTPROC_PLACES_H
#define REUSE_POSTPROC_PLACES_H

#include "report/findings/access_costs.h"
#include "report/findings/burst_time.h"
#include "report/findings/finding.h"
#include "report/findings/verdict.h"
#include "report/model/model.h"

enum { PLACES_MAX = 24 };

struct access_place {
    uint32_t line, object; /* numbers in the model; object: GROUP_NONE when not known */
    double accesses;
    size_t lines; /* of little weight each, taken together; `line` is the first. 0: one line */
    bool growing; /* in containers that grow */
    struct access_evidence evidence;
    struct verdict verdict;     /* of those that may be worth a finding */
    struct code_line caller;    /* of a system library's code; function NULL: of other code */
    struct code_line reused_at; /* most late reuses; function NULL: not known */
};

struct access_places {
    ARRAY(struct access_place) items; /* most time first */
    struct estimate time;             /* of the CPU time, that all misses of the run may take */
};

/* grows: containers do, and what they do for it is to be told apart. contended: see
 * burst_time_shares(). The caller frees the items. */
void access_places_find(struct model *, const struct access_costs *, bool grows,
                        struct contended_bursts *contended, struct access_places *);

#endif
