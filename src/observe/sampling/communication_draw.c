/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/communication_draw.h"

#include <stdbool.h>
#include <string.h>

#include "sampling/line_mask.h"
#include "sampling/line_visit.h"
#include "sampling/line_watch.h"
#include "sampling/watch_design.h"

#include "signal_safe.h"

/* Lines, and words, that are remembered while the burst is gone through, by hash. One that takes
 * the place of another makes a store look like the last, or the first: then it is listed, and seen
 * not to be. */
enum { LINES = 256, WORDS = 512 };

/* Last to their lines for a while, whatever was stored to their words before. */
static void find_last(const struct access *accesses, uint32_t n, uint32_t count, uint32_t line_size,
                      struct store_list *out)
{
    struct {
        uint64_t line;
        uint32_t index;
    } next[LINES];
    uint32_t room = STORE_LIST_MAX;

    for (uint32_t i = 0; i < LINES; i++)
        next[i].line = UINT64_MAX;
    for (uint32_t i = count; i-- > 0;) {
        uint64_t line;
        uint32_t place;
        bool again;

        if (!(accesses[i].kind & ACCESS_STORE))
            continue;
        line = line_start(accesses[i].address, line_size);
        place = line / line_size % LINES;
        again = next[place].line == line && next[place].index - i <= OWN_VISIT_ACCESSES;
        next[place].line = line;
        next[place].index = i;
        if (i < n && !again && accesses[i].kind == ACCESS_STORE && room > 0)
            out->index[--room] = (uint16_t)i;
    }
    out->count = STORE_LIST_MAX - room;
    memmove(out->index, out->index + room, out->count * sizeof out->index[0]);
}

/* Leaves out those to whose word the accesses before store too often. */
static void leave_repeated_out(const struct access *accesses, struct store_list *list)
{
    struct {
        uint64_t word;
        uint32_t stores;
    } before[WORDS];
    uint32_t kept = 0, i = 0;

    for (uint32_t place = 0; place < WORDS; place++)
        before[place].word = UINT64_MAX;
    for (uint32_t k = 0; k < list->count; i++) {
        uint64_t word;
        uint32_t place;

        if (!(accesses[i].kind & ACCESS_STORE))
            continue;
        word = accesses[i].address / WATCH_WORD;
        place = word % WORDS;
        if (before[place].word != word) {
            before[place].word = word;
            before[place].stores = 0;
        }
        if (i == list->index[k]) {
            k++;
            if (before[place].stores <= LINE_WATCH_AHEAD_MAX)
                list->index[kept++] = (uint16_t)i;
        }
        before[place].stores++;
    }
    list->count = kept;
}

void last_stores_find(const struct access *accesses, uint32_t n, uint32_t count, uint32_t line_size,
                      struct store_list *out)
{
    find_last(accesses, n, count, line_size, out);
    leave_repeated_out(accesses, out);
}

void store_list_common(const struct store_list *x, const struct store_list *y,
                       struct store_list *out)
{
    uint32_t i = 0, k = 0;

    out->count = 0;
    while (i < x->count && k < y->count) {
        uint16_t a = x->index[i], b = y->index[k];

        if (a == b)
            out->index[out->count++] = a;
        i += a <= b;
        k += b <= a;
    }
}

static bool is_among(const struct store_list *stores, uint32_t index)
{
    for (uint32_t i = 0; i < stores->count; i++)
        if (stores->index[i] == index)
            return true;
    return false;
}

uint32_t communication_draw(const struct store_list *lists, unsigned list_count, uint32_t n,
                            uint32_t uniform, struct random *random, double *factor)
{
    uint32_t index = uniform;
    double listed = 0; /* n times the probability that a list, drawn at random, gives it */
    unsigned full = 0, drawn;

    *factor = 1;
    for (unsigned i = 0; i < list_count; i++)
        full += lists[i].count > 0;
    if (full == 0)
        return index;
    if (random_next(random) >> 63) {
        drawn = random_below(random, full) + 1;
        for (unsigned i = 0; drawn > 0; i++)
            if (lists[i].count > 0 && --drawn == 0)
                index = lists[i].index[random_below(random, lists[i].count)];
    }
    for (unsigned i = 0; i < list_count; i++)
        if (is_among(&lists[i], index))
            listed += (double)n / lists[i].count / full;
    *factor = 2 / (1 + listed);
    return index;
}
