/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signal-safe but for clock_begin(). clock_gettime() and sched_getcpu() for this library alone,
 * hidden: a clock that the target has replaced (libfaketime, a sanitizer) may take locks, and tells
 * another time.
 */
#include "own/clock.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

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

/* The tables of the kernel's object that say where its functions are. */
struct tables {
    uint64_t bias;
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *hash, *gnu_hash;
};

static bool find_tables(uint64_t base, struct tables *tables)
{
    const ElfW(Ehdr) *file = (const void *)(uintptr_t)base;
    const ElfW(Phdr) *segment = (const void *)(uintptr_t)(base + file->e_phoff);
    const ElfW(Dyn) *entry = NULL;
    bool loaded = false;

    for (int i = 0; i < file->e_phnum; i++) {
        if (segment[i].p_type == PT_LOAD && !loaded) {
            tables->bias = base + segment[i].p_offset - segment[i].p_vaddr;
            loaded = true;
        } else if (segment[i].p_type == PT_DYNAMIC) {
            entry = (const void *)(uintptr_t)(base + segment[i].p_offset);
        }
    }
    for (; loaded && entry && entry->d_tag != DT_NULL; entry++) {
        const void *at = (const void *)(uintptr_t)(tables->bias + entry->d_un.d_ptr);

        if (entry->d_tag == DT_SYMTAB)
            tables->symbols = at;
        else if (entry->d_tag == DT_STRTAB)
            tables->names = at;
        else if (entry->d_tag == DT_HASH)
            tables->hash = at;
        else if (entry->d_tag == DT_GNU_HASH)
            tables->gnu_hash = at;
    }
    return tables->symbols && tables->names && (tables->hash || tables->gnu_hash);
}

/* How many symbols there are: DT_HASH says so; of DT_GNU_HASH, the end of the last chain. */
static uint32_t symbol_count(const struct tables *tables)
{
    const uint32_t *table = tables->gnu_hash, *buckets, *chain;
    uint32_t last = 0;

    if (tables->hash)
        return tables->hash[1];
    buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof *table);
    chain = buckets + table[0];
    for (uint32_t i = 0; i < table[0]; i++)
        last = buckets[i] > last ? buckets[i] : last;
    if (last < table[1])
        return 0;
    while (!(chain[last - table[1]] & 1))
        last++;
    return last + 1;
}

void clock_begin(void)
{
    uint64_t base = getauxval(AT_SYSINFO_EHDR);
    struct tables tables = {0};
    uint32_t n;

    if (!base || !find_tables(base, &tables))
        return;
    n = symbol_count(&tables);
    for (uint32_t i = 0; i < n; i++) {
        const ElfW(Sym) *symbol = &tables.symbols[i];
        const char *name = tables.names + symbol->st_name;
        uintptr_t address = (uintptr_t)(tables.bias + symbol->st_value);

        if (symbol->st_shndx == SHN_UNDEF)
            continue;
        if (strcmp(name, clock_name) == 0)
            kernel_clock = (clock_function *)address;
        else if (strcmp(name, cpu_name) == 0)
            kernel_cpu = (cpu_function *)address;
    }
}

void clock_avoid_counter(void)
{
    __atomic_store_n(&kernel_clock, NULL, __ATOMIC_RELAXED);
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
