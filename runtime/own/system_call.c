/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. What calls of syscall() in this library are linked to (--wrap in Makefile.am), as in
 * system_calls.c. By itself, so that the tests' library can have another. */
#include <stdarg.h>
#include <unistd.h>

#include "own/raw_call.h"

#include "signal_safe.h"

/* Reads six arguments, whatever the call takes: registers, and then words of the caller's frame. */
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    long argument[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    return raw_call_with_errno(raw_call(number, argument[0], argument[1], argument[2], argument[3],
                                        argument[4], argument[5]));
}
