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

/* The C library's own; usable before signal_begin(). Signal-safe. */
int real_sigaction(int signal, const struct sigaction *action, struct sigaction *old);
int real_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);

/* Calls a handler of the target's from a handler of ours, under the mask that it asked for: the
 * return from ours restores it. Signal-safe. */
void signal_call_handler(const struct sigaction *action, int signal, siginfo_t *information,
                         ucontext_t *context);

/* Takes SIGTRAP over and unblocks it in the calling thread. 0 or -errno. */
int signal_begin(trap_handler handler);

/* Whether ip is the first instruction of our SIGTRAP handler. Signal-safe. */
bool signal_is_at_trap_entry(uint64_t ip);

/* Gives SIGTRAP back as the target last left it. */
void signal_end(void);

/* Whether the calling thread believes SIGTRAP blocked, for a thread that inherits its mask. */
bool signal_is_believed_blocked(void);
void signal_believe_blocked(bool);

/* Blocks every signal in the calling thread, for code that must not be re-entered; and back. */
void signals_block(sigset_t *before);
void signals_restore(const sigset_t *before);

#endif
