/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the runtime keeps for each thread of the target.
 *
 * A struct thread is written by its own thread, mostly inside the SIGTRAP handler with all signals
 * blocked; fields that other threads read or write are atomic and say so. The structs live in
 * mmaped memory, are never unmapped, and are used again for later threads.
 */
#ifndef REUSE_RUNTIME_THREAD_H
#define REUSE_RUNTIME_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

#include "isa/interpreter.h"
#include "pmu.h"
#include "profile/format.h"
#include "sampling/call_path.h"
#include "sampling/governor.h"
#include "sampling/loops.h"
#include "sampling/odometer.h"
#include "sampling/private_watch.h"
#include "sampling/random.h"
#include "sampling/turn.h"
#include "sampling/window.h"

enum {
    THREAD_KNOWN_LOOPS = 32,
    THREAD_WAIT_LOOPS = 4,     /* kept; a thread waits in few places */
    THREAD_REGIONS = 32,       /* nested spans that are told apart */
    RATE_PLACES = 3,           /* predicted accesses that are timed */
    THREAD_BATCH = 512,        /* accesses interpreted at a time */
    HANDLER_STACK = 96 * 1024, /* bytes; the target's stack may be tiny */
};

/* A reading of the access rate in progress. See rate.h. */
struct rate_reading {
    enum { RATE_IDLE, RATE_AWAITING, RATE_PROBING } phase;
    uint64_t loop;     /* of the sample at which it began */
    double explore_ns; /* what looking at one access ahead has cost lately; 0 unknown */
    /* predicted accesses, in slots 0, 1, and 0 again */
    uint64_t predicted_ip[RATE_PLACES];
    uint64_t predicted_access[RATE_PLACES];
    uint64_t last_address; /* of the last of them */
    unsigned reached;      /* how many of them have trapped */
    uint64_t events;       /* handler entries when the reading began, to see disturbances */
    /* odometer */
    struct odometer odometer;
    double accesses_left; /* until the loop ends, at the start; 0 unknown */
    uint64_t explored;    /* accesses looked at before the reading began */
    unsigned attempts;    /* to get past them */
    bool unproven;        /* no test of the loop moves with it */
    unsigned probes;      /* positions known */
    double position[4];   /* visits since the base */
    double step_ns[3];    /* planned time between them */
    uint64_t spent_ns;    /* of probing since the last sample: added to the next one's weight */
    uint64_t time[4];     /* app time of the traps or positions */
};

/* What earlier readings have taught about a loop. */
struct known_loop {
    uint64_t loop;
    uint32_t depth; /* accesses to look ahead for something to hold on to; 0: unused entry */
    bool has_odometer;
    struct odometer odometer;
    uint32_t explorations;  /* that its accesses per visit are the mean of */
    double squared_lengths; /* sum over those, to see how much they differ */
    double visits;          /* that looks at the odometer have followed, and their accesses */
    double visit_accesses;
    bool uneven;        /* too much, or no true odometer: they tell nothing */
    uint32_t jumps;     /* looks at which it had not stepped */
    uint32_t failures;  /* of the odometer in a row */
    uint64_t test_ip;   /* conditional jump that ends the loop */
    int64_t test_step;  /* change of its outcome per visit; 0 unknown */
    double rate_per_ns; /* accesses, about; 0 unknown */
    uint32_t readings;  /* accepted ones that it rests on */
    uint64_t last_use;  /* in samples of the thread */
};

/* Registers that wait until a trapped access has been made; see step_over.h. */
struct step_over {
    int descriptor;                           /* the execute breakpoint; negative: none */
    uint32_t generation;                      /* changes with every use */
    uint64_t until;                           /* where it is; 0: nowhere */
    unsigned expiries;                        /* samples due meanwhile */
    unsigned private_aside;                   /* bit per register */
    unsigned shared_aside;                    /* likewise */
    uint32_t private_generation[WATCHES_MAX]; /* of the watches that they serve */
    uint32_t shared_use;                      /* of the shared registers */
};

struct served_table;

struct thread {
    /* identity */
    struct thread *next; /* registry; written once */
    _Atomic bool alive;
    _Atomic pid_t tid; /* 0: free for use by a later thread */
    uint32_t id;
    uint64_t stack_low, stack_high;
    uint64_t started_ns; /* CLOCK_MONOTONIC */
    char name[16];

    /* mechanisms */
    int clock;                   /* CPU clock that triggers samples; -1 */
    struct pmu_thread pmu;       /* the hardware's events, where they trigger and count instead */
    struct served_table *served; /* what their records tell (served.h); NULL without */
    atomic_flag serving;         /* somebody works on it, or drains their buffers */
    bool registers_opened;       /* private debug registers: tried */
    int registers[WATCHES_MAX];
    struct step_over step;
    unsigned char *handler_stack;
    struct interpreter *interpreter;

    /* time */
    _Atomic uint64_t overhead_ns; /* our share of the thread's CPU clock; read by other threads */
    uint64_t period_ns;           /* mean period in force: the weight of the next sample */
    uint64_t carried_ns;          /* of expiries that gave no sample through our own fault */
    bool in_handler;
    uint64_t events; /* handler entries */

    /* policy */
    struct random random;
    struct governor governor;
    struct private_watches watches;
    struct window window;
    struct loops loops;
    struct call_path call_path; /* of the look-ahead under way */
    uint64_t left_out;          /* accesses of our own code that it has passed over */
    struct rate_reading rate;
    struct known_loop known_loops[THREAD_KNOWN_LOOPS];
    uint32_t first_depth;     /* to explore a loop met for the first time; 0 the default */
    uint64_t rate_cost_ns;    /* of the last exploration, not yet told to the governor */
    uint32_t samples_to_rate; /* samples until the next rate reading is considered */
    struct access batch[THREAD_BATCH];
    struct wait_loop wait_loops[THREAD_WAIT_LOOPS]; /* in which it was seen to poll */
    unsigned next_wait_loop;                        /* to be replaced */

    /* output */
    uint64_t next_sample;
    unsigned region_depth; /* spans of the API begun and not ended; may exceed THREAD_REGIONS */
    uint32_t regions[THREAD_REGIONS];
    struct record_totals totals;
};

/* The calling thread's, or NULL. Signal-safe. */
struct thread *thread_current(void);

/* Makes the calling thread known and starts its clock. NULL without memory. */
struct thread *thread_start(uint64_t stack_low, uint64_t stack_high);

/* The calling thread ends, or the process does: ends its watches and closes its events. */
void thread_finish(struct thread *, enum watch_end reason);

/* Every known thread, for shutting down; also those that are dead. Signal-safe. */
struct thread *thread_first(void);

/* Threads of the target alive now, as far as known. */
unsigned thread_alive_count(void);

/* After fork, in the child: only the calling thread exists, with new events. */
void thread_reset_after_fork(void);

/* In a child that is not to be profiled: no thread is known. */
void thread_forget_all(void);

/* Writes the records of all living threads to a new file. Signal-safe. */
void threads_announce(void);

/* Writes the thread's RECORD_TOTALS as of app_ns. Signal-safe. */
void thread_write_totals(struct thread *, uint64_t app_ns);

/* Writes RECORD_TOTALS of all living threads. */
void threads_write_totals(void);

/* What the hardware's events did not deliver, in finished threads. */
void thread_pmu_losses(struct pmu_losses *);

/* Sums over all threads, finished ones included. */
void thread_totals(uint64_t *app_ns, uint64_t *overhead_ns);

/* Stops sampling in all threads, those that start from now on included; or goes on. */
void threads_pause(bool paused);

/* A span of the API begins or ends in the calling thread. */
void thread_region_begin(struct thread *, uint32_t region_id);
void thread_region_end(struct thread *);

/* For replaying: the calling thread is this one from now on (or none). */
void thread_become(struct thread *);

/* One of our descriptors has a new number. */
void thread_move_descriptor(int from, int to);

/* CPU time of a thread now, without ours. Signal-safe; for other threads accurate to their running
 * handler. */
uint64_t thread_cpu_time(const struct thread *);

/* The thread's application time now, as records have it: its CPU time or, with hardware counters,
 * the accesses that it has made. Likewise. */
uint64_t thread_app_ns(const struct thread *);

/* Whether the thread is sampled at all: its trigger was opened. */
bool thread_has_trigger(const struct thread *);

/* Starts or stops the thread's trigger. */
void thread_trigger(struct thread *, bool enable);

#endif
