/* SPDX-License-Identifier: BSD-3-Clause */
/* See own_calls.h. */
#include "own/own_calls.h"

#include <sys/syscall.h>

#include "signal_safe.h"

static __thread struct own_calls calls __attribute__((tls_model("initial-exec")));

void own_calls_note(long number)
{
    calls.reads += number == SYS_read || number == SYS_pread64;
    calls.writes += number == SYS_write || number == SYS_pwrite64;
}

struct own_calls own_calls_now(void)
{
    return calls;
}
