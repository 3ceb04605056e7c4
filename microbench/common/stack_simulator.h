/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact LRU stack distances of an access stream: the recency stack itself for its uppermost lines,
 * which take most accesses, and a Fenwick tree over the order of last use below (Olken 1981).
 */
#ifndef MICROBENCH_STACK_SIMULATOR_H
#define MICROBENCH_STACK_SIMULATOR_H

#include <stddef.h>
#include <stdint.h>

struct stack_simulator;

#define STACK_COLD UINT64_MAX /* the line was never used before */

/* For lines numbered 0 .. line_count-1. Ends the program when out of memory. */
struct stack_simulator *stack_simulator_create(size_t line_count);
void stack_simulator_free(struct stack_simulator *);

/*
 * One access to a line. Returns its stack distance (distinct other lines since its last use) and
 * stores its reuse time (1: the very next access), both STACK_COLD at the first use.
 */
uint64_t stack_simulator_access(struct stack_simulator *, size_t line, uint64_t *reuse_time);

#endif
