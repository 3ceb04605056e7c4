/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SIGTRAP belongs to the runtime; the target must not notice. Its own dispositions and masks of
 * SIGTRAP are kept virtually; signals that are not ours reach the target as they would have.
 */
#ifndef REUSE_RUNTIME_INTERPOSE_SIGNAL_H
#define REUSE_RUNTIME_INTERPOSE_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

struct event_cookie;

/* Receives our signals. Runs with every signal blocked but SIGSEGV, SIGBUS, SIGILL, SIGFPE. */
typedef void (*trap_handler)(struct event_cookie, bool asynchronous, ucontext_t *);

/* The C library's own; from signal_begin() on. Signal-safe. */
int real_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

/* The next definition after ours, for what is only passed on. */
int next_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

/* rt_sigprocmask(2) by number: the C library would leave signals of its own out. Signal-safe. */
void signals_change(int how, const sigset_t *set, sigset_t *old);

/* Calls a handler of the target's from a handler of ours, under the mask that it asked for: the
 * return from ours restores it. Signal-safe. */
void signal_call_handler(const struct sigaction *action, int signal, siginfo_t *information,
                         ucontext_t *context);

/* Takes SIGTRAP over and unblocks it in the calling thread. 0 or -errno. */
int signal_begin(trap_handler handler);

/*
 * From now on SIGTRAP is handled on alternate stacks where threads have them. Not so by default:
 * one that no signal would ever use may be too small, or freed long ago. Signal-safe.
 */
void signal_use_alternate_stacks(void);

/* Whether ip is the first instruction of our SIGTRAP handler. Signal-safe. */
bool signal_is_at_trap_entry(uint64_t ip);

/* After fork, in the child: no other thread holds the lock, and no signal is held back. */
void signal_after_fork(void);
void signal_mask_after_fork(void);

/* Gives SIGTRAP back as the target last left it. */
void signal_end(void);

/* What the target ignores or believes blocked, the program that exec brings must find so; exec has
 * failed. Signal-safe. */
void signal_before_exec(void);
void signal_after_exec(void);

/* Whether SIGTRAP is ours. */
bool signal_is_taken(void);

/*
 * A SIGTRAP that no event of ours brought, in the handler that got it; false: it is for this thread
 * now. Else it only tells of one that is held back; or the thread believes it blocked, and it is
 * kept until the thread unblocks it or asks for it, or goes to a thread that takes it. Where it is
 * read from a descriptor, which the kernel fills, the profile ends and the kernel gets it.
 * Signal-safe.
 */
bool signal_hold_back(siginfo_t *information, ucontext_t *context);

/* One that was held back and that the calling thread does not believe blocked now: it is to be
 * delivered. Asked at the end of every SIGTRAP, because the kernel drops one that tells of it while
 * any other is pending. Signal-safe. */
bool signal_take_held(siginfo_t *information);

/* Whether an event of ours brought this SIGTRAP. Signal-safe. */
bool signal_is_of_event(const siginfo_t *information);

/* Whether one is held back for the calling thread, as sigpending(2) would tell. Signal-safe. */
bool signal_is_held(void);

/*
 * A wait for signals: false: SIGTRAP is not among them, or not blocked, and it is none of ours.
 * Else one that is held back is taken first, or the kernel waits; a result of the kernel's may be
 * no signal of the target's, and is waited on, or the one that was held. Signal-safe.
 */
bool signal_wait_begin(const sigset_t *set);
bool signal_wait_take(siginfo_t *information);
bool signal_wait_is_over(int result, siginfo_t *information);
void signal_wait_end(void);

/* The target has made a descriptor that SIGTRAP is read from. */
void signal_read_from_descriptor(void);

/* Once the profile has ended, the calling thread's mask becomes what it believes. Signal-safe. */
void signal_give_back(void);

/* The target's code jumps: from one of its handlers perhaps, which SIGTRAP is blocked in, and to a
 * place that no mask was saved for. Signal-safe. */
void signal_before_jump(bool mask_was_saved);

/* Whether the calling thread believes SIGTRAP blocked, for a thread that inherits its mask. */
bool signal_is_believed_blocked(void);
void signal_believe_blocked(bool);
/* Whether a program that the calling thread starts by exec is to have it blocked: a child of vfork
 * may have set another mask. */
bool signal_kernel_should_block(void);

/* Blocks every signal but faults in the calling thread, for code that must not be re-entered; and
 * back. */
void signals_block(sigset_t *before);
void signals_restore(const sigset_t *before);

#endif
