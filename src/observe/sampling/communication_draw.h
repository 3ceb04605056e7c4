/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which access of a burst is its sample for communication? One of all probes, or one of the stores
 * that a watch can tell most of: to lines that other threads were seen at (shared_lines.h), and the
 * last one to its line for a while, whose segment another thread may end. Of a line that is written
 * word by word only the last store is followed by others, and few of all accesses are such stores.
 * Not listed as such are stores to words that the burst has often stored to before: the registers
 * are armed before all of that, and trap each time (line_watch.h).
 *
 * Half of the samples are drawn from all probes: loads of threads that poll are among them, and
 * lines that are stored to all the time. The others come from the lists that have stores, from each
 * equally often. A sample weighs the inverse of its probability (weight_factor; Horvitz and
 * Thompson 1952): what is listed changes how often a store is looked at, not what is estimated.
 *
 * Pure; signal-safe; no allocation.
 */
#ifndef REUSE_SAMPLING_COMMUNICATION_DRAW_H
#define REUSE_SAMPLING_COMMUNICATION_DRAW_H

#include <stdint.h>

#include "access.h"
#include "sampling/random.h"

enum { STORE_LIST_MAX = 512 };

/* Stores of a burst, by their index among its accesses, ascending. */
struct store_list {
    uint32_t count;
    uint16_t index[STORE_LIST_MAX];
};

/* Those of the first n of `count` accesses to whose line none of the next OWN_VISIT_ACCESSES
 * stores, and to whose word no more than LINE_WATCH_AHEAD_MAX did before. */
void last_stores_find(const struct access *, uint32_t n, uint32_t count, uint32_t line_size,
                      struct store_list *out);

/* Those that are in both. */
void store_list_common(const struct store_list *, const struct store_list *,
                       struct store_list *out);

/*
 * The sample among n accesses, of which `uniform` was drawn with equal probability: that, or one of
 * a list. *factor: inverse of its probability, in units of n; no more than 2.
 */
uint32_t communication_draw(const struct store_list *lists, unsigned list_count, uint32_t n,
                            uint32_t uniform, struct random *, double *factor);

#endif
