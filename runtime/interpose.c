/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dlsym(RTLD_NEXT), and an arena for what the loader allocates while it runs: the allocation
 * wrappers cannot serve that, as the function they want to call is just being looked up.
 */
#include "interpose.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>

enum { ARENA_BYTES = 1 << 16 };

static _Alignas(64) unsigned char arena[ARENA_BYTES];
static _Atomic size_t arena_used;

static __thread unsigned resolving __attribute__((tls_model("initial-exec")));

void *interpose_real(const char *name)
{
    resolving++;
    void *function = dlsym(RTLD_NEXT, name);
    resolving--;
    return function;
}

bool interpose_is_resolving(void)
{
    return resolving != 0;
}

void *interpose_arena_allocate(size_t alignment, size_t size)
{
    size_t used = atomic_load_explicit(&arena_used, memory_order_relaxed);
    size_t start;
    do {
        const uintptr_t base = (uintptr_t)arena;
        start = ((base + used + alignment - 1) & ~(alignment - 1)) - base;
        if (size > ARENA_BYTES || start > ARENA_BYTES - size)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&arena_used, &used, start + size,
                                                    memory_order_relaxed, memory_order_relaxed));
    return arena + start;
}

bool interpose_arena_contains(const void *pointer)
{
    return (uintptr_t)pointer - (uintptr_t)arena < ARENA_BYTES;
}

size_t interpose_arena_rest(const void *pointer)
{
    return atomic_load_explicit(&arena_used, memory_order_relaxed) -
           ((uintptr_t)pointer - (uintptr_t)arena);
}
