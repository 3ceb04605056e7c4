/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that only glibc has. A program of another C library (musl) that a profiled one starts
 * inherits LD_PRELOAD, and its loader ends it where a function is missing. So these are weak, and
 * where they are not there, the library does nothing. Include this wherever one of them is called:
 * a single strong reference makes the symbol strong.
 */
#ifndef REUSE_RUNTIME_C_LIBRARY_H
#define REUSE_RUNTIME_C_LIBRARY_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#if defined(DLFO_EH_SEGMENT_TYPE)
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));
#endif

extern __typeof__(strerrorname_np) strerrorname_np __attribute__((weak));

/* What pthread_atfork() calls; that itself is linked in statically, with a strong reference. */
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                      void *object) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static inline bool c_library_is_known(void)
{
#if defined(DLFO_EH_SEGMENT_TYPE)
    if (!_dl_find_object)
        return false;
#endif
    return __register_atfork != NULL;
}

static inline void c_library_at_fork(void (*prepare)(void), void (*parent)(void),
                                     void (*child)(void))
{
    __register_atfork(prepare, parent, child, __dso_handle);
}

#endif
