/* SPDX-License-Identifier: BSD-3-Clause */
/* A child that lets its parent trace it would stop for the parent at every sample: it goes on
 * without a profile, and so does the program that it becomes. Runs in the target's normal code. */
#include <stdarg.h>
#include <sys/ptrace.h>

#include "interposition/interpose.h"
#include "process/process.h"

INTERPOSED long ptrace(enum __ptrace_request request, ...)
{
    static long (*next)(enum __ptrace_request, void *, void *, void *);
    void *arguments[3];
    va_list list;

    va_start(list, request);
    for (int i = 0; i < 3; i++)
        arguments[i] = va_arg(list, void *);
    va_end(list);
    if (request == PTRACE_TRACEME)
        process_before_tracing();
    if (!next)
        next = interpose_real("ptrace");
    return next(request, arguments[0], arguments[1], arguments[2]);
}
