/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits of the process, as the target has set them: RLIMIT_NOFILE is another one for a moment when
 * a descriptor is taken over (descriptors.c), which is neither to be seen nor to be overwritten.
 * System calls by number, for the core asks as well. Signal-safe.
 */
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposition/descriptors.h"
#include "interposition/interpose.h"
#include "interposition/interpose_signal.h"
#include "own/raw_call.h"
#include "process/process.h"

#include "signal_safe.h"

static int change(pid_t pid, int resource, const struct rlimit *limit, struct rlimit *old)
{
    bool held = resource == RLIMIT_NOFILE && process_is_ours();
    sigset_t before;
    long result;

    if (held) {
        signals_block(&before);
        descriptors_hold_limit();
    }
    result = raw_call(SYS_prlimit64, pid, resource, (long)limit, (long)old, 0, 0);
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
