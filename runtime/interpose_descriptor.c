/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target that closes every descriptor, as daemons do, must not close ours, and must not see them
 * when it uses their numbers: to it they are not open.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <unistd.h>

#include "descriptors.h"
#include "interpose.h"
#include "process.h"

INTERPOSED int close(int descriptor)
{
    static int (*next)(int);

    /* The copies in a vfork child or a foreign process are its own to close. */
    if (descriptor_is_ours(descriptor) && process_is_ours()) {
        errno = EBADF;
        return -1;
    }
    if (!next)
        next = interpose_real("close");
    return next(descriptor);
}

/* Calls close_range on the stretches between our descriptors. */
static int close_around(unsigned first, unsigned last, int flags,
                        int (*next)(unsigned, unsigned, int))
{
    int result = 0;

    for (int ours = descriptor_next(first < DESCRIPTOR_TABLE ? (int)first : DESCRIPTOR_TABLE);
         ours >= 0 && (unsigned)ours <= last; ours = descriptor_next(ours + 1)) {
        if ((unsigned)ours > first)
            result |= next(first, (unsigned)ours - 1, flags);
        first = (unsigned)ours + 1;
    }
    if (first <= last)
        result |= next(first, last, flags);
    return result ? -1 : 0;
}

INTERPOSED int close_range(unsigned first, unsigned last, int flags)
{
    static int (*next)(unsigned, unsigned, int);

    if (!next)
        next = interpose_real("close_range");
    /* CLOSE_RANGE_CLOEXEC only marks, and ours are marked anyway. */
    if (first > last || (flags & ~2) == 4 || (flags & 4) || !process_is_ours())
        return next(first, last, flags);
    return close_around(first, last, flags, next);
}

INTERPOSED void closefrom(int lowest)
{
    static void (*next)(int);

    if (!process_is_ours()) {
        if (!next)
            next = interpose_real("closefrom");
        next(lowest);
        return;
    }
    close_range(lowest < 0 ? 0 : (unsigned)lowest, ~0u, 0);
}

/* dup2 and dup3 onto one of our numbers: ours gives way. */
INTERPOSED int dup2(int from, int to)
{
    static int (*next)(int, int);

    if (!next)
        next = interpose_real("dup2");
    if (process_is_ours()) {
        if (descriptor_is_ours(from)) {
            errno = EBADF;
            return -1;
        }
        if (descriptor_is_ours(to))
            process_yield_descriptor(to);
    }
    return next(from, to);
}

INTERPOSED int dup3(int from, int to, int flags)
{
    static int (*next)(int, int, int);

    if (!next)
        next = interpose_real("dup3");
    if (process_is_ours()) {
        if (descriptor_is_ours(from)) {
            errno = EBADF;
            return -1;
        }
        if (descriptor_is_ours(to))
            process_yield_descriptor(to);
    }
    return next(from, to, flags);
}

/* fcntl and fcntl64 take an int, a long or a pointer: all travel as one word. */
static int control(int descriptor, int command, void *argument, const char *name,
                   int (**next)(int, int, void *))
{
    if (descriptor_is_ours(descriptor) && process_is_ours()) {
        errno = EBADF;
        return -1;
    }
    if (!*next)
        *next = interpose_real(name);
    return (*next)(descriptor, command, argument);
}

INTERPOSED int fcntl(int descriptor, int command, ...)
{
    static int (*next)(int, int, void *);
    va_list list;
    void *argument;

    va_start(list, command);
    argument = va_arg(list, void *);
    va_end(list);
    return control(descriptor, command, argument, "fcntl", &next);
}

INTERPOSED int fcntl64(int descriptor, int command, ...)
{
    static int (*next)(int, int, void *);
    va_list list;
    void *argument;

    va_start(list, command);
    argument = va_arg(list, void *);
    va_end(list);
    return control(descriptor, command, argument, "fcntl64", &next);
}
