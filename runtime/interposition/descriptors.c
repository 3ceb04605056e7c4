/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "interposition/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposition/interpose_signal.h"
#include "large_table.h"
#include "recording/tape.h"
#include "spin_hint.h"

#include "signal_safe.h"

/* Bit d: descriptor d is ours. Written under limit_lock. */
static _Atomic uint64_t owned[DESCRIPTOR_TABLE / 64];
/* Of these, where its holder keeps the number; NULL: the profile's. Under limit_lock. A fork copies
 * only the pages that were written, one as a rule. */
static LARGE_TABLE int *holders[DESCRIPTOR_TABLE];
/* Where our range starts: normally at the target's own limit, where none of its descriptors can be.
 * Written at start-up. */
static int lowest = 512;

/* What the target may use, as far as that leaves room for ours below DESCRIPTOR_TABLE. */
void descriptors_begin(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    lowest = limit.rlim_cur < DESCRIPTOR_TABLE * 3 / 4 ? (int)limit.rlim_cur : DESCRIPTOR_TABLE / 2;
}

/* How often one of ours has given way: between two equal values none has. */
static _Atomic uint64_t gave_way;

/* Guards the moment in which the limit is not the target's, or a number is given out that is not
 * yet marked as ours. Signals are blocked meanwhile or this is a handler, so nothing waits for
 * itself. */
static atomic_flag limit_lock = ATOMIC_FLAG_INIT;

/* Odd while another limit than the target's is in force. */
static _Atomic unsigned limit_changes;

unsigned descriptors_limit_changes(void)
{
    return atomic_load(&limit_changes);
}

void descriptors_hold_limit(void)
{
    while (atomic_flag_test_and_set_explicit(&limit_lock, memory_order_acquire))
        spin_hint();
}

void descriptors_let_limit_go(void)
{
    atomic_flag_clear_explicit(&limit_lock, memory_order_release);
}

static int duplicate_from(int descriptor, int from)
{
    return (int)syscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, from);
}

/* Duplicates under another limit; -1 if the limit could not be set or gives no room. */
static int duplicate_under(int descriptor, const struct rlimit *own, rlim_t current, rlim_t hard)
{
    struct rlimit raised = {.rlim_cur = current, .rlim_max = hard};
    int moved = -1;

    atomic_fetch_add(&limit_changes, 1);
    if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &raised, NULL) == 0) {
        moved = duplicate_from(descriptor, lowest);
        syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, own, NULL);
    }
    atomic_fetch_add(&limit_changes, 1);
    return moved;
}

/*
 * A number at or above `lowest`. The kernel looks at the limit only when it gives a number out:
 * raised for that moment, it costs the target none of its own. Where it cannot be raised, the upper
 * half of the target's range must do. Where it is higher than our table, or the target raises it
 * later, ours are among the target's: numbers beyond would cost each fork more, for the kernel
 * copies its table up to the highest one.
 */
static int duplicate(int descriptor)
{
    struct rlimit own;
    int moved = duplicate_from(descriptor, lowest);

    if (moved >= 0)
        return moved;
    if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &own) == 0) {
        if (own.rlim_max >= DESCRIPTOR_TABLE)
            moved = duplicate_under(descriptor, &own, DESCRIPTOR_TABLE, own.rlim_max);
        else /* a higher hard limit takes privilege */
            moved = duplicate_under(descriptor, &own, DESCRIPTOR_TABLE, DESCRIPTOR_TABLE);
        if (moved < 0)
            moved = duplicate_from(descriptor, (int)(own.rlim_cur / 2));
    }
    return moved;
}

static int number_of(const int *holder)
{
    return __atomic_load_n(holder, __ATOMIC_RELAXED);
}

static void tell(int *holder, int number)
{
    __atomic_store_n(holder, number, __ATOMIC_RELAXED);
}

/* Its new number, which is ours and known to its holder (NULL: the profile's) from the moment at
 * which it is there; or -errno. The limit is held. */
static int take_number(int descriptor, int *holder)
{
    int moved = duplicate(descriptor);

    if (moved < 0) {
        moved = -errno;
    } else if (moved >= DESCRIPTOR_TABLE) {
        syscall(SYS_close, moved);
        moved = -EMFILE;
    } else {
        holders[moved] = holder;
        atomic_fetch_or_explicit(&owned[moved / 64], UINT64_C(1) << (moved % 64),
                                 memory_order_relaxed);
    }
    if (holder)
        tell(holder, moved);
    return moved;
}

static int adopt(int descriptor, int *holder)
{
    int saved = errno, moved;
    sigset_t before;

    signals_block(&before);
    descriptors_hold_limit();
    moved = take_number(descriptor, holder);
    descriptors_let_limit_go();
    signals_restore(&before);
    syscall(SYS_close, descriptor);
    errno = saved;
    return moved;
}

static int adopt_or_replay(int descriptor, int *holder)
{
    if (descriptor >= 0)
        descriptor =
            (int)tape_value(TAPE_CALL, tape_supplies() ? 0 : (uint64_t)adopt(descriptor, holder));
    return descriptor;
}

int descriptor_adopt(int descriptor, int *holder)
{
    int adopted = adopt_or_replay(descriptor, holder);

    /* Else it may have moved since, and its holder knows. */
    if (adopted < 0 || tape_supplies())
        tell(holder, adopted);
    return adopted;
}

int descriptor_adopt_profile(int descriptor)
{
    return adopt_or_replay(descriptor, NULL);
}

/* It is the target's from now on. The limit is held. */
static void let_go(int descriptor)
{
    syscall(SYS_close, descriptor);
    atomic_fetch_and_explicit(&owned[descriptor / 64], ~(UINT64_C(1) << (descriptor % 64)),
                              memory_order_relaxed);
}

bool descriptor_give_way(int descriptor)
{
    int *holder = holders[descriptor];

    if (!holder)
        return false;
    /* A holder that has forgotten it keeps another one there by now. */
    if (number_of(holder) == descriptor)
        take_number(descriptor, holder);
    atomic_fetch_add_explicit(&gave_way, 1, memory_order_release);
    let_go(descriptor);
    return true;
}

static void release(int descriptor, int *holder)
{
    int saved = errno;
    sigset_t before;

    if (tape_supplies() || !descriptor_is_ours(descriptor))
        return;
    /* In one: once it is not ours, the target may put a descriptor of its own there. Another thread
     * may have moved it meanwhile, to give way to the target. */
    signals_block(&before);
    descriptors_hold_limit();
    if (holder)
        descriptor = number_of(holder);
    if (descriptor_is_ours(descriptor) && holders[descriptor] == holder)
        let_go(descriptor);
    descriptors_let_limit_go();
    signals_restore(&before);
    errno = saved;
}

void descriptor_release(int *holder)
{
    release(number_of(holder), holder);
    tell(holder, -1);
}

void descriptor_release_profile(int descriptor)
{
    release(descriptor, NULL);
}

/* Without the lock: blocking signals for it would be two more system calls at each sample. That the
 * number is the same after it is not enough: the target may have taken it, and then the one that
 * ours has moved to, so that it is back. */
static long read_by(long call, const int *holder, void *bytes, size_t size, uint64_t at)
{
    int saved = errno;
    uint64_t before;
    long result;

    do {
        before = atomic_load_explicit(&gave_way, memory_order_acquire);
        result = syscall(call, number_of(holder), bytes, size, (off_t)at);
    } while (atomic_load_explicit(&gave_way, memory_order_acquire) != before);
    errno = saved;
    return result;
}

long descriptor_read(const int *holder, void *bytes, size_t size)
{
    return read_by(SYS_read, holder, bytes, size, 0);
}

long descriptor_read_at(const int *holder, void *bytes, size_t size, uint64_t at)
{
    return read_by(SYS_pread64, holder, bytes, size, at);
}

bool descriptor_may_be_ours(int descriptor)
{
    enum { NEVER_OURS = 16 }; /* the usual case: standard input, output, error */
    struct rlimit limit;
    int half = lowest;

    if (descriptor < NEVER_OURS)
        return false;
    /* Where the limit could not be raised, ours are in the upper half of the target's own. */
    if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) == 0 &&
        limit.rlim_cur / 2 < (rlim_t)half)
        half = (int)(limit.rlim_cur / 2);
    return descriptor >= half && descriptor < DESCRIPTOR_TABLE;
}

bool descriptor_is_ours(int descriptor)
{
    return descriptor >= 0 && descriptor < DESCRIPTOR_TABLE &&
           atomic_load_explicit(&owned[descriptor / 64], memory_order_relaxed) >>
                   (descriptor % 64) &
               1;
}

int descriptor_next(int from)
{
    for (int d = from < 0 ? 0 : from; d < DESCRIPTOR_TABLE;) {
        uint64_t word = atomic_load_explicit(&owned[d / 64], memory_order_relaxed) >> (d % 64);

        if (word)
            return d + __builtin_ctzll(word);
        d = (d / 64 + 1) * 64;
    }
    return -1;
}

void descriptor_after_fork(void)
{
    descriptors_let_limit_go();
    for (int d = descriptor_next(0); d >= 0; d = descriptor_next(d + 1))
        let_go(d);
}
