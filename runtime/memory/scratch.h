/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for bursts under way, shared by all threads of the process: half a megabyte each, of which
 * a thread needs one only while a burst of it is looked at or waits to be gone on with. There are a
 * few more than processors. Lock-free.
 *
 * A burst that waits (behind a system call that blocks, say) is in the way of others. Who finds no
 * memory free takes that of the burst that has waited longest: see scratch_take_waiting().
 *
 * Signal-safe but for scratch_create().
 */
#ifndef REUSE_RUNTIME_SCRATCH_H
#define REUSE_RUNTIME_SCRATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bursts/kernel_buffers.h"
#include "bursts/memory_lines.h"
#include "bursts/thread.h"
#include "isa/interpreter.h"
#include "isa/pipeline.h"
#include "isa/provenance.h"
#include "output/paths.h"
#include "profile/format.h"
#include "profile/writer.h"
#include "sampling/address_steps.h"
#include "sampling/burst.h"
#include "sampling/progress.h"
#include "sampling/pursuit.h"
#include "sampling/set_conflicts.h"

enum {
    SCRATCH_MAX = 256,
    SCRATCH_ENCODED = PROFILE_WRITER_PAYLOAD_MAX - (int)sizeof(struct record_burst) - 8,
    SCRATCH_ACCESSES = 1024,
};

struct scratch {
    _Atomic uint64_t state;   /* free, taken, or whose burst waits in it */
    _Atomic uint64_t waiting; /* a number that grows with each burst that begins to wait */
    struct burst *burst;

    /* the burst under way */
    struct thread *thread;
    struct paths paths;
    uint32_t from;         /* its first access that is still to be executed */
    uint64_t instructions; /* interpreted for it */
    /* Its sample for communication is to be the access of that index; offered already, perhaps. */
    uint32_t sampled;
    double weight_factor; /* of the sample */
    bool executed;        /* its first access was recorded by hardware, and is done */
    bool offered;
    struct access_run run;
    struct record_sample sample;

    /* What moves on in it; see rate.h. */
    struct progress_candidates candidates;
    bool searching;      /* the thread has room for more words */
    bool halfway;        /* the candidates have been looked at in the middle */
    uint32_t words_from; /* accesses of the burst before known words are followed */
    uint64_t since_ns, before_ns;
    struct burst_faults faults;
    uint32_t system_calls; /* that it met; and of these, what the kernel counts */
    uint32_t counted_calls[PROGRESS_CALL_COUNTS];
    bool calls_known; /* what it has counted since the burst before */
    uint64_t calls_since[PROGRESS_CALL_COUNTS];
    uint64_t begun_at; /* the instruction */

    struct pursuit pursuit; /* of lines that it leaves open */
    struct kernel_buffers buffers;

    struct pipeline pipeline;     /* how long its accesses would take; see modelled_time.h */
    struct pipeline_costs costs;  /* of branches and lines in that model */
    struct memory_lines lines;    /* of the program, as they are loaded */
    struct provenance provenance; /* of the addresses of those that are timed */
    struct step_counter steps;
    struct set_state sets;

    unsigned char encoded[SCRATCH_ENCODED];
    struct access accesses[SCRATCH_ACCESSES]; /* for turns.c */

    /* what is known of the burst so far; last, for its length varies in a profile */
    struct record_burst record;
};

/* At start-up, and in a forked child, where nobody uses any. */
void scratch_create(uint64_t cpus);

/* A child begins with none that was used, rather than with copies. */
void scratch_before_fork(void);

/* Of one, with the burst in it. */
size_t scratch_bytes(void);

/* NULL: none is free. */
struct scratch *scratch_take(struct thread *);
void scratch_give_back(struct scratch *);

/* The burst in it waits for its thread to get on, from now on. */
void scratch_wait(struct scratch *);
/* The thread has got on, or ends: true if the burst is still there; it waits no more. */
bool scratch_resume(struct scratch *, const struct thread *);

/* The one of the longest wait; it waits no more. The burst in it must be ended. NULL: none waits.
 */
struct scratch *scratch_take_waiting(void);

#endif
