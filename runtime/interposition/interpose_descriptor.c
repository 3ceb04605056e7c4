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

#include "interposition/descriptors.h"
#include "interposition/interpose.h"
#include "interposition/interpose_signal.h"
#include "interposition/interpose_stderr.h"
#include "process/process.h"
#include "unwinding/unwind.h"

INTERPOSED int close(int descriptor)
{
    static int (*next)(int);

    /* The copies in a vfork child or a foreign process are its own to close. */
    if (descriptor_is_ours(descriptor) && process_is_ours()) {
        errno = EBADF;
        return -1;
    }
    if (descriptor == STDERR_FILENO && process_is_ours()) {
        struct unwind_start caller = UNWIND_START_OF_CALLER();

        stderr_before_close(&caller);
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

/* dup3(2) onto a number that is ours, or may become so meanwhile: ours gives way. */
static int duplicate_onto(int from, int to, int (*call)(int, int, int), int flags)
{
    sigset_t before;
    int result;

    signals_block(&before);
    for (;;) {
        descriptors_hold_limit();
        if (!descriptor_is_ours(to) || descriptor_give_way(to))
            break;
        descriptors_let_limit_go();
        process_move_profile(to);
    }
    result = call(from, to, flags);
    descriptors_let_limit_go();
    signals_restore(&before);
    return result;
}

static int (*next_dup2)(int, int);
static int (*next_dup3)(int, int, int);

static int call_dup2(int from, int to, int flags)
{
    (void)flags;
    return next_dup2(from, to);
}

static bool is_hidden(int descriptor)
{
    if (!descriptor_is_ours(descriptor) || !process_is_ours())
        return false;
    errno = EBADF;
    return true;
}

INTERPOSED int dup2(int from, int to)
{
    if (!next_dup2)
        next_dup2 = interpose_real("dup2");
    if (is_hidden(from))
        return -1;
    return descriptor_may_be_ours(to) && process_is_ours() ? duplicate_onto(from, to, call_dup2, 0)
                                                           : next_dup2(from, to);
}

INTERPOSED int dup3(int from, int to, int flags)
{
    if (!next_dup3)
        next_dup3 = interpose_real("dup3");
    if (is_hidden(from))
        return -1;
    return descriptor_may_be_ours(to) && process_is_ours()
               ? duplicate_onto(from, to, next_dup3, flags)
               : next_dup3(from, to, flags);
}

/* fcntl and fcntl64 take an int, a long or a pointer: all travel as one word. */
static int control(int descriptor, int command, void *argument, const char *name,
                   int (**next)(int, int, void *))
{
    if (is_hidden(descriptor))
        return -1;
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
