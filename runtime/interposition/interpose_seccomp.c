/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target that puts itself into a sandbox may be killed for what we would do afterwards: the
 * profile ends before the sandbox begins. libseccomp asks for it by number (interpose_syscall.c).
 * One that forbids itself the time stamp counter forbids it to us, and one that has all system
 * calls sent to a handler of its own would get ours. Runs in the target's normal code.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "interposition/interpose.h"
#include "interposition/interpose_syscall.h"
#include "own/clock.h"
#include "own/raw_call.h"
#include "process/process.h"
#include "unwinding/unwind.h"

/* A filter that the kernel will refuse is a question whether there are any: the usual one is NULL.
 */
static bool is_refused(const struct sock_fprog *program)
{
    if ((uintptr_t)program % sizeof(void *) != 0 || !unwind_is_readable((uintptr_t)program) ||
        !unwind_is_readable((uintptr_t)program + 8))
        return true;
    return program->len == 0 || program->len > BPF_MAXINSNS ||
           !unwind_is_readable((uintptr_t)program->filter & -8ul);
}

/* Filters take the promise to gain no rights, or those of the superuser. */
static bool may_filter(void)
{
    return raw_call(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 1 ||
           raw_call(SYS_geteuid, 0, 0, 0, 0, 0, 0) == 0;
}

static void sandbox_begins(int mode, const struct sock_fprog *program)
{
    if (mode == SECCOMP_MODE_STRICT ||
        (mode == SECCOMP_MODE_FILTER && may_filter() && !is_refused(program)))
        process_before_sandbox("enters a seccomp sandbox");
}

void sandbox_by_number(long operation, long program)
{
    if (operation == SECCOMP_SET_MODE_STRICT)
        sandbox_begins(SECCOMP_MODE_STRICT, NULL);
    else if (operation == SECCOMP_SET_MODE_FILTER)
        sandbox_begins(SECCOMP_MODE_FILTER, (const struct sock_fprog *)program);
}

void sandbox_by_control(long option, long a, long b)
{
    if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV)
        clock_avoid_counter();
    else if (option == PR_SET_SECCOMP)
        sandbox_begins((int)a, (const struct sock_fprog *)b);
    else if (option == PR_SET_SYSCALL_USER_DISPATCH && a == PR_SYS_DISPATCH_ON)
        /* As Wine does for Windows programs; it would get ours as well. */
        process_before_sandbox("serves system calls itself");
}

INTERPOSED int prctl(int option, ...)
{
    static int (*next)(int, unsigned long, unsigned long, unsigned long, unsigned long);
    unsigned long arguments[4];
    va_list list;

    va_start(list, option);
    for (int i = 0; i < 4; i++)
        arguments[i] = va_arg(list, unsigned long);
    va_end(list);
    sandbox_by_control(option, (long)arguments[0], (long)arguments[1]);
    if (!next)
        next = interpose_real("prctl");
    return next(option, arguments[0], arguments[1], arguments[2], arguments[3]);
}
