/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dlsym(RTLD_NEXT), and an arena for what the loader allocates while it runs: the allocation
 * wrappers cannot serve that, as the function they want to call is just being looked up.
 */
#include "interposition/interpose.h"
#include "large_table.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum { ARENA_BYTES = 1 << 16 };

static LARGE_TABLE _Alignas(64) unsigned char arena[ARENA_BYTES];
static _Atomic size_t arena_used;

/* Volatile: dlsym() is declared not to call back, and it does. */
static __thread volatile unsigned resolving __attribute__((tls_model("initial-exec")));

static void *look_up(const char *name)
{
    resolving = resolving + 1;
    void *function = dlsym(RTLD_NEXT, name);
    resolving = resolving - 1;
    return function;
}

/* What may be called in a handler, in a child of vfork, or first while another thread has the
 * loader's lock and waits for this one; found at start-up. */
static struct {
    const char *name;
    void *function;
} prepared[] = {
    {"_exit", NULL},
    {"__longjmp_chk", NULL},
    {"_longjmp", NULL},
    {"abort", NULL},
    {"close", NULL},
    {"close_range", NULL},
    {"dup2", NULL},
    {"dup3", NULL},
    {"execve", NULL},
    {"execveat", NULL},
    {"execvpe", NULL},
    {"fclose", NULL},
    {"fcntl", NULL},
    {"fcntl64", NULL},
    {"fexecve", NULL},
    {"ioctl", NULL},
    {"longjmp", NULL},
    {"prctl", NULL},
    {"pthread_sigmask", NULL},
    {"ptrace", NULL},
    {"sigaction", NULL},
    {"siglongjmp", NULL},
    {"signal", NULL},
    {"sigpending", NULL},
    {"sigprocmask", NULL},
    {"sigset", NULL},
    {"sigtimedwait", NULL},
    {"syscall", NULL},
    {"sysv_signal", NULL},
};

enum { PREPARED = sizeof prepared / sizeof *prepared };

void interpose_prepare(void)
{
    for (unsigned i = 0; i < PREPARED; i++)
        prepared[i].function = look_up(prepared[i].name);
}

void *interpose_real(const char *name)
{
    for (unsigned i = 0; i < PREPARED; i++)
        if (prepared[i].function != NULL && strcmp(prepared[i].name, name) == 0)
            return prepared[i].function;
    return look_up(name);
}

void *interpose_first(const char *name)
{
    resolving = resolving + 1;
    /* RTLD_DEFAULT would look into this library first: it is linked with -Bsymbolic. */
    void *const program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
    void *const function = program == NULL ? NULL : dlsym(program, name);
    if (program != NULL)
        dlclose(program);
    resolving = resolving - 1;
    return function;
}

void interpose_loading_begin(void)
{
    resolving = resolving + 1;
    interpose_allocation_forget_real();
}

void interpose_loading_end(void)
{
    resolving = resolving - 1;
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
