/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which code bursts have gone through, in blocks of 128 bytes: what a tick finds elsewhere is worth
 * a burst at once. A Bloom filter of one hash: code that was not seen may seem to have been, with
 * the share of the bits that are set as its probability; never the other way round.
 *
 * One for all threads of a process. Pure, signal-safe, lock-free; all zero is empty.
 */
#ifndef REUSE_SAMPLING_SEEN_CODE_H
#define REUSE_SAMPLING_SEEN_CODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"

enum { SEEN_CODE_BITS = 32 * 1024 }; /* a page: a thousand blocks set 3 % */

struct seen_code {
    _Atomic uint64_t words[SEEN_CODE_BITS / 64];
};

/* The instructions that made these accesses. */
void seen_code_add(struct seen_code *, const struct access *, size_t n);

/* Forgets all. */
void seen_code_clear(struct seen_code *);

/* Whether the instruction's block was seen, or one next to it: blocks without an access. */
bool seen_code_has(const struct seen_code *, uint64_t ip);

#endif
