/* SPDX-License-Identifier: BSD-3-Clause */
/* See system_call.h. Signal-safe. */
#include "own/raw_call.h"
#include "own/system_call.h"

#include "signal_safe.h"

long system_call_make(long number, const long argument[6])
{
    return raw_call_with_errno(raw_call(number, argument[0], argument[1], argument[2], argument[3],
                                        argument[4], argument[5]));
}
