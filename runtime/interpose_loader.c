/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects that come and go at run time. Runs in the target's normal code.
 *
 * dlopen finds objects by the RUNPATH of its caller, so the wrapper must not stand between the two:
 * it notes the call and jumps on (arch/), and the caller's return address is the one that dlopen
 * sees. The loader's list is compared at the next chance (loader_refresh()).
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "interpose.h"
#include "interpose_loader.h"
#include "interpose_signal.h"
#include "modules.h"
#include "process.h"
#include "unwind.h"

/* Something may have been loaded since the list was last compared. */
static _Atomic bool outdated;

void loader_refresh(void)
{
    sigset_t before;
    int saved = errno;

    if (!atomic_exchange(&outdated, false))
        return;
    signals_block(&before);
    modules_refresh();
    signals_restore(&before);
    errno = saved;
}

void *loader_note_open(void) __attribute__((visibility("hidden")));
void *loader_note_open(void)
{
    static void *next;

    if (!next)
        next = interpose_real("dlopen");
    if (process_is_ours()) {
        loader_refresh();
        atomic_store(&outdated, true);
    }
    return next;
}

INTERPOSED int dlclose(void *handle)
{
    static int (*next)(void *);
    int result;

    if (!next)
        next = interpose_real("dlclose");
    if (!process_is_ours())
        return next(handle);
    loader_refresh();
    unwind_loader_enter();
    result = next(handle);
    unwind_loader_leave(true);
    atomic_store(&outdated, true);
    loader_refresh();
    return result;
}
