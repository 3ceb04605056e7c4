/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. Direct system calls: mmap() is interposed and would record our own memory. */
#include "memory/memory.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "signal_safe.h"

void *memory_map(size_t bytes)
{
    int saved = errno;
    long address = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);

    errno = saved;
    return address == -1 ? NULL : (void *)address;
}

void *memory_map_stack(size_t bytes)
{
    enum { GUARD = 65536 }; /* a page of any machine */
    char *memory = memory_map(GUARD + bytes);
    int saved = errno;

    if (!memory)
        return NULL;
    syscall(SYS_mprotect, memory, (size_t)GUARD, PROT_NONE);
    errno = saved;
    return memory + GUARD;
}

void memory_unmap(void *memory, size_t bytes)
{
    int saved = errno;

    syscall(SYS_munmap, memory, bytes);
    errno = saved;
}

void memory_clear(void *memory, size_t bytes)
{
    enum { PAGE = 65536 }; /* of any machine, or several */
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
