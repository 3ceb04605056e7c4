/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects that come and go at run time. Runs in the target's normal code.
 *
 * dlopen finds objects by the RUNPATH of its caller, so the wrapper must not stand between the two:
 * it notes the call and jumps on, and the caller's return address is the one that dlopen sees. The
 * loader's list is compared at the next chance (loader_refresh()).
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

__asm__(".text\n"
        ".globl dlopen\n"
        ".type dlopen, @function\n"
        "dlopen:\n"
        "  .cfi_startproc\n"
        "  endbr64\n"
        "  pushq %rdi\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  pushq %rsi\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  subq $8, %rsp\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  call loader_note_open\n"
        "  addq $8, %rsp\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  popq %rsi\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  popq %rdi\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  jmp *%rax\n"
        "  .cfi_endproc\n"
        ".size dlopen, . - dlopen\n");

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
