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

#include "bursts/bridge.h"
#include "bursts/page_faults.h"
#include "bursts/register_window.h"
#include "bursts/thread_clock.h"
#include "isa/interpreter.h"
#include "perf_events/pmu.h"
#include "process/tree.h"
#include "profile/format.h"
#include "sampling/activations.h"
#include "sampling/governor.h"
#include "sampling/loops.h"
#include "sampling/private_watch.h"
#include "sampling/progress.h"
#include "sampling/random.h"
#include "sampling/switches.h"
#include "sampling/ticks.h"
#include "sampling/turn.h"
#include "watches/marker.h"

enum {
    THREAD_WAIT_LOOPS = 4,     /* kept; a thread waits in few places */
    THREAD_REGIONS = 32,       /* nested spans that are told apart */
    THREAD_BATCH = 512,        /* accesses interpreted at a time */
    HANDLER_STACK = 96 * 1024, /* bytes; the target's stack may be tiny */
};

/* What the kernel counts of a thread that moves on as the program does. */
struct kernel_counts {
    bool known;
    uint64_t of[PROGRESS_CALL_COUNTS];
};

/* Between bursts: see rate.h. */
struct rate {
    bool look_next;     /* the next expiry is a look, not a burst */
    bool look_taken;    /* the burst comes next, a short time after it */
    uint64_t looked_ns; /* app time of the look; 0: there was none */
    struct page_faults faults;
    uint64_t begun_ns; /* app time of the last burst, or else of the thread's beginning */
    bool had_burst;
    uint32_t reach;    /* accesses of the last burst, or of this one so far */
    bool calls_kernel; /* a burst of it met a system call */
    uint64_t spent_ns; /* from looks to bursts since the last burst: added to the next weight */
    struct kernel_counts counts; /* at the beginning of the last burst */
    struct progress_words words;
    struct activations activations;
    bool looking; /* the look-ahead under way is a look */
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
struct call_path;

struct thread {
    /* identity */
    struct thread *next; /* registry; written once */
    _Atomic bool alive;
    _Atomic bool ending; /* its last records are being written, the first of a file perhaps */
    _Atomic pid_t tid;   /* 0: free for use by a later thread */
    uint32_t id;
    uint64_t stack_low, stack_high;
    uint64_t started_ns; /* CLOCK_MONOTONIC */
    char name[16];
    _Atomic bool takes_traps; /* a SIGTRAP that the target is sent: does not block it, or waits */

    /* mechanisms */
    int clock;                   /* CPU clock that triggers samples; -1 */
    int calls_file;              /* of thread_usage_calls(); -1: not opened yet; else refused */
    struct thread_clock instead; /* of the hardware's events, where these were refused */
    struct pmu_thread pmu;       /* the hardware's events, where they trigger and count instead */
    struct served_table *served; /* what their records tell (served.h); NULL without */
    atomic_flag serving;         /* somebody works on it, or drains their buffers */
    bool registers_opened;       /* private debug registers: tried */
    int registers[WATCHES_MAX];
    struct step_over step;
    unsigned char *handler_stack;
    struct interpreter *interpreter; /* while it looks ahead */
    unsigned interpreter_number;

    /* time */
    struct tree_former former;    /* what the kernel had counted when the program began */
    _Atomic uint64_t overhead_ns; /* our share of the thread's CPU clock; read by other threads */
    _Atomic uint64_t besides_ns;  /* what we cost it beside that, estimated; likewise */
    uint64_t period_ns;           /* mean period in force: the weight of the next burst */
    uint64_t expires_ns;          /* what the clock was set to */
    uint64_t clock_set_ns;        /* app time when that was */
    bool expires_once;            /* and then it is disabled */
    uint64_t carried_ns;          /* of expiries that gave no sample through our own fault */
    bool in_handler;
    bool held;                          /* its hardware events, until they are released */
    uint64_t hold_cpu_ns, hold_wall_ns; /* the trigger was held, in this handler; no PMU: 0 */
    uint64_t events;                    /* handler entries */

    /* policy */
    struct random random;
    struct governor governor;
    struct switches switches;
    struct register_window window;
    struct private_watches watches;
    struct bridge bridge;
    struct marker marker;
    bool shareable; /* of the sample that is given a register: its line may be watched in all
                       threads */
    struct loops loops;
    struct call_path *calls; /* of the look-ahead under way; NULL: not wanted */
    uint64_t calls_kept;     /* accesses that they count so far */
    uint64_t looked;         /* accesses of the look-ahead under way, our own code's included */
    struct ticks ticks;

    /* output */
    uint64_t next_sample;
    unsigned region_depth; /* spans of the API begun and not ended; may exceed THREAD_REGIONS */
    uint32_t regions[THREAD_REGIONS];
    struct record_totals totals;

    /* The large parts, so that what start-up touches is close together. */
    struct rate rate;
    struct wait_loop wait_loops[THREAD_WAIT_LOOPS]; /* in which it was seen to poll */
    unsigned next_wait_loop;                        /* to be replaced */
    struct access batch[THREAD_BATCH];
};

/* The calling thread's, or NULL. Signal-safe. */
struct thread *thread_current(void);

/* Before the first thread: what they all share of budget. */
void threads_begin(void);

/* What the first thread's clocks had counted before the program began: it is not the program's. */
void thread_goes_on_from(const struct tree_former *);

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

/* The program is about to be replaced: the calling thread's time is allowed for. */
void thread_before_exec(void);

/* Writes RECORD_TOTALS of all living threads. */
void threads_write_totals(void);

/* What the hardware's events did not deliver, in finished threads. */
void thread_pmu_losses(struct pmu_losses *);

/* Start-up, from the thread's CPU time `entered` on, was for the profiler as well: of the first
 * thread (NULL: none), before it goes on. */
void thread_charge_start(struct thread *, uint64_t entered);

/* Sums over all threads, finished ones included: their CPU time without ours, and what profiling
 * has cost, as the report states it. */
void thread_totals(uint64_t *app_ns, uint64_t *overhead_ns);

/* Stops sampling in all threads, those that start from now on included; or goes on. */
void threads_pause(bool paused);

/* A span of the API begins or ends in the calling thread. */
void thread_region_begin(struct thread *, uint32_t region_id);
void thread_region_end(struct thread *);

/* For replaying: the calling thread is this one from now on (or none). */
void thread_become(struct thread *);

/* CPU time of a thread now, without ours. Signal-safe; for other threads accurate to their running
 * handler. */
uint64_t thread_cpu_time(const struct thread *);

/* The thread's application time now, as records have it: its CPU time or, with hardware counters,
 * the accesses that it has made. Likewise. */
uint64_t thread_app_ns(const struct thread *);

/* What the burst that begins now stands for: the period, and those whose expiries gave no burst
 * through our own fault, of threads that have ended as well. */
uint64_t thread_weight(struct thread *);

/* The period that has ended gives no burst: the next one takes it. */
void thread_carry(struct thread *);

/* Whether hardware counts the thread's accesses, and interrupts it. */
bool thread_is_counted(const struct thread *);

/* Starts or stops the thread's trigger. */
void thread_trigger(struct thread *, bool enable);

/* What may take longer than a period begins or ends in the calling thread's handler: it is not to
 * be interrupted for a sample of itself, nor counted as accesses of the target. expired: it is the
 * trigger's own handler, which ends with sampler_rearm(); a CPU clock is held in that alone. */
void thread_hold_trigger(struct thread *, bool expired);
void thread_release_trigger(struct thread *);

#endif
