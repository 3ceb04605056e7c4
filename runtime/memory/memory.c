/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. Direct system calls: mmap() is interposed and would record our own memory. */
#include "memory/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "signal_safe.h"

/* Of any machine, or several. */
enum { PAGE = 65536 };

/* What the tables of start-up and the first threads need: one mapping instead of a dozen, which a
 * process that ends after a millisecond would make and take down again. */
enum { RESERVE_BYTES = 48 << 20 };

/* Written by memory_begin(), then only by who takes something. */
static uint64_t reserve_low, reserve_high;
static _Atomic uint64_t reserve_next;

static void *map(size_t bytes)
{
    int saved = errno;
    long address = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);

    errno = saved;
    return address == -1 ? NULL : (void *)address;
}

void memory_begin(void)
{
    reserve_low = (uintptr_t)map(RESERVE_BYTES);
    reserve_high = reserve_low == 0 ? 0 : reserve_low + RESERVE_BYTES;
    atomic_store(&reserve_next, (reserve_low + PAGE - 1) & ~(uint64_t)(PAGE - 1));
}

void *memory_map(size_t bytes)
{
    const uint64_t rounded = (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    uint64_t next = atomic_load_explicit(&reserve_next, memory_order_relaxed);

    while (next < reserve_high && rounded <= reserve_high - next)
        if (atomic_compare_exchange_weak(&reserve_next, &next, next + rounded))
            return (void *)(uintptr_t)next;
    return map(bytes);
}

void *memory_map_stack(size_t bytes)
{
    char *memory = memory_map(PAGE + bytes);
    int saved = errno;

    if (!memory)
        return NULL;
    syscall(SYS_mprotect, memory, (size_t)PAGE, PROT_NONE);
    errno = saved;
    return memory + PAGE;
}

void memory_unmap(void *memory, size_t bytes)
{
    int saved = errno;

    syscall(SYS_munmap, memory, bytes);
    errno = saved;
}

void memory_clear(void *memory, size_t bytes)
{
    char *begin = memory, *end = begin + bytes;
    char *low = (char *)(((uintptr_t)begin + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
    char *high = (char *)((uintptr_t)end & ~(uintptr_t)(PAGE - 1));
    int saved = errno;

    /* Not if it is locked. */
    if (low >= high || syscall(SYS_madvise, low, (size_t)(high - low), MADV_DONTNEED) != 0)
        low = high = begin;
    errno = saved;
    memset(begin, 0, (size_t)(low - begin));
    memset(high, 0, (size_t)(end - high));
}
