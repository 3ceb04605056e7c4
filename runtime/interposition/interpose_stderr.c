/* SPDX-License-Identifier: BSD-3-Clause */
#include "interposition/interpose_stderr.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposition/descriptors.h"
#include "interposition/interpose.h"
#include "interposition/interpose_signal.h"
#include "output/say.h"
#include "own/bound.h"
#include "own/raw_call.h"
#include "process/process.h"
#include "unwinding/unwind.h"

/* Handlers are called from exit(), be it called by the program or after main() has returned. */
static bool is_exiting(const struct unwind_start *caller)
{
    uint64_t frames[UNWIND_FRAMES_MAX];
    size_t count = unwind(caller, frames, UNWIND_FRAMES_MAX);

    for (size_t i = 0; i < count; i++)
        if (bound_covers("exit", frames[i] - 1))
            return true;
    return false;
}

/* -1: none. */
static int copy = -1;

void stderr_before_close(const struct unwind_start *caller)
{
    sigset_t before;

    if (copy >= 0 || !is_exiting(caller))
        return;
    signals_block(&before);
    if (say_needs_stderr() &&
        descriptor_adopt((int)raw_call(SYS_fcntl, STDERR_FILENO, F_DUPFD_CLOEXEC, 0, 0, 0, 0),
                         &copy) >= 0)
        say_to_copy(&copy);
    signals_restore(&before);
}

void stderr_after_fork(void)
{
    copy = -1;
}

INTERPOSED int fclose(FILE *stream)
{
    static int (*next)(FILE *);

    /* As fileno() has it, but with no call that the target can replace. */
    if (stream && stream->_fileno == STDERR_FILENO && process_is_ours()) {
        struct unwind_start caller = UNWIND_START_OF_CALLER();

        stderr_before_close(&caller);
        if (copy < 0)
            process_before_stderr_closes();
    }
    if (!next)
        next = interpose_real("fclose");
    return next(stream);
}
