/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers run in the target's normal code or in its handlers. Signal-safe.
 *
 * Handlers of the target run with the kernel's mask that they ask for, SIGTRAP in it too: that is
 * theirs to ask, and soon over. One that leaves by a jump without a saved mask would keep it
 * blocked, and the thread would not be sampled again. So the mask is looked at before such a jump,
 * where any handler may have blocked it.
 */
#include <setjmp.h>

#include "interposition/interpose.h"
#include "interposition/interpose_signal.h"

#include "signal_safe.h"

typedef void jump(struct __jmp_buf_tag *, int);

__attribute__((noreturn)) static void leave(struct __jmp_buf_tag *to, int value, const char *name,
                                            jump **next)
{
    signal_before_jump(to->__mask_was_saved);
    if (!*next)
        *next = (jump *)interpose_real(name);
    (*next)(to, value);
    __builtin_unreachable();
}

INTERPOSED void longjmp(struct __jmp_buf_tag to[1], int value)
{
    static jump *next;

    leave(to, value, "longjmp", &next);
}

INTERPOSED void _longjmp(struct __jmp_buf_tag to[1], int value)
{
    static jump *next;

    leave(to, value, "_longjmp", &next);
}

INTERPOSED void siglongjmp(struct __jmp_buf_tag to[1], int value)
{
    static jump *next;

    leave(to, value, "siglongjmp", &next);
}

/* What calls become with _FORTIFY_SOURCE. */
INTERPOSED __attribute__((noreturn)) void __longjmp_chk(struct __jmp_buf_tag to[1], int value);
INTERPOSED void __longjmp_chk(struct __jmp_buf_tag to[1], int value)
{
    static jump *next;

    leave(to, value, "__longjmp_chk", &next);
}
