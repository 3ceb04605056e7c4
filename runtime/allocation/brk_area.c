/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the heap that brk() grows begins, asked of the kernel once, and ends, asked of it when
 * it has grown: a burst may look up some hundred addresses here. Signal-safe. */
#include <errno.h>
#include <string.h>

#include "allocation/allocation_internal.h"
#include "own/small_file.h"

#include "signal_safe.h"

enum { HEAP_UNKNOWN = 1 };

/* The area is not larger; what is mapped lies farther from it, but for odd layouts. */
#define HEAP_BYTES_MAX (UINT64_C(1) << 40)

static _Atomic uint64_t heap_start; /* 0: not asked for yet; HEAP_UNKNOWN */
/* Where it ended at some time. A heap that was trimmed is not accessed there any more. */
static _Atomic uint64_t heap_end;

/* Start of the brk area: the 47th field of /proc/self/stat (proc(5)), 0 when it cannot be read.
 * Not read at start-up: most short programs are never asked for it. System calls by number: the C
 * library's functions are places where a thread is cancelled, and this runs in handlers. */
static uint64_t read_heap_start(void)
{
    char text[1024];
    small_file_read("/proc/self/stat", text, sizeof text);
    /* The second field is the name in parentheses and may hold blanks. */
    const char *at = strrchr(text, ')');
    for (unsigned field = 2; at != NULL && field < 47; field++) {
        at = strchr(at, ' ');
        at = at == NULL ? NULL : at + 1;
    }
    return small_file_number(at);
}

bool allocation_is_brk_area(uint64_t address)
{
    uint64_t start = atomic_load_explicit(&heap_start, memory_order_relaxed);

    if (start == 0) {
        const int saved_errno = errno;
        start = read_heap_start();
        if (start == 0)
            start = HEAP_UNKNOWN;
        atomic_store_explicit(&heap_start, start, memory_order_relaxed);
        errno = saved_errno;
    }
    if (start == HEAP_UNKNOWN || address < start || address - start >= HEAP_BYTES_MAX)
        return false;
    if (address >= atomic_load_explicit(&heap_end, memory_order_relaxed))
        atomic_store_explicit(&heap_end, (uint64_t)(uintptr_t)sbrk(0), memory_order_relaxed);
    return address < atomic_load_explicit(&heap_end, memory_order_relaxed);
}
