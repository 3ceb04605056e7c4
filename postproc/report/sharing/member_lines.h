/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which members of a structure have to begin a cache line so that members which threads fight over
 * lie on different ones: as few as can be. Pure. Offsets are bytes within the structure.
 */
#ifndef REUSE_POSTPROC_MEMBER_LINES_H
#define REUSE_POSTPROC_MEMBER_LINES_H

#include <stddef.h>
#include <stdint.h>

/* Two members that have to be parted; first < second. */
struct member_pair {
    uint64_t first, second;
};

/*
 * Writes where lines begin, ascending and each the second of a pair; at most `count` of them.
 * Returns how many. Reorders the pairs. A line that begins after the first and no later than the
 * second parts a pair: points that hit all these intervals are fewest if each is the smallest end
 * of those not hit yet.
 */
size_t member_lines_begin(struct member_pair *, size_t count, uint64_t *begins);

/* Bytes of the structure, of `size` now, with lines beginning there, itself at the start of one. */
uint64_t member_lines_size(const uint64_t *begins, size_t count, uint64_t size, uint32_t line_size);

#endif
