/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: in the place of system_call.c, asks whoever comes next for system calls, so that a
 * stand-in that is preloaded can answer. */
#include <stdarg.h>
#include <unistd.h>

#include "interpose.h"

long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    static long (*next)(long, ...);
    long argument[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    if (!next)
        next = interpose_real("syscall");
    return next(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                argument[5]);
}
