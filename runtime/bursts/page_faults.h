/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Page faults of the program: between bursts, as the kernel counts them, and of the accesses of a
 * burst. Code that fetches memory for the first time is slower than it looks, and how many accesses
 * lie between two faults says how fast it is (docs/estimators.md, section 1). Signal-safe.
 */
#ifndef REUSE_RUNTIME_PAGE_FAULTS_H
#define REUSE_RUNTIME_PAGE_FAULTS_H

#include <stdint.h>

#include "profile/format.h"

struct scratch;
struct thread;

/* Of a thread, in struct rate. */
struct page_faults {
    uint64_t at_look; /* so far, at the last look */
    uint64_t counted; /* and when the time that the next burst tells of began */
};

/* Of a burst, in struct scratch. */
struct burst_faults {
    uint64_t before, since; /* since the look, and since the burst before */
    uint64_t ahead;         /* of its own accesses, estimated */
    uint64_t looking;       /* of the thread so far, where the looking ahead under way began */
    uint32_t own_pages;     /* of our memory that were there then */
};

/* What the next burst tells of begins: at the beginning of a thread, and when all is known of a
 * burst. */
void page_faults_count(struct thread *);

/* At a look. */
void page_faults_look(struct thread *);

/* A burst begins; faults: of its thread so far. */
void page_faults_begin(struct scratch *, uint64_t faults);

/* Around each looking ahead: the accesses from scratch->from on, which the program has still to
 * make. Their loads take their faults meanwhile, for who looks ahead makes them; their stores will
 * take theirs. */
void page_faults_follow_begin(struct scratch *);
void page_faults_follow_end(struct scratch *);

/* What came of it: one or two variables. Our own faults on the way are not the program's: it ends
 * with page_faults_count(). */
unsigned page_faults_list(struct scratch *, struct progress_variable *);

#endif
