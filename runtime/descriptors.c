/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "signal_safe.h"

/* Bit d: descriptor d is ours. Written by the thread that adopts or releases d. */
static _Atomic uint64_t owned[DESCRIPTOR_TABLE / 64];
/* Where our range starts. Written once at start-up. */
static int lowest = 512;

void descriptors_begin(void)
{
    struct rlimit limit;

    /* The upper half of what the target may use, but never so high that the kernel has to grow the
     * table beyond a few pages. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        rlim_t top = limit.rlim_cur < DESCRIPTOR_TABLE ? limit.rlim_cur : DESCRIPTOR_TABLE;

        lowest = (int)(top / 2);
    }
}

int descriptor_adopt(int descriptor)
{
    int saved = errno, moved, error;

    if (descriptor < 0)
        return descriptor;
    moved = (int)syscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, lowest);
    error = moved < 0 ? errno : 0;
    syscall(SYS_close, descriptor);
    if (moved >= DESCRIPTOR_TABLE) {
        syscall(SYS_close, moved);
        error = EMFILE;
    }
    errno = saved;
    if (error)
        return -error;
    atomic_fetch_or_explicit(&owned[moved / 64], UINT64_C(1) << (moved % 64), memory_order_relaxed);
    return moved;
}

void descriptor_release(int descriptor)
{
    int saved = errno;

    if (!descriptor_is_ours(descriptor))
        return;
    atomic_fetch_and_explicit(&owned[descriptor / 64], ~(UINT64_C(1) << (descriptor % 64)),
                              memory_order_relaxed);
    syscall(SYS_close, descriptor);
    errno = saved;
}

bool descriptor_is_ours(int descriptor)
{
    if (descriptor < 0 || descriptor >= DESCRIPTOR_TABLE)
        return false;
    return atomic_load_explicit(&owned[descriptor / 64], memory_order_relaxed) >>
               (descriptor % 64) & 1;
}

int descriptor_next(int from)
{
    for (int d = from < 0 ? 0 : from; d < DESCRIPTOR_TABLE;) {
        uint64_t word =
            atomic_load_explicit(&owned[d / 64], memory_order_relaxed) >> (d % 64);

        if (word)
            return d + __builtin_ctzll(word);
        d = (d / 64 + 1) * 64;
    }
    return -1;
}

void descriptor_close_all(void)
{
    for (int d = descriptor_next(0); d >= 0; d = descriptor_next(d + 1))
        descriptor_release(d);
}
