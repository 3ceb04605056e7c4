/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/burst_lines.h"

#include <string.h>

#include "sampling/burst_internal.h"
#include "sampling/line_mask.h"
#include "sampling/shared_use.h"

#include "signal_safe.h"

/* A line, told by its first touch. */
struct ranked {
    double rank;
    uint16_t touch, uses;
};

/* (0, 1] */
static double hash_of(uint64_t line, uint64_t window)
{
    /* The finaliser of MurmurHash3. */
    uint64_t x = line + window * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return ((double)(x ^ x >> 33) + 1) * 0x1p-64;
}

static bool is_first(const struct burst_touches *touches, uint32_t touch)
{
    return touches->previous[touch] == BURST_TOUCH_NONE;
}

/* of[touch]: how often its line is used, if it is the first touch of it; else that touch. */
static void count_uses(const struct burst_touches *touches, uint16_t *of)
{
    for (uint32_t touch = 0; touch < touches->count; touch++) {
        uint16_t previous = touches->previous[touch];

        if (previous == BURST_TOUCH_NONE) {
            of[touch] = 1;
        } else {
            of[touch] = is_first(touches, previous) ? previous : of[previous];
            of[of[touch]]++;
        }
    }
}

/* The lines with the lowest ranks, ascending, one more than there is room for; how many. */
static unsigned choose(const struct burst_touches *touches, const uint16_t *uses, uint64_t window,
                       struct ranked *best)
{
    unsigned count = 0;

    for (uint32_t touch = 0; touch < touches->count; touch++) {
        double rank;
        unsigned at;

        if (!is_first(touches, touch))
            continue;
        rank = hash_of(touches->line[touch], window) / uses[touch];
        if (count <= BURST_LINES_MAX)
            count++;
        else if (rank >= best[BURST_LINES_MAX].rank)
            continue;
        for (at = count - 1; at > 0 && best[at - 1].rank > rank; at--)
            best[at] = best[at - 1];
        best[at] = (struct ranked){rank, (uint16_t)touch, uses[touch]};
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
    /* From here on, of[first touch] is the place of its line in the list + 1; 0: not listed. */
    for (uint32_t touch = 0; touch < touches->count; touch++)
        if (is_first(touches, touch))
            of[touch] = 0;
    memset(out->lines, 0, out->count * sizeof *out->lines);
    memset(visits, 0, sizeof visits);
    for (unsigned i = 0; i < out->count; i++) {
        of[best[i].touch] = (uint16_t)(i + 1);
        out->lines[i].rank = best[i].rank;
        out->lines[i].uses = best[i].uses;
        out->lines[i].use.line = touches->line[best[i].touch] * touches->line_size;
    }
    for (uint32_t touch = 0; touch < touches->count; touch++) {
        uint16_t place = of[is_first(touches, touch) ? touch : of[touch]];
        uint32_t index = touches->access[touch];

        if (place > 0)
            add(&out->lines[place - 1].use, &visits[place - 1], &burst->accesses[index], index,
                touches->line_size);
    }
}
