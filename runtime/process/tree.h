/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the processes of a run have in common: the first one, which says at its end what became of
 * all of them, and those that it started, and so on, as far as they are followed. They add up what
 * they have done in one page of memory. A forked child has it already; a program that was started
 * finds it through the first process, whose number stands in the variable REUSE_TREE. Where it
 * cannot be found (the first process has ended, another PID namespace, a sandbox), a process counts
 * for itself alone, and says nothing either.
 *
 * tree_begin() and tree_leave() are for start-up; the others are signal-safe. Counts are accurate
 * but for processes that were killed: the time that they took is missing, and they are taken for
 * running.
 */
#ifndef REUSE_RUNTIME_TREE_H
#define REUSE_RUNTIME_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "sampling/governor.h"

struct tree_sums {
    uint64_t processes;    /* that profiling began in, this one included */
    uint64_t running;      /* of these, not ended, but for this one; or killed */
    uint64_t profiles;     /* files */
    uint64_t wants_memory; /* processes that could not look ahead for want of it */
    uint64_t failed;       /* processes that have no file, or not all of it */
    uint64_t samples;
    uint64_t app_ns, overhead_ns; /* CPU time without the profiler's, and the profiler's */
};

/*
 * Once at start-up: joins the tree that the environment names, or begins one. `named`: the user has
 * named this very program, which is therefore the first of a tree. Returns whether it is.
 */
bool tree_begin(bool named);

/* Whether a tree is named in the environment: its first process has told what all are to be told.
 */
bool tree_is_inherited(void);

/* How many seccomp filters the tree's processes before were tried under, and went on: a process
 * under as many has those, as filters are only ever added. Before tree_begin(); 0: none. */
uint64_t tree_harmless_filters(void);

/* This process goes on under so many: for the programs that it starts. */
void tree_found_harmless(uint64_t count);

/* Puts the tree into the environment, for the programs that this process starts. */
void tree_leave(void);

/* In a forked child that is followed. */
void tree_after_fork(void);

/* In a forked child that is not followed: it belongs to none. */
void tree_forget(void);

/*
 * What the processes of the tree may spend, all together. Nobody holds a share of it: costs are
 * charged when they arise, and time is allowed for when it is reported, so that a process that is
 * killed takes nothing along but its last period. is_new: nobody has begun it yet.
 */
struct governor_process *tree_governor(bool *is_new);

/* Which of the tree's processes this is, in the order in which they began, from 0 on; the program
 * that exec brings is another. Their random choices must not be the same. */
uint64_t tree_number(void);

/* When the run began, CLOCK_REALTIME in ns; 0: not known. */
uint64_t tree_start_ns(void);

/* This process has a profile, or has removed the one that it had. */
void tree_count_profile(bool has);

/* What a process may lack; said once in a tree, for the same goes for the others. */
enum tree_want { TREE_WANTS_FILE, TREE_WANTS_MEMORY, TREE_WANTS_REGISTERS, TREE_WANTS };

/* This process lacks it. Whether it is the first of the tree. Once a process and matter. */
bool tree_first_failure(enum tree_want);

/* This process has a sample: known to all at once, for it may be killed. */
void tree_count_sample(void);

/* What this process has done in all since it began. */
void tree_report(uint64_t app_ns, uint64_t overhead_ns);

/* What the kernel has counted when a program is replaced, and goes on counting from: the calling
 * thread's times and context switches, and the process's times and page faults. */
struct tree_former {
    uint64_t cpu_ns, user_ns, kernel_ns, switches;
    uint64_t process_ns, process_faults;
};

/* The program is about to be replaced, and counted anew if the next one is followed; the next one
 * finds the counts. */
void tree_before_exec(const struct tree_former *);

/* Of the program that this process had before; zeros: it had none, or none that is known. Once at
 * start-up, after tree_begin(). */
struct tree_former tree_take_former(void);

/* This process ends. The sums of the tree, or of what is known of it. */
void tree_end(struct tree_sums *);

#endif
