/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. What calls of syscall() in this library are linked to (--wrap in Makefile.am), as in
 * system_calls.c. */
#include "own/system_call.h"

#include <stdarg.h>
#include <unistd.h>

#include "own/own_calls.h"

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
    own_calls_note(number);
    return system_call_make(number, argument);
}
