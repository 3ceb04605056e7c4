/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target that puts itself into a sandbox may be killed for what we would do afterwards: the
 * profile ends before the sandbox begins. A target that makes the seccomp system call by number,
 * without libseccomp, goes unnoticed. Runs in the target's normal code.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "interpose.h"
#include "process.h"

INTERPOSED int prctl(int option, ...)
{
    static int (*next)(int, unsigned long, unsigned long, unsigned long, unsigned long);
    unsigned long arguments[4];
    va_list list;

    va_start(list, option);
    for (int i = 0; i < 4; i++)
        arguments[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP)
        process_before_sandbox();
    if (!next)
        next = interpose_real("prctl");
    return next(option, arguments[0], arguments[1], arguments[2], arguments[3]);
}

/* libseccomp's, which makes the system call by number. Without libseccomp nobody calls this. */
INTERPOSED int seccomp_load(void *filter);
INTERPOSED int seccomp_load(void *filter)
{
    static int (*next)(void *);

    process_before_sandbox();
    if (!next)
        next = interpose_real("seccomp_load");
    return next ? next(filter) : -ENOSYS;
}
