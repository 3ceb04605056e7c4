/* SPDX-License-Identifier: BSD-3-Clause */
/* The draws of the blocks to track. Signal-safe. */
#include "objects/block_choice.h"

#include "signal_safe.h"

/* xorshift64* (Vigna 2016): its upper bits are good. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* How many are chosen at a place before its next probability, by k. */
static const uint8_t enough[] = {16, 32, 64, 128, 16};

/* So far as what they have taken lies above their part; the first of each place are certain. */
static unsigned gradual_log2(const struct block_choice *choice, struct block_choice_place *place)
{
    if (choice->over_ns == 0 || (place->chosen < enough[0] && ++place->chosen < enough[0]))
        return 0;
    const uint64_t steps = choice->over_ns / BLOCK_CHOICE_STEP_NS;
    return steps < BLOCK_CHOICE_TRACKED_LOG2_MAX / 2 ? 2 + 2 * (unsigned)steps
                                                     : BLOCK_CHOICE_TRACKED_LOG2_MAX;
}

unsigned block_choice_take(struct block_choice *choice, struct block_choice_skips *skips,
                           unsigned number)
{
    struct block_choice_place *place = &choice->places[number];
    const unsigned tracked_log2 = place->tracked_log2;
    const bool dear = choice->dear;
    const unsigned most_log2 =
        dear ? BLOCK_CHOICE_TRACKED_LOG2_MAX : BLOCK_CHOICE_TRACKED_LOG2_CHEAP;
    unsigned next_log2 = tracked_log2;
    if (choice->gradual) {
        next_log2 = gradual_log2(choice, place);
    } else if (dear && tracked_log2 < BLOCK_CHOICE_TRACKED_LOG2_CHEAP) {
        next_log2 = BLOCK_CHOICE_TRACKED_LOG2_CHEAP;
        place->chosen = 0;
    } else if (tracked_log2 < most_log2 && ++place->chosen >= enough[tracked_log2 / 2]) {
        next_log2 = tracked_log2 + 2;
        place->chosen = 0;
    }
    /* The stratum's rest goes by first, then what comes before the one drawn of the next. */
    const unsigned stratum = 1u << next_log2;
    const unsigned drawn = (unsigned)(next_random(&choice->random_state) >> 32) & (stratum - 1);
    skips->of[number] = (int16_t)(place->rest + drawn);
    place->rest = (uint16_t)(stratum - 1 - drawn);
    place->tracked_log2 = (uint8_t)next_log2;
    return tracked_log2;
}

void block_choice_spent(struct block_choice *choice, uint64_t now_ns, uint64_t spent_ns)
{
    if (choice->began_ns == 0)
        choice->began_ns = now_ns - spent_ns;
    choice->spent_ns += spent_ns;
    const uint64_t allowed_ns =
        BLOCK_CHOICE_ADVANCE_NS + (now_ns - choice->began_ns) / BLOCK_CHOICE_ONE_IN;
    choice->over_ns = choice->spent_ns > allowed_ns ? choice->spent_ns - allowed_ns : 0;
    choice->dear = choice->over_ns > 0;
}
