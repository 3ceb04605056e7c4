/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often to begin a burst so that profiling takes a given share of the target's CPU time, and
 * all of it.
 *
 * Every cost of the profiler is reported here as it arises; the answer is the next period:
 *
 *     period = cost of a burst / (budget * periods) * (1 + debt / (budget * horizon))
 *
 * The cost of a burst is a moving average, for each thread, of all that its thread was charged from
 * one burst to the next: traps and looks too, so that what those leave goes to bursts. Of the first
 * bursts it is a plain mean: with a gain of an eighth from the first on, runs of 1 to 2 s took 1.1
 * to 1.2 times as much for as many bursts worth (simulated; bursts ten times as dear as expected).
 * Periods are those that pass from one burst to the next, in the mean: more than one where the
 * clock often ends while the kernel works for the thread, which gives no signal. The debt is what
 * all threads have cost beyond what they were allowed; a credit shortens the period likewise, by
 * half at most. What profiling costs besides bursts is taken from the budget before: left to the
 * debt, it was part of that until the end. However dear a burst is, the period is at least twice
 * its cost: there is never a storm.
 *
 * Long runs: the profile's size steers. Beyond GOVERNOR_BYTES_FREE bytes the budget is multiplied
 * by (GOVERNOR_BYTES_FREE / bytes)^3, and by what is left up to GOVERNOR_BYTES_MAX; weights keep
 * estimates unbiased.
 *
 * Pure; signal-safe. struct governor: one per thread, used by its thread alone; struct
 * governor_process is shared by all threads of the process, or of several processes in shared
 * memory, lock-free.
 */
#ifndef REUSE_SAMPLING_GOVERNOR_H
#define REUSE_SAMPLING_GOVERNOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    GOVERNOR_PERIOD_MIN_NS = 100 * 1000,
    /* Spent in advance by the process, so that a short run has bursts to show and the first ones,
     * for which memory is touched and code is decoded for the first time, are paid. Repaid within
     * GOVERNOR_REPAY_NS of its CPU time. */
    GOVERNOR_ADVANCE_NS = 4 * 1000 * 1000,
    GOVERNOR_BYTES_FREE = 8 * 1000 * 1000,
    GOVERNOR_BYTES_MAX = 80 * 1000 * 1000,
};

#define GOVERNOR_REPAY_NS UINT64_C(4000000000)

/* However dear a burst is, or large the profile, one is taken now and then. */
#define GOVERNOR_PERIOD_MAX_NS UINT64_C(1000000000000)

struct governor_process {
    double budget;                /* share of application time that profiling takes */
    uint64_t fixed_ns;            /* fixed period, or 0 */
    _Atomic uint64_t cost_ns;     /* of all threads, so far */
    _Atomic uint64_t besides_ns;  /* costs that no period changes, not in cost_ns */
    _Atomic uint64_t app_ns;      /* application time of all threads, as far as reported */
    _Atomic uint64_t allowed_ns;  /* costs allowed for that, without the advance */
    _Atomic uint64_t burst_ns;    /* moving average of the cost of a burst, of all threads */
    _Atomic uint64_t bursts;      /* that it rests on */
    _Atomic uint32_t periods_256; /* moving average of the periods from burst to burst, in 1/256 */
    _Atomic uint32_t threads;     /* that live */
};

struct governor {
    struct governor_process *process;
    double burst_ns;                  /* moving average of the cost of a burst of this thread */
    double periods;                   /* moving average of those from one burst to the next */
    uint64_t unpaid;                  /* charged since its last burst */
    uint32_t bursts;                  /* so far */
    bool alive;                       /* counted among the threads */
    uint64_t burst_app_ns, period_ns; /* of the last burst; in force since */
    uint64_t app_ns;                  /* reported */
    uint64_t all_app_ns;              /* of all threads, when it began */
};

/* budget: share of application time that profiling may take, 0.02 for 2 %, wherever it is felt.
 * expected_cost_ns: first guess of what a burst costs. */
void governor_process_begin(struct governor_process *, double budget, uint64_t fixed_ns,
                            uint64_t expected_cost_ns);

/* A thread begins, with the experience of the others; and ends, app_ns into its life. It may go on
 * after that (exec has failed): its time is allowed for, and it is no more counted. */
void governor_begin(struct governor *, struct governor_process *);
void governor_end(struct governor *, uint64_t app_ns);

/* Adds cost that fewer bursts would not save: threads that begin and end, say. At most half of the
 * budget is held back for it: some bursts there are, whatever else profiling costs. */
void governor_spend_besides(struct governor *, uint64_t cost_ns);

/* Adds cost. */
void governor_spend(struct governor *, uint64_t cost_ns);

/* A burst is taken, app_ns into the thread's life (0: as time, that is not known). What is charged
 * up to the next one counts as its cost. */
void governor_burst(struct governor *, uint64_t app_ns);

/* Mean period (ns of thread CPU time) until the next burst, app_ns into the thread's life;
 * bytes: of the profile so far. */
uint64_t governor_next_period(struct governor *, uint64_t app_ns, uint64_t bytes);

/* The shortest period that does not take more than half of the time, ns: of one that is fixed. */
uint64_t governor_least_period(const struct governor *);

#endif
