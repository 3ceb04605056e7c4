/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects that go at run time; those that come are met when they are sampled (modules.h). Runs in
 * the target's normal code. */
#include <dlfcn.h>
#include <errno.h>

#include "interposition/interpose.h"
#include "interposition/interpose_signal.h"
#include "memory/modules.h"
#include "process/process.h"
#include "unwinding/unwind.h"

INTERPOSED int dlclose(void *handle)
{
    static int (*next)(void *);
    sigset_t before;
    int result, saved;

    if (!next)
        next = interpose_real("dlclose");
    if (!process_is_ours())
        return next(handle);
    unwind_loader_enter();
    result = next(handle);
    unwind_loader_leave(true);
    saved = errno;
    signals_block(&before);
    modules_unloaded();
    signals_restore(&before);
    errno = saved;
    return result;
}
