/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/layout.h"

#include <stdlib.h>

#include "support/intern_table.h"
#include "support/memory.h"

/* Places in fewer numbers may have a multiple of the element's size in common by chance. */
enum {
    PLACES_MIN = 8,
    INSTRUCTIONS_MAX = 64,
    UNROLLED_MAX = 16,
    STRUCTURE_BYTES = 512, /* steps of as many are from row to row, more likely */
};

/* A place, by the number of its instruction. */
struct element_place {
    uint64_t place;
    uint32_t burst, instruction;
};

struct element_places {
    const struct model *model;
    struct element_place *items;
    uint8_t *widths; /* of each item */
    size_t count, instructions;
};

struct used_place {
    uint64_t first;
    unsigned width;
};

struct layout {
    struct used_place used[INSTRUCTIONS_MAX]; /* one per instruction */
    size_t count, distances;
    uint64_t divisor;
    uint8_t *number; /* by instruction: of its entry in `used`, and one more; 0: none yet */
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
static void note_place(struct layout *layout, const struct element_places *places, size_t item)
{
    const struct element_place *place = &places->items[item];
    uint8_t number = layout->number[place->instruction];
    uint64_t first, distance;

    if (number == 0) {
        if (layout->count < INSTRUCTIONS_MAX) {
            layout->used[layout->count++] = (struct used_place){place->place, places->widths[item]};
            layout->number[place->instruction] = (uint8_t)layout->count;
        }
        return;
    }
    first = layout->used[number - 1].first;
    distance = place->place > first ? place->place - first : first - place->place;
    if (distance == 0)
        return;
    layout->divisor = common_divisor(distance, layout->divisor);
    layout->distances++;
}

/* Bytes that are used at a place of the element; 0: it is not. Of several instructions the first
 * one's count. */
static unsigned width_at(const struct layout *layout, uint64_t place)
{
    for (size_t i = 0; i < layout->count; i++)
        if (layout->used[i].first % layout->divisor == place)
            return layout->used[i].width;
    return 0;
}

/* A turn of an unrolled loop goes over several elements, at the same places of each. */
static uint64_t unrolled_bytes(const struct layout *layout)
{
    for (uint64_t turns = UNROLLED_MAX; turns > 1; turns--) {
        bool same = layout->divisor % turns == 0;

        for (size_t i = 0; i < layout->count && same; i++) {
            uint64_t place = layout->used[i].first % layout->divisor;
            uint64_t next = (place + layout->divisor / turns) % layout->divisor;

            same = width_at(layout, place) == width_at(layout, next);
        }
        if (same)
            return layout->divisor / turns;
    }
    return layout->divisor;
}

/* Bytes of an element that any of the instructions uses; all, if there are too many to note. */
static uint64_t used_bytes(const struct layout *layout)
{
    uint64_t used = 0;

    if (layout->count == INSTRUCTIONS_MAX)
        return layout->divisor;

    for (size_t i = 0; i < layout->count; i++) {
        uint64_t place = layout->used[i].first % layout->divisor;
        bool known = false;

        for (size_t k = 0; k < i; k++)
            known |= layout->used[k].first % layout->divisor == place;
        used += known ? 0 : layout->used[i].width;
    }
    return used;
}

struct element_places *element_places_of(const struct model *model, struct subset subset)
{
    struct element_places *places = allocate_zeroed(1, sizeof(*places));
    struct intern_table *instructions = intern_table_create();

    places->model = model;
    places->count = subset.member_count;
    places->items = allocate(places->count + 1, sizeof(*places->items));
    places->widths = allocate(places->count + 1, sizeof(*places->widths));
    for (size_t k = 0; k < subset.member_count; k++) {
        const struct analysed_probe *probe =
            analysis_probe(model->analysis, subset.members[k], NULL);

        places->items[k] = (struct element_place){
            .place = probe->place,
            .burst = probe->burst,
            .instruction = intern_table_insert(instructions, &probe->ip, sizeof(probe->ip))};
        places->widths[k] = probe->width;
    }
    places->instructions = intern_table_count(instructions);
    intern_table_free(instructions);
    return places;
}

void element_places_free(struct element_places *places)
{
    free(places->items);
    free(places->widths);
    free(places);
}

/* More places say nothing new: the elements are as small as can be. */
static bool is_settled(const struct layout *layout)
{
    return layout->divisor == 1 && layout->distances >= PLACES_MIN;
}

/* Steps of one length are distances too, and say it by themselves: in a matrix with rows as short
 * as that, the places of other columns make the divisor small. */
static bool add_steps(struct layout *layout, const struct access_evidence *evidence)
{
    uint64_t step = (uint64_t)evidence->stride_bytes;

    if (!evidence_steps_evenly(evidence) || step == 0 || step >= STRUCTURE_BYTES)
        return false;
    layout->divisor = common_divisor(step, layout->divisor);
    return true;
}

void layout_of_accesses(const struct element_places *places, uint32_t run,
                        struct access_evidence *evidence)
{
    struct layout layout = {.number = allocate_zeroed(places->instructions + 1, 1)};
    uint32_t last = GROUP_NONE;
    bool drawn = true;

    for (size_t k = 0; k < places->count && !is_settled(&layout); k++) {
        if (places->items[k].burst != last)
            drawn =
                analysis_resampled_draws(places->model->analysis, run, places->items[k].burst) > 0;
        last = places->items[k].burst;
        if (drawn)
            note_place(&layout, places, k);
    }
    free(layout.number);
    evidence->element_bytes = evidence->element_used = 0;
    if ((!add_steps(&layout, evidence) && layout.distances < PLACES_MIN) || layout.divisor == 0)
        return;
    layout.divisor = unrolled_bytes(&layout);
    evidence->element_bytes = layout.divisor;
    evidence->element_used = used_bytes(&layout);
}
