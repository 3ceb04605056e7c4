/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/turn.h"

#include <string.h>

#include "signal_safe.h"

enum {
    /* Returning from a system call or a signal, before the loop goes on. */
    BEFORE_MAX = 16,
    /* Accesses in a row, and looks at the state, from which a thread counts as waiting again. */
    WAITS_MIN = 8,
    LOOKS_MIN = 3,
    /* A thread polls if it reads a place so often in so many accesses. */
    POLL_ACCESSES = 64,
    POLL_REPEATS = 8,
};

void wait_loop_add(struct wait_loop *loop, uint64_t ip)
{
    if (loop->count > WAIT_LOOP_IPS || wait_loop_has(loop, ip))
        return;
    if (loop->count < WAIT_LOOP_IPS)
        loop->ips[loop->count] = ip;
    loop->count++;
}

bool wait_loop_has(const struct wait_loop *loop, uint64_t ip)
{
    for (unsigned i = 0; i < loop->count && i < WAIT_LOOP_IPS; i++)
        if (loop->ips[i] == ip)
            return true;
    return false;
}

bool wait_loop_is_known(const struct wait_loop *loop)
{
    return loop->count > 0 && loop->count <= WAIT_LOOP_IPS;
}

static bool is_repeated(const struct access *load, const struct access *access)
{
    return access->kind == ACCESS_LOAD && access->ip == load->ip &&
           access->address == load->address;
}

static bool stores_to(const struct access *store, const struct access *load)
{
    return store->kind == ACCESS_STORE && store->address < load->address + load->width &&
           load->address < store->address + store->width;
}

bool polling_feed(struct polling *polling, const struct access *load, const struct access *accesses,
                  size_t n)
{
    for (size_t i = 0; i < n && polling->looked < POLL_ACCESSES; i++) {
        polling->looked++;
        wait_loop_add(&polling->loop, accesses[i].ip);
        if (stores_to(&accesses[i], load)) {
            polling->stored = true;
        } else if (is_repeated(load, &accesses[i])) {
            polling->repeats += !polling->stored;
            polling->stored = false;
        }
    }
    return polling->looked >= POLL_ACCESSES;
}

bool polling_is_seen(const struct polling *polling)
{
    return polling->repeats >= POLL_REPEATS;
}

void turn_begin(struct turn *turn, const struct wait_loop *loops, size_t count)
{
    *turn = (struct turn){.loops = loops, .loop_count = count};
}

static void seek(struct turn *turn, const struct access *access)
{
    for (size_t i = 0; i < turn->loop_count; i++) {
        if (wait_loop_is_known(&turn->loops[i]) && wait_loop_has(&turn->loops[i], access->ip)) {
            turn->loop = &turn->loops[i];
            turn->phase = TURN_WAITED;
            return;
        }
    }
    if (access->kind == ACCESS_STORE || ++turn->before > BEFORE_MAX)
        turn->phase = TURN_NONE;
}

static void run(struct turn *turn, const struct access *access)
{
    bool store = access->kind == ACCESS_STORE;

    turn->accesses++;
    turn->stores += store;
    if (!wait_loop_has(turn->loop, access->ip)) {
        turn->waits = turn->stores_there = turn->looks = 0;
        return;
    }
    turn->waits++;
    turn->stores_there += store;
}

enum turn_phase turn_feed(struct turn *turn, const struct access *access)
{
    if (turn->phase == TURN_SOUGHT)
        seek(turn, access);
    else if (turn->phase == TURN_WAITED && !wait_loop_has(turn->loop, access->ip))
        turn->phase = TURN_RUNNING;
    if (turn->phase == TURN_RUNNING)
        run(turn, access);
    return turn->phase;
}

bool turn_wants_state(const struct turn *turn)
{
    return (turn->phase == TURN_WAITED && turn->first.known == 0) ||
           (turn->phase == TURN_RUNNING && turn->waits > 0);
}

void turn_state(struct turn *turn, const struct turn_state *state)
{
    if (turn->phase == TURN_WAITED) {
        turn->first = *state;
        return;
    }
    if (turn->looks++ == 0) {
        turn->last = *state;
    } else {
        for (unsigned i = 0; i < TURN_PLACES; i++)
            if (turn->last.values[i] != state->values[i] || !(state->known >> i & 1))
                turn->last.known &= ~(UINT64_C(1) << i);
    }
    if (turn->waits < WAITS_MIN || turn->looks < LOOKS_MIN)
        return;
    turn->phase = TURN_OVER;
    turn->accesses -= turn->waits;
    turn->stores -= turn->stores_there;
}

void turn_counters(const struct turn *turn, struct record_turn *record)
{
    uint64_t known = turn->first.known & turn->last.known;
    bool same_frame = turn->first.values[INTERPRETER_STACK_POINTER] ==
                      turn->last.values[INTERPRETER_STACK_POINTER];
    unsigned count = 0;

    for (unsigned i = 0; i < TURN_PLACES && count < TURN_COUNTERS; i++) {
        uint64_t step = turn->last.values[i] - turn->first.values[i];

        if (!(known >> i & 1) || step == 0 || (i >= INTERPRETER_REGISTERS && !same_frame))
            continue;
        record->places[count] = i + 1;
        record->values[count] = turn->last.values[i];
        record->steps[count++] = step;
    }
}
