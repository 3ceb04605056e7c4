/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns: what a thread does between two waits, where it waits by reading a place again and again.
 * Nobody can look past such a wait: while the thread is looked at, nobody stores there, or the wait
 * is over in less time than it takes to look. So whoever interrupts a waiting thread looks on until
 * the wait is over, and then at the whole turn; how many turns there were is told by whatever the
 * thread counts them with: registers and words of its stack that stay as they are while it waits
 * and move from one wait to the next (docs/communication.md, "Communication").
 *
 * Fed with the accesses from the interruption on, a few at a time, and with the state after them.
 * Pure; signal-safe.
 */
#ifndef REUSE_SAMPLING_TURN_H
#define REUSE_SAMPLING_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "isa/registers.h"
#include "profile/format.h"

enum {
    WAIT_LOOP_IPS = 8,
    TURN_STACK_WORDS = 24, /* of 8 bytes, from the stack pointer on */
    /* The instruction set's registers, in its order, then the words. */
    TURN_PLACES = INTERPRETER_REGISTERS + TURN_STACK_WORDS,
};

/* The instructions that access memory in a loop that waits. Unknown when zeroed. */
struct wait_loop {
    uint64_t ips[WAIT_LOOP_IPS];
    unsigned count; /* WAIT_LOOP_IPS + 1: too many for such a loop */
};

void wait_loop_add(struct wait_loop *, uint64_t ip);
bool wait_loop_has(const struct wait_loop *, uint64_t ip);
/* Known, and small enough to be one. */
bool wait_loop_is_known(const struct wait_loop *);

/*
 * Whether a thread polls, by what follows a load of it. Zeroed to begin with. A load again after a
 * store of the thread itself to these bytes reads what it knows: a counter is no poll.
 */
struct polling {
    uint32_t looked, repeats; /* accesses after the load; of them, the same one again */
    bool stored;              /* by the thread itself, since the load or its last repetition */
    struct wait_loop loop;    /* where these were made */
};

/* The next accesses after the load; true: no more are wanted. */
bool polling_feed(struct polling *, const struct access *load, const struct access *, size_t n);
bool polling_is_seen(const struct polling *);

/* Values of the places; bit i of known: that of place i is. */
struct turn_state {
    uint64_t values[TURN_PLACES];
    uint64_t known;
};

enum turn_phase {
    TURN_SOUGHT,  /* the thread has not been seen to wait */
    TURN_WAITED,  /* it waits */
    TURN_RUNNING, /* it has what it waited for */
    TURN_OVER,    /* it waits again */
    TURN_NONE,    /* it was interrupted elsewhere */
};

struct turn {
    const struct wait_loop *loops;
    size_t loop_count;
    enum turn_phase phase;
    const struct wait_loop *loop; /* in which it waits */
    uint32_t before;              /* accesses made until then */
    uint32_t accesses, stores;    /* of the turn; when it is over, without those of the next wait */
    uint32_t waits, stores_there; /* accesses in a row that may belong to the next wait */
    uint32_t looks;               /* at the state while it waits again */
    struct turn_state first, last;
};

/* The loops must outlive it. */
void turn_begin(struct turn *, const struct wait_loop *loops, size_t count);

enum turn_phase turn_feed(struct turn *, const struct access *);

/* Whether the state after the last access fed is of use. */
bool turn_wants_state(const struct turn *);
void turn_state(struct turn *, const struct turn_state *);

/* Fills places, values and steps. */
void turn_counters(const struct turn *, struct record_turn *);

#endif
