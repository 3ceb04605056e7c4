/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops in which threads use lines: of samples there, and of bursts that came by. */
#ifndef REUSE_POSTPROC_THREAD_LOOPS_H
#define REUSE_POSTPROC_THREAD_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

/* A line that a thread uses. */
struct line_user_place {
    size_t profile;
    uint32_t thread_id;
    uint64_t line; /* address of its first byte, at the analysed line size */
};

/* A loop of a thread, as access rates tell loops apart. */
struct thread_loop {
    size_t profile;
    uint32_t thread_id;
    uint64_t loop;
};

/*
 * The loops in which a thread was seen at one of its lines, sorted for bsearch() and not unique.
 * Reorders the places. Returns how many; the caller frees *loops.
 */
size_t thread_loops_of(const struct model *, struct line_user_place *, size_t count,
                       struct thread_loop **loops);
bool thread_loops_contain(const struct thread_loop *, size_t count, struct thread_loop);
/* By profile and thread alone: no order between lines of one thread. */
int line_user_threads_compare(const void *, const void *);

#endif
