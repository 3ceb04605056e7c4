/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits of the process, as the target has set them. RLIMIT_NOFILE is another one for a moment when
 * a descriptor is taken over (descriptors.c), which is neither to be seen nor to be overwritten. A
 * limit of memory that the target sets is raised by what profiling takes of it, which is not the
 * target's, until it starts another program. System calls by number, for the core asks as well.
 * Signal-safe.
 */
#include "interposition/interpose_limit.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposition/descriptors.h"
#include "interposition/interpose.h"
#include "interposition/interpose_signal.h"
#include "own/raw_call.h"
#include "process/process.h"
#include "process/surroundings.h"

#include "signal_safe.h"

static long call(pid_t pid, int resource, const struct rlimit *limit, struct rlimit *old)
{
    return raw_call(SYS_prlimit64, pid, resource, (long)limit, (long)old, 0, 0);
}

/* ---- limits of memory ---- */

/* What the target has asked for and the kernel was told instead. Guarded as RLIMIT_NOFILE is. */
static struct raised {
    int resource;
    bool known;
    struct rlimit wanted, told;
} raised_limits[] = {{.resource = RLIMIT_AS}, {.resource = RLIMIT_DATA}};

enum { RAISED_LIMITS = sizeof raised_limits / sizeof *raised_limits };

static struct raised *raised_of(pid_t pid, int resource)
{
    for (unsigned i = 0; i < RAISED_LIMITS; i++)
        if (raised_limits[i].resource == resource && (pid == 0 || pid == getpid()))
            return &raised_limits[i];
    return NULL;
}

/* Whether what the kernel has is what it was told: another process may have changed it. */
static bool is_in_force(const struct raised *raised, const struct rlimit *kernel)
{
    return raised->known && kernel->rlim_cur == raised->told.rlim_cur &&
           kernel->rlim_max == raised->told.rlim_max;
}

static rlim_t with_ours(rlim_t limit, rlim_t most)
{
    if (limit > RLIM_INFINITY - SURROUNDINGS_OURS_BYTES)
        return limit;
    return limit + SURROUNDINGS_OURS_BYTES < most ? limit + SURROUNDINGS_OURS_BYTES : most;
}

/* What the kernel refuses to the target, it refuses to us: a hard limit goes up only where the
 * target's does. */
static struct rlimit raise_limit(const struct rlimit *wanted, const struct rlimit *seen,
                                 const struct rlimit *kernel)
{
    bool goes_up = wanted->rlim_max > seen->rlim_max;
    struct rlimit told = {
        .rlim_max = with_ours(wanted->rlim_max, goes_up ? RLIM_INFINITY : kernel->rlim_max)};

    told.rlim_cur = with_ours(wanted->rlim_cur, told.rlim_max);
    return told;
}

static long change_raised(struct raised *raised, const struct rlimit *limit, struct rlimit *old)
{
    struct rlimit kernel, seen, wanted, told;
    long result = call(0, raised->resource, NULL, &kernel);

    if (result != 0)
        return result;
    seen = is_in_force(raised, &kernel) ? raised->wanted : kernel;
    if (limit) {
        wanted = *limit;
        if (wanted.rlim_cur > wanted.rlim_max)
            return -EINVAL;
        told = process_is_ours() ? raise_limit(&wanted, &seen, &kernel) : wanted;
        result = call(0, raised->resource, &told, NULL);
        if (result != 0)
            return result;
        /* A child of vfork has a limit of its own, and our memory. */
        if (process_is_ours())
            *raised = (struct raised){raised->resource, true, wanted, told};
    }
    if (old)
        *old = seen;
    return 0;
}

void limits_before_exec(void)
{
    struct rlimit kernel;

    for (unsigned i = 0; i < RAISED_LIMITS; i++) {
        const struct raised *raised = &raised_limits[i];

        if (raised->known && call(0, raised->resource, NULL, &kernel) == 0 &&
            is_in_force(raised, &kernel))
            call(0, raised->resource, &raised->wanted, NULL);
    }
}

/* Where the hard limit cannot be raised any more, the target's own it is. */
void limits_after_exec(void)
{
    struct rlimit kernel;

    for (unsigned i = 0; i < RAISED_LIMITS; i++) {
        const struct raised *raised = &raised_limits[i];

        if (raised->known && call(0, raised->resource, NULL, &kernel) == 0 &&
            kernel.rlim_cur == raised->wanted.rlim_cur &&
            kernel.rlim_max == raised->wanted.rlim_max)
            call(0, raised->resource, &raised->told, NULL);
    }
}

/* ---- what the target calls ---- */

/* Without the lock, which takes three more system calls: the answer is the target's own unless its
 * limit was another one meanwhile. */
static bool is_answered(pid_t pid, int resource, struct rlimit *old, long *result)
{
    const unsigned changes = descriptors_limit_changes();

    if (changes % 2 != 0)
        return false;
    *result = call(pid, resource, NULL, old);
    return descriptors_limit_changes() == changes;
}

static int change(pid_t pid, int resource, const struct rlimit *limit, struct rlimit *old)
{
    struct raised *raised = raised_of(pid, resource);
    sigset_t before;
    long result = 0;
    bool answered = resource == RLIMIT_NOFILE && !limit && is_answered(pid, resource, old, &result);
    bool held = !answered && (resource == RLIMIT_NOFILE || raised) && process_is_ours();

    if (held) {
        signals_block(&before);
        descriptors_hold_limit();
    }
    if (!answered)
        result = raised ? change_raised(raised, limit, old) : call(pid, resource, limit, old);
    if (held) {
        descriptors_let_limit_go();
        signals_restore(&before);
    }
    if (result == 0)
        return 0;
    errno = (int)-result;
    return -1;
}

INTERPOSED int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    return change(0, (int)resource, NULL, limit);
}

INTERPOSED int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
    return change(0, (int)resource, limit, NULL);
}

INTERPOSED int prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *limit,
                       struct rlimit *old)
{
    return change(pid, (int)resource, limit, old);
}

/* rlim_t has 64 bits on the machines that we support. */
INTERPOSED int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit)
    __attribute__((alias("getrlimit")));
INTERPOSED int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
    __attribute__((alias("setrlimit")));
INTERPOSED int prlimit64(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *limit,
                         struct rlimit64 *old) __attribute__((alias("prlimit")));
