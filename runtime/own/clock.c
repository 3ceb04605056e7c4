/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signal-safe but for clock_begin(). clock_gettime() and sched_getcpu() for this library alone,
 * hidden: a clock that the target has replaced (libfaketime, a sanitizer) may take locks, and tells
 * another time.
 */
#include "own/clock.h"

#include <errno.h>
#include <link.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

#include "own/loaded_symbols.h"
#include "own/raw_call.h"

#include "signal_safe.h"

#if defined(__x86_64__)
static const char clock_name[] = "__vdso_clock_gettime", cpu_name[] = "__vdso_getcpu";
#else
static const char clock_name[] = "__kernel_clock_gettime", cpu_name[] = "__kernel_getcpu";
#endif

typedef int clock_function(clockid_t, struct timespec *);
typedef long cpu_function(unsigned *cpu, unsigned *node, void *unused);

/* Written by clock_begin(), and by clock_avoid_counter(). */
static clock_function *kernel_clock;
static cpu_function *kernel_cpu;
static bool avoids_counter;

/* Of the kernel's object, whose header is there. */
static bool read_symbols(uint64_t base, struct loaded_symbols *symbols)
{
    const ElfW(Ehdr) *file = (const void *)(uintptr_t)base;
    const ElfW(Phdr) *segment = (const void *)(uintptr_t)(base + file->e_phoff);
    const ElfW(Dyn) *dynamic = NULL;
    uint64_t bias = 0;
    bool loaded = false;

    for (int i = 0; i < file->e_phnum; i++) {
        if (segment[i].p_type == PT_LOAD && !loaded) {
            bias = base + segment[i].p_offset - segment[i].p_vaddr;
            loaded = true;
        } else if (segment[i].p_type == PT_DYNAMIC) {
            dynamic = (const void *)(uintptr_t)(base + segment[i].p_offset);
        }
    }
    return loaded && dynamic && loaded_symbols_read(symbols, dynamic, bias);
}

void clock_begin(void)
{
    uint64_t base = getauxval(AT_SYSINFO_EHDR);
    struct loaded_symbols symbols;

    if (!base || !read_symbols(base, &symbols))
        return;
    kernel_clock = (clock_function *)(uintptr_t)loaded_symbols_find(&symbols, clock_name);
    kernel_cpu = (cpu_function *)(uintptr_t)loaded_symbols_find(&symbols, cpu_name);
}

void clock_avoid_counter(void)
{
    __atomic_store_n(&kernel_clock, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&avoids_counter, true, __ATOMIC_RELAXED);
}

bool clock_has_counter(void)
{
    return !__atomic_load_n(&avoids_counter, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    clock_function *from_memory = __atomic_load_n(&kernel_clock, __ATOMIC_RELAXED);
    long result = from_memory ? from_memory(clock, time) : -ENOSYS;

    if (result == -ENOSYS)
        result = raw_call(SYS_clock_gettime, clock, (long)time, 0, 0, 0, 0);
    if (result == 0)
        return 0;
    errno = (int)-result;
    return -1;
}

int sched_getcpu(void)
{
    unsigned cpu = 0;
    long result =
        kernel_cpu ? kernel_cpu(&cpu, NULL, NULL) : raw_call(SYS_getcpu, (long)&cpu, 0, 0, 0, 0, 0);

    return result == 0 ? (int)cpu : -1;
}
