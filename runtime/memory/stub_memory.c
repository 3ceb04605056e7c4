/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See stub_memory.h. */
#include "memory/stub_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own/own_place.h"

#include "signal_safe.h"

enum { MAY_BE_EXECUTED = 0x10 /* MFD_EXEC, of Linux 6.3 */ };

/* A file in memory, or -1. */
static int open_file(size_t bytes)
{
    struct rlimit limit;
    int descriptor;

    /* Growing a file beyond that limit would kill the target. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
        return -1;
    descriptor = (int)syscall(SYS_memfd_create, OWN_MEMORY_FILE, MFD_CLOEXEC | MAY_BE_EXECUTED);
    if (descriptor < 0 && errno == EINVAL)
        descriptor = (int)syscall(SYS_memfd_create, OWN_MEMORY_FILE, MFD_CLOEXEC);
    if (descriptor >= 0 && syscall(SYS_ftruncate, descriptor, bytes) != 0) {
        syscall(SYS_close, descriptor);
        descriptor = -1;
    }
    return descriptor;
}

static unsigned char *map_view(void *where, size_t bytes, int protection, int descriptor)
{
    int flags = where ? MAP_SHARED | MAP_FIXED_NOREPLACE : MAP_SHARED;
    long address = syscall(SYS_mmap, where ? where : own_place(bytes), bytes, protection, flags,
                           descriptor, 0L);

    if (address == -1)
        return NULL;
    if (where && address != (long)where) {
        syscall(SYS_munmap, address, bytes);
        return NULL;
    }
    /* Shared, it would be the parent's code that a child overwrites. */
    syscall(SYS_madvise, address, bytes, MADV_DONTFORK);
    return (unsigned char *)address;
}

/* Both views, at these places or anywhere (NULL). */
static bool map_both(void *views[2], size_t bytes)
{
    static const int protections[2] = {PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE};
    int descriptor = open_file(bytes);

    if (descriptor < 0)
        return false;
    for (int i = 0; i < 2; i++) {
        views[i] = map_view(views[i], bytes, protections[i], descriptor);
        if (views[i])
            continue;
        if (i == 1)
            syscall(SYS_munmap, views[0], bytes);
        syscall(SYS_close, descriptor);
        return false;
    }
    syscall(SYS_close, descriptor);
    return true;
}

struct stub_memory stub_memory_create(size_t bytes)
{
    void *views[2] = {NULL, NULL};
    struct stub_memory memory = {0};
    int saved = errno;

    if (map_both(views, bytes)) {
        memory.executable = views[0];
        memory.to_writable = (unsigned char *)views[1] - (unsigned char *)views[0];
    }
    errno = saved;
    return memory;
}

bool stub_memory_renew(const struct stub_memory *memory, size_t bytes)
{
    void *views[2] = {memory->executable, memory->executable + memory->to_writable};
    int saved = errno;
    bool done = memory->executable && map_both(views, bytes);

    errno = saved;
    return done;
}
