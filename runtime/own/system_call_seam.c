/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests, in the place of system_call_kernel.c. See system_call.h. */
#include "interposition/interpose.h"
#include "own/system_call.h"

long system_call_make(long number, const long argument[6])
{
    static long (*next)(long, ...);

    if (!next)
        next = interpose_real("syscall");
    return next(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                argument[5]);
}
