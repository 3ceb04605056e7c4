/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "report/findings/findings.h"

/* It takes so many times the run to be sure where the expected share is one standard error above
 * what counts: in one case of six there is nothing. With more, nobody should change a program. */
static const double too_uncertain = 4;

bool finding_has_evidence(const struct finding *finding)
{
    return finding->weight == FINDING_CLEAR || (finding->waits_known && !finding->modelled);
}

bool finding_is_advised(const struct finding *finding, bool first)
{
    return finding_has_evidence(finding) ||
           (first && (finding->modelled || finding->longer <= too_uncertain));
}

size_t findings_first_of_accesses(const struct findings *findings)
{
    size_t i = 0;

    while (i < findings->items.count && findings->items.items[i].pattern == PATTERN_PAGE_FAULTS)
        i++;
    return i;
}

/*
 * What to rank a problem by. What is modelled has a lower and an upper bound that lie powers of ten
 * apart, for nobody saw how threads take turns, and nothing tells where in between it is: half-way,
 * on the scale on which it is not known. What may be nothing stands half-way down to its lower
 * bound: before what is certain only if it is likely twice as large.
 */
static double rank_of(const struct finding *finding)
{
    const double lo = fmax(0, finding->time.lo), value = finding->time.value;

    if (finding->modelled)
        return sqrt(lo * finding->time.hi);
    return finding->weight == FINDING_OPEN ? (lo + value) / 2 : value;
}

int finding_compare(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;

    if (finding_has_evidence(a) != finding_has_evidence(b))
        return finding_has_evidence(a) ? -1 : 1;
    if (rank_of(a) != rank_of(b))
        return rank_of(a) < rank_of(b) ? 1 : -1;
    return strcmp(a->reason, b->reason);
}
