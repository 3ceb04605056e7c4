/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which lines do several threads touch? Each burst puts what it touches of some lines on the
 * bulletin board (board.h): the same lines in every thread, by a hash of their address and of the
 * time, so that two threads that touch one are noticed, whichever line it is. Stores of a burst to
 * lines that others were seen at are preferred as its sample for communication
 * (communication_draw.h). What is on the board may be old or wrong: that changes how often a line
 * is looked at, not what is estimated.
 *
 * Pure; signal-safe; no allocation.
 */
#ifndef REUSE_SAMPLING_SHARED_LINES_H
#define REUSE_SAMPLING_SHARED_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "access.h"
#include "sampling/board.h"
#include "sampling/communication_draw.h"

/* Whether the line (address of its first byte) is put on the board, one in eight, in the quarter of
 * a second that now_ns lies in: some bursts of every thread. A burst touches some 100 to 500 lines,
 * and the board remembers two seconds of all threads: a few thousand entries. */
static inline bool shared_lines_follows(uint64_t line, uint64_t now_ns)
{
    uint64_t key = (line >> 5) ^ (now_ns >> 28) * UINT64_C(0xd1342543de82ef95);

    return key * UINT64_C(0x9e3779b97f4a7c15) >> 61 == 0;
}

/* Puts the first n accesses of a burst on the board. */
void shared_lines_publish(struct board *, const struct access *, uint32_t n, uint32_t line_size,
                          uint32_t thread_id, uint64_t now_ns);

/* Stores among n accesses to lines that other threads were seen at. */
void shared_lines_find(const struct board *, const struct access *, uint32_t n, uint32_t line_size,
                       uint32_t thread_id, uint64_t now_ns, struct store_list *out);

#endif
