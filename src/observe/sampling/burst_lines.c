/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/burst_lines.h"

#include <string.h>

#include "sampling/burst_internal.h"
#include "sampling/hash.h"
#include "sampling/line_mask.h"
#include "sampling/shared_use.h"

#include "signal_safe.h"

/*
 * What is known of a touch: of the first one of a line FIRST and how often the line is used, later
 * LISTED and its place if it is listed; of any other one the number of that first touch.
 */
enum { FIRST = 0x4000, LISTED = 0x8000 };
_Static_assert((int)BURST_TOUCHES < (int)FIRST, "numbers of touches and uses are below");

/* A line, told by its first touch. */
struct ranked {
    double rank;
    uint16_t touch, uses;
};

/* (0, 1] */
static double hash_of(uint64_t line, uint64_t window)
{
    uint64_t x = hash_mix(line + window * UINT64_C(0x9e3779b97f4a7c15));

    return ((double)x + 1) * 0x1p-64;
}

static void count_uses(const struct burst_touches *touches, uint16_t *of)
{
    for (uint32_t touch = 0; touch < touches->count; touch++) {
        uint16_t previous = touches->previous[touch];

        if (previous == BURST_TOUCH_NONE) {
            of[touch] = FIRST + 1;
        } else {
            of[touch] = of[previous] >= FIRST ? previous : of[previous];
            of[of[touch]]++;
        }
    }
}

/* The lines with the lowest ranks, ascending, one more than there is room for; how many. */
static unsigned choose(const struct burst_touches *touches, const uint16_t *of, uint64_t window,
                       struct ranked *best)
{
    unsigned count = 0;

    for (uint32_t touch = 0; touch < touches->count; touch++) {
        double rank;
        unsigned at;

        if (of[touch] < FIRST)
            continue;
        rank = hash_of(touches->line[touch], window) / (of[touch] - FIRST);
        if (count <= BURST_LINES_MAX)
            count++;
        else if (rank >= best[BURST_LINES_MAX].rank)
            continue;
        for (at = count - 1; at > 0 && best[at - 1].rank > rank; at--)
            best[at] = best[at - 1];
        best[at] = (struct ranked){rank, (uint16_t)touch, (uint16_t)(of[touch] - FIRST)};
    }
    return count;
}

/* The part of the access that lies in the line. */
static void add(struct record_shared_use *use, struct shared_use_visits *visits,
                const struct access *access, uint32_t index, uint32_t line_size)
{
    uint64_t from = access->address, end = from + access->width;
    uint8_t width;

    from = from > use->line ? from : use->line;
    end = end < use->line + line_size ? end : use->line + line_size;
    width = (uint8_t)(end - from);
    shared_use_add(use, visits, access, index, (uint16_t)(from - use->line), width,
                   line_mask(use->line, line_size, from, width));
}

void burst_lines_find(struct burst *burst, uint64_t now_ns, struct burst_lines *out)
{
    const struct burst_touches *touches = &burst->run;
    struct ranked best[BURST_LINES_MAX + 1];
    struct shared_use_visits visits[BURST_LINES_MAX];
    uint16_t *of = burst->table; /* not needed until the next burst */
    unsigned found;

    count_uses(touches, of);
    found = choose(touches, of, shared_use_window(now_ns), best);
    out->count = found < BURST_LINES_MAX ? found : BURST_LINES_MAX;
    out->next_rank = found > BURST_LINES_MAX ? best[BURST_LINES_MAX].rank : 2;
    memset(out->lines, 0, out->count * sizeof *out->lines);
    memset(visits, 0, sizeof visits);
    for (unsigned i = 0; i < out->count; i++) {
        of[best[i].touch] = (uint16_t)(LISTED + i);
        out->lines[i].rank = best[i].rank;
        out->lines[i].uses = best[i].uses;
        out->lines[i].use.line = touches->line[best[i].touch] * touches->line_size;
    }
    for (uint32_t touch = 0; touch < touches->count; touch++) {
        uint16_t listed = of[touch] >= FIRST ? of[touch] : of[of[touch]];
        uint32_t index = touches->access[touch];

        if (listed >= LISTED)
            add(&out->lines[listed - LISTED].use, &visits[listed - LISTED], &burst->accesses[index],
                index, touches->line_size);
    }
}
