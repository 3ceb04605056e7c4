/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers run in the target's normal code or in its handlers. Signal-safe.
 *
 * Why masks are interposed: a thread that blocks SIGTRAP (worker threads commonly block every
 * signal) would never be sampled. The kernel's mask therefore never contains SIGTRAP; what the
 * target believes is remembered per thread, and a SIGTRAP that is not ours waits for it.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bursts/thread.h"
#include "interposition/held_trap.h"
#include "interposition/interpose.h"
#include "interposition/interpose_signal.h"
#include "own/raw_call.h"
#include "process/process.h"

#include "signal_safe.h"

/* What this thread believes about SIGTRAP. Written by its own thread only. */
static __thread bool believes_blocked __attribute__((tls_model("initial-exec")));
/* A foreign SIGTRAP that arrived while believed blocked; delivered when unblocked. What was sent to
 * the process is in held_trap.c. */
static __thread bool pending_foreign __attribute__((tls_model("initial-exec")));
static __thread siginfo_t pending_information __attribute__((tls_model("initial-exec")));
/* It is about to wait for one in the kernel, does so, or has just done so. */
static __thread bool awaits __attribute__((tls_model("initial-exec")));
/* Meanwhile one came too early or too late, and the kernel keeps it. */
static __thread bool really_blocked __attribute__((tls_model("initial-exec")));

/* A child of vfork on this thread's memory that has set its own mask, in the kernel. */
static __thread pid_t child_with_mask __attribute__((tls_model("initial-exec")));

/* Descriptors may have been made that SIGTRAP is read from. */
static _Atomic bool read_from_descriptors;

bool signal_is_believed_blocked(void)
{
    return believes_blocked;
}

bool signal_kernel_should_block(void)
{
    return believes_blocked && (child_with_mask == 0 || child_with_mask != getpid());
}

/* For the others that hold one back. */
static void tell_wish(void)
{
    struct thread *thread = thread_current();

    if (thread)
        atomic_store(&thread->takes_traps, !believes_blocked || awaits);
}

void signal_believe_blocked(bool blocked)
{
    believes_blocked = blocked;
    tell_wish();
}

/* So that it is pending where it would be without us. The kernel lets only the first thread say
 * whom kill(2) was called by: else it is this process. */
static void send_again(siginfo_t *information)
{
    if (!held_trap_is_for_process(information))
        raw_call(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGTRAP, (long)information,
                 0, 0);
    else if (raw_call(SYS_rt_sigqueueinfo, getpid(), SIGTRAP, (long)information, 0, 0, 0) != 0)
        raw_call(SYS_kill, getpid(), SIGTRAP, 0, 0, 0, 0);
}

static void change_trap(int how)
{
    sigset_t trap;

    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    signals_change(how, &trap, NULL);
}

void signal_give_back(void)
{
    siginfo_t information;

    if (!signal_is_taken() || !process_has_ended() || !believes_blocked)
        return;
    believes_blocked = false;
    change_trap(SIG_BLOCK);
    if (pending_foreign) {
        pending_foreign = false;
        send_again(&pending_information);
    }
    if (held_trap_take(&information))
        send_again(&information);
}

/* Another thread takes the one that is held for the process, if there is any that does. */
static void offer(void)
{
    pid_t own = (pid_t)syscall(SYS_gettid);

    for (struct thread *thread = thread_first(); thread; thread = thread->next) {
        pid_t tid = atomic_load(&thread->tid);

        if (atomic_load(&thread->alive) && atomic_load(&thread->takes_traps) && tid != own &&
            tid != 0 && held_trap_tell(tid))
            return;
    }
}

/* From the return of the handler on, the kernel keeps what the thread believes blocked. */
static void leave_to_kernel(siginfo_t *information, ucontext_t *context)
{
    sigaddset(&context->uc_sigmask, SIGTRAP);
    send_again(information);
}

/* The profile has ended in this handler, where SIGTRAP is blocked. An event of ours that came
 * meanwhile must not stay pending: the target would read it. */
static void drop_own(void)
{
    /* The thread's and the process's, of one SIGTRAP each. */
    enum { QUEUES = 2, KERNEL_SET_BYTES = 8 };
    const struct timespec now = {0};
    siginfo_t taken, kept[QUEUES];
    unsigned count = 0;
    sigset_t trap;

    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    while (count < QUEUES && raw_call(SYS_rt_sigtimedwait, (long)&trap, (long)&taken, (long)&now,
                                      KERNEL_SET_BYTES, 0, 0) == SIGTRAP)
        if (!held_trap_is_telling(&taken) && !signal_is_of_event(&taken))
            kept[count++] = taken;
    while (count > 0)
        send_again(&kept[--count]);
}

bool signal_hold_back(siginfo_t *information, ucontext_t *context)
{
    /* One that tells of another is none itself: signal_take_held() comes next. */
    if (held_trap_is_telling(information) && (!believes_blocked || !held_trap_take(information)))
        return true;
    if (!believes_blocked)
        return false;
    if (process_has_ended()) {
        believes_blocked = false;
        leave_to_kernel(information, context);
    } else if (awaits) {
        /* The wait finds out that it is there. */
        held_trap_put(information);
        really_blocked = true;
        sigaddset(&context->uc_sigmask, SIGTRAP);
        held_trap_tell((pid_t)syscall(SYS_gettid));
    } else if (!held_trap_is_for_process(information)) {
        pending_foreign = true;
        pending_information = *information;
    } else {
        held_trap_put(information);
        offer();
        if (atomic_load(&read_from_descriptors) && held_trap_take(information)) {
            process_before_signalfd();
            drop_own();
            believes_blocked = false;
            leave_to_kernel(information, context);
        }
    }
    return true;
}

/* By a SIGTRAP of ours, in whose handler it is taken. Not sent itself: the kernel drops a SIGTRAP
 * while another is pending, and with it what was held. Any that is pending serves as well. */
static void deliver_held(void)
{
    if (pending_foreign || held_trap_waits())
        held_trap_tell((pid_t)syscall(SYS_gettid));
}

void signal_mask_after_fork(void)
{
    child_with_mask = 0;
    pending_foreign = false;
    held_trap_after_fork();
}

/* Applies a change of mask with SIGTRAP taken out of it, and keeps what the thread believes. */
static int change_mask(int how, const sigset_t *set, sigset_t *old,
                       int (*next)(int, const sigset_t *, sigset_t *))
{
    bool believed;
    sigset_t adjusted;
    int result;

    signal_give_back();
    believed = believes_blocked;
    if (!signal_is_taken())
        return next(how, set, old);
    if (!process_is_ours()) {
        /* A child of vfork: its mask is its own, what the thread believes is the parent's. */
        believed = signal_kernel_should_block();
        result = next(how, set, old);
        if (result == 0 && old && believed)
            sigaddset(old, SIGTRAP);
        if (result == 0 && set && (how == SIG_SETMASK || sigismember(set, SIGTRAP) == 1))
            child_with_mask = getpid();
        return result;
    }
    if (set) {
        adjusted = *set;
        if (sigismember(set, SIGTRAP) == 1) {
            if (how == SIG_BLOCK || how == SIG_SETMASK) {
                believes_blocked = true;
                sigdelset(&adjusted, SIGTRAP);
            } else if (how == SIG_UNBLOCK) {
                believes_blocked = false;
            }
        } else if (how == SIG_SETMASK) {
            believes_blocked = false;
        }
    }
    result = next(how, set ? &adjusted : NULL, old);
    if (result != 0) {
        believes_blocked = believed;
        return result;
    }
    if (old && believed)
        sigaddset(old, SIGTRAP);
    if (believes_blocked != believed)
        tell_wish();
    if (!believes_blocked)
        deliver_held();
    return result;
}

INTERPOSED int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    static int (*next)(int, const sigset_t *, sigset_t *);

    if (!next)
        next = interpose_real("pthread_sigmask");
    return change_mask(how, set, old, next);
}

INTERPOSED int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    static int (*next)(int, const sigset_t *, sigset_t *);

    if (!next)
        next = interpose_real("sigprocmask");
    return change_mask(how, set, old, next);
}

bool signal_is_held(void)
{
    signal_give_back();
    return pending_foreign || held_trap_waits();
}

/* A SIGTRAP that was held back is what a thread that waits for SIGTRAP gets first. */
static bool take_held(siginfo_t *information)
{
    if (!pending_foreign)
        return held_trap_take(information);
    pending_foreign = false;
    if (information)
        *information = pending_information;
    return true;
}

bool signal_take_held(siginfo_t *information)
{
    return !believes_blocked && !process_has_ended() && take_held(information);
}

bool signal_wait_begin(const sigset_t *set)
{
    signal_give_back();
    if (!believes_blocked || !process_is_ours() || sigismember(set, SIGTRAP) != 1)
        return false;
    /* First known to who holds one back, then looked whether somebody has. */
    awaits = true;
    tell_wish();
    return true;
}

bool signal_wait_take(siginfo_t *information)
{
    return take_held(information);
}

bool signal_wait_is_over(int result, siginfo_t *information)
{
    return result != SIGTRAP ||
           !(held_trap_is_telling(information) || signal_is_of_event(information)) ||
           take_held(information);
}

void signal_wait_end(void)
{
    awaits = false;
    tell_wish();
    if (really_blocked) {
        really_blocked = false;
        change_trap(SIG_UNBLOCK);
    }
}

void signal_read_from_descriptor(void)
{
    siginfo_t information;

    atomic_store(&read_from_descriptors, true);
    if (signal_is_taken() && process_is_ours() && believes_blocked && take_held(&information)) {
        process_before_signalfd();
        signal_give_back();
        send_again(&information);
    }
}
