/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. Direct system calls: mmap() is interposed and would record our own memory. */
#include "memory/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own/own_place.h"

#include "signal_safe.h"

/* Of any machine, or several. */
enum { PAGE = 65536 };

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/*
 * What the tables of start-up and the first threads need: one mapping instead of a dozen, which a
 * process that ends after a millisecond would make and take down again. The program has made no gap
 * yet, so it lies where the kernel puts it, beside the libraries: the page tables of that part of
 * the address space are there. Large tables are taken from its end, small ones from its beginning:
 * their first pages, all that a short process touches, lie in one table of the page tables.
 */
enum { RESERVE_BYTES = 48 << 20, LARGE_BYTES = 1 << 20 };

/* Written by memory_begin(): the first whole page of ours, and how many. */
static uint64_t reserve, reserve_pages;
/* What is taken, in pages: from the beginning, and << 32 from the end. */
static _Atomic uint64_t reserve_taken;

static _Atomic int last_error;

int memory_error(void)
{
    return atomic_load_explicit(&last_error, memory_order_relaxed);
}

static void *map(void *place, size_t bytes)
{
    int saved = errno;
    long address = syscall(SYS_mmap, place, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);

    if (address == -1)
        atomic_store_explicit(&last_error, errno, memory_order_relaxed);
    errno = saved;
    if (address == -1)
        return NULL;
    own_small_pages((void *)address, bytes);
    return (void *)address;
}

/* The static memory of what this is linked into: named by the linker. */
extern char __bss_start[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));

void memory_begin_static(void)
{
    own_small_pages(__bss_start, (size_t)(_end - __bss_start));
}

void memory_begin(void)
{
    uint64_t memory = (uintptr_t)map(NULL, RESERVE_BYTES);

    reserve = (memory + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    reserve_pages = memory == 0 ? 0 : RESERVE_BYTES / PAGE - (reserve != memory);
}

/* NULL: there is no room for so many pages. */
static void *take(uint64_t pages, bool is_large)
{
    uint64_t taken = atomic_load_explicit(&reserve_taken, memory_order_relaxed);

    for (;;) {
        uint64_t low = taken & UINT32_MAX, high = taken >> 32;

        if (pages > reserve_pages - low - high)
            return NULL;
        if (atomic_compare_exchange_weak(&reserve_taken, &taken,
                                         taken + (is_large ? pages << 32 : pages)))
            return (void *)(uintptr_t)(reserve +
                                       (is_large ? reserve_pages - high - pages : low) * PAGE);
    }
}

void *memory_map(size_t bytes)
{
    void *memory = take((bytes + PAGE - 1) / PAGE, bytes >= LARGE_BYTES);

    return memory ? memory : map(own_place(bytes), bytes);
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

bool memory_keep_from_children(void *memory, size_t bytes)
{
    int saved = errno;
    long result = syscall(SYS_madvise, memory, bytes, MADV_WIPEONFORK);

    errno = saved;
    return result == 0;
}

void memory_populate(void *memory, size_t bytes)
{
    const uintptr_t page = getauxval(AT_PAGESZ);
    uintptr_t begin = (uintptr_t)memory & -page;
    uintptr_t end = ((uintptr_t)memory + bytes + page - 1) & -page;
    int saved = errno;

    if (syscall(SYS_madvise, begin, end - begin, MADV_POPULATE_WRITE) != 0)
        for (; begin < end; begin += page)
            atomic_fetch_or((_Atomic unsigned char *)begin, 0);
    errno = saved;
}

void memory_clear(void *memory, size_t bytes)
{
    char *begin = memory, *end = begin + bytes;
    uintptr_t page = getauxval(AT_PAGESZ);
    char *low = (char *)(((uintptr_t)begin + page - 1) & -page);
    char *high = (char *)((uintptr_t)end & -page);
    int saved = errno;

    /* Not if it is locked. */
    if (low >= high || syscall(SYS_madvise, low, (size_t)(high - low), MADV_DONTNEED) != 0)
        low = high = begin;
    errno = saved;
    memset(begin, 0, (size_t)(low - begin));
    memset(high, 0, (size_t)(end - high));
}
