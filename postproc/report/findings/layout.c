/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/layout.h"

#include <stdlib.h>

/* Places in fewer numbers may have a multiple of the element's size in common by chance. */
enum { PLACES_MIN = 8, INSTRUCTIONS_MAX = 64 };

struct used_place {
    uint64_t ip, first;
    unsigned width;
};

struct layout {
    struct used_place used[INSTRUCTIONS_MAX]; /* one per instruction */
    size_t count, distances;
    uint64_t divisor;
};

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Instructions of other elements are compared with their own first places only. */
static void note_place(struct layout *layout, const struct analysed_probe *probe)
{
    size_t at = 0;
    uint64_t distance;

    while (at < layout->count && layout->used[at].ip != probe->ip)
        at++;
    if (at == layout->count) {
        if (at < INSTRUCTIONS_MAX)
            layout->used[layout->count++] =
                (struct used_place){probe->ip, probe->place, probe->width};
        return;
    }
    distance = probe->place > layout->used[at].first ? probe->place - layout->used[at].first
                                                     : layout->used[at].first - probe->place;
    if (distance == 0)
        return;
    layout->divisor = common_divisor(distance, layout->divisor);
    layout->distances++;
}

/* Bytes of an element that any of the instructions uses. */
static uint64_t used_bytes(const struct layout *layout)
{
    uint64_t used = 0;

    for (size_t i = 0; i < layout->count; i++) {
        uint64_t place = layout->used[i].first % layout->divisor;
        bool known = false;

        for (size_t k = 0; k < i; k++)
            known |= layout->used[k].first % layout->divisor == place;
        used += known ? 0 : layout->used[i].width;
    }
    return used;
}

void layout_of_accesses(const struct model *model, struct subset subset, uint32_t run,
                        struct access_evidence *evidence)
{
    struct layout layout = {.count = 0};

    for (size_t k = 0; k < subset.member_count; k++)
        if (run == LAYOUT_AS_OBSERVED ||
            analysis_resampled_draws(model->analysis, run, subset.members[k]) > 0)
            note_place(&layout, analysis_probe(model->analysis, subset.members[k], NULL));
    evidence->element_bytes = evidence->element_used = 0;
    if (layout.distances < PLACES_MIN || layout.divisor == 0)
        return;
    evidence->element_bytes = layout.divisor;
    evidence->element_used = used_bytes(&layout);
}
