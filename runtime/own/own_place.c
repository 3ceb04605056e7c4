/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "own/own_place.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "own/raw_call.h"

#include "signal_safe.h"

enum { HUGE_PAGE = 2 << 20 }; /* the least, of any machine */

void *own_place(size_t bytes)
{
    static _Atomic uint64_t taken;
    const uint64_t page = getauxval(AT_PAGESZ), whole = (bytes + page - 1) & -page;

#ifdef __SANITIZE_THREAD__
    /* Its shadow memory is there. */
    return NULL;
#endif
    return (void *)(uintptr_t)(((uintptr_t)&taken / 2 & -page) +
                               atomic_fetch_add_explicit(&taken, whole, memory_order_relaxed));
}

void own_small_pages(void *memory, size_t bytes)
{
    const uintptr_t page = getauxval(AT_PAGESZ);
    const uintptr_t low = ((uintptr_t)memory + page - 1) & -page;
    const uintptr_t high = ((uintptr_t)memory + bytes) & -page;

    /* A kernel without huge pages refuses, and gives none. */
    if (low + HUGE_PAGE <= high)
        raw_call(SYS_madvise, (long)low, (long)(high - low), MADV_NOHUGEPAGE, 0, 0, 0);
}
