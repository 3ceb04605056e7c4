/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops that go through one object in turn, where no register was there to watch what uses it next.
 */
#include <math.h>
#include <stdlib.h>

#include "report/findings/places_internal.h"

/* A loop that makes less than this part of the accesses does not go through all of the object. */
static const double whole_pass = 0.25;

/* Bursts of two loops that run in turn follow each other in no order; with less than this part of
 * the changes that this makes, one of the loops has the first part of the run, and the other one
 * the rest. */
static const double in_turn = 0.5;

enum { BURSTS_MIN = 3 }; /* of each loop, so that their order says something */

struct seen_burst {
    uint64_t time; /* ns */
    bool other;
};

static int by_time(const void *left, const void *right)
{
    const struct seen_burst *a = left, *b = right;

    return (a->time > b->time) - (a->time < b->time);
}

/* Adds the subset's bursts, each once; returns how many. */
static size_t add_bursts(const struct model *model, struct subset subset, bool other,
                         struct seen_burst *bursts)
{
    const struct record_burst *last = NULL;
    size_t count = 0;

    for (size_t i = 0; i < subset.member_count; i++) {
        const struct record_burst *burst = analysis_probe_burst(model->analysis, subset.members[i]);

        if (burst != last)
            bursts[count++] = (struct seen_burst){burst->monotonic_ns, other};
        last = burst;
    }
    return count;
}

static bool take_turns(const struct model *model, struct subset one, struct subset other)
{
    struct seen_burst *bursts =
        allocate_zeroed(one.member_count + other.member_count + 1, sizeof(*bursts));
    size_t a = add_bursts(model, one, false, bursts);
    size_t b = add_bursts(model, other, true, bursts + a), changes = 0;
    double expected = a + b > 0 ? 2 * (double)a * (double)b / (double)(a + b) : 0;

    qsort(bursts, a + b, sizeof(*bursts), by_time);
    for (size_t i = 1; i < a + b; i++)
        changes += bursts[i].other != bursts[i - 1].other;
    free(bursts);
    return a >= BURSTS_MIN && b >= BURSTS_MIN && (double)changes >= in_turn * expected;
}

uint32_t places_find_pass(struct search *search, uint32_t group)
{
    const struct candidate *own = &search->candidates.items[group];
    uint32_t best = GROUP_NONE;
    double most = whole_pass * own->accesses;

    if (own->object == GROUP_NONE || !places_is_in_order(search, group))
        return GROUP_NONE;
    for (uint32_t g = 0; g < search->candidates.count; g++) {
        const struct candidate *other = &search->candidates.items[g];

        if (other->object != own->object || !(other->accesses > most) ||
            !places_is_in_other_loop(search, group, other->line) ||
            !places_is_in_order(search, g) ||
            !take_turns(search->model, grouping_subset(&search->all, group),
                        grouping_subset(&search->all, g)))
            continue;
        most = other->accesses;
        best = other->line;
    }
    return best;
}
