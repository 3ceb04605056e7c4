/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/branch_predictor.h"

#include "signal_safe.h"

/* Bits of history of each table. Twice, three quarters and half as long, and with tables four times
 * as large, 48 programs come out alike. */
static const unsigned branch_history[PREDICTOR_TABLES] = {8, 16, 32, 60};
static const unsigned target_history[PREDICTOR_TABLES] = {0, 8, 24, 60};

enum { NONE = -1, TARGET_BITS = 3, SUREST = 3 };

static uint64_t mixed(uint64_t value)
{
    value ^= value >> 29;
    value *= UINT64_C(0xc4ceb9fe1a85ec53);
    return value ^ value >> 32;
}

/* Of a branch after the last so many bits of history. */
static uint64_t hash_of(const struct branch_predictor *predictor, uint64_t ip, unsigned bits)
{
    uint64_t last = predictor->history & ((UINT64_C(1) << bits) - 1);

    return mixed(last * UINT64_C(0x9e3779b97f4a7c15) ^ ip * UINT64_C(0xff51afd7ed558ccd));
}

/* ---- directions ---- */

static bool foresees(uint8_t counter)
{
    return counter > 2;
}

static void learn(uint8_t *counter, bool taken)
{
    if (*counter == 0)
        *counter = taken ? 3 : 2;
    else if (taken && *counter < 4)
        ++*counter;
    else if (!taken && *counter > 1)
        --*counter;
}

bool predictor_branch(struct branch_predictor *predictor, uint64_t ip, bool taken)
{
    uint8_t *alone = &predictor->alone[mixed(ip) % PREDICTOR_ALONE];
    uint32_t entry[PREDICTOR_TABLES];
    uint8_t tag[PREDICTOR_TABLES];
    int longest = NONE;
    uint8_t *counter;
    bool wrong;

    for (int k = 0; k < PREDICTOR_TABLES; k++) {
        uint64_t hash = hash_of(predictor, ip, branch_history[k]);

        entry[k] = hash % PREDICTOR_ENTRIES;
        tag[k] = (uint8_t)(hash >> 16 | 1);
        if (predictor->tag[k][entry[k]] == tag[k])
            longest = k;
    }
    counter = longest == NONE ? alone : &predictor->after[longest][entry[longest]];
    wrong = *counter != 0 && foresees(*counter) != taken;
    learn(counter, taken);
    if (wrong && longest + 1 < PREDICTOR_TABLES) {
        int next = longest + 1;

        predictor->tag[next][entry[next]] = tag[next];
        predictor->after[next][entry[next]] = 0;
        learn(&predictor->after[next][entry[next]], taken);
    }
    predictor->history = predictor->history << 1 | taken;
    return wrong;
}

/* ---- targets ---- */

/* One that has been right stays for as many times that it is wrong. */
static void learn_target(uint32_t *known, uint8_t *sure, uint32_t target)
{
    if (*known == target)
        *sure += *sure < SUREST;
    else if (*sure > 0)
        --*sure;
    else
        *known = target;
}

bool predictor_jump(struct branch_predictor *predictor, uint64_t ip, uint64_t target)
{
    uint32_t entry[PREDICTOR_TABLES];
    uint16_t tag[PREDICTOR_TABLES];
    int longest = NONE, next;
    bool wrong = false;

    for (int k = 0; k < PREDICTOR_TABLES; k++) {
        uint64_t hash = hash_of(predictor, ip, target_history[k]);

        entry[k] = hash % PREDICTOR_TARGETS;
        tag[k] = (uint16_t)(hash >> 16 | 1);
        if (predictor->target_tag[k][entry[k]] == tag[k])
            longest = k;
    }
    next = longest + 1;
    if (longest != NONE) {
        uint32_t *known = &predictor->target[longest][entry[longest]];

        wrong = *known != (uint32_t)target;
        learn_target(known, &predictor->target_sure[longest][entry[longest]], (uint32_t)target);
    }
    if ((longest == NONE || wrong) && next < PREDICTOR_TABLES) {
        predictor->target_tag[next][entry[next]] = tag[next];
        predictor->target[next][entry[next]] = (uint32_t)target;
        predictor->target_sure[next][entry[next]] = 0;
    }
    predictor->history =
        predictor->history << TARGET_BITS ^ (mixed(target) & ((1u << TARGET_BITS) - 1));
    return wrong;
}
