/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulated debug registers of one thread: each watches an aligned power-of-two range and traps on
 * every access that touches it. Looking at each access costs a few instructions, because a table of
 * line addresses rejects nearly all of them. Pure; used by one thread at a time.
 */
#ifndef REUSE_EXACT_SIMULATE_REGISTERS_H
#define REUSE_EXACT_SIMULATE_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampling/private_watch.h"
#include "stream.h"

enum {
    REGISTERS_RANGE_MIN = 8, /* bytes that a register can watch */
    REGISTERS_RANGE_MAX = 4096,
    REGISTERS_FILTER = 4096, /* entries; a power of two */
    REGISTERS_LINE_SHIFT = 6,
};

struct simulated_registers {
    unsigned armed; /* bit by slot */
    struct {
        uint64_t low, size;
        uint32_t generation;
    } slot[WATCHES_MAX];
    /* By line address modulo the table: how many armed ranges touch such a line. */
    uint8_t filter[REGISTERS_FILTER];
};

/* size is a power of two from REGISTERS_RANGE_MIN to REGISTERS_RANGE_MAX, low a multiple of it. */
void registers_arm(struct simulated_registers *, unsigned slot, uint64_t low, uint64_t size,
                   uint32_t generation);

/* Without effect if it is not armed. */
void registers_disarm(struct simulated_registers *, unsigned slot);

/* Bit by slot: registers that trap on an access to [address, address + width). */
unsigned registers_touched(const struct simulated_registers *, uint64_t address, unsigned width);

/* False if the access surely touches no armed register. */
static inline bool registers_may_touch(const struct simulated_registers *registers,
                                       const struct stream_access *access)
{
    uint64_t first = stream_address(access), last = first + stream_width(access) - 1;

    return registers->filter[first >> REGISTERS_LINE_SHIFT & (REGISTERS_FILTER - 1)] |
           registers->filter[last >> REGISTERS_LINE_SHIFT & (REGISTERS_FILTER - 1)];
}

#endif
