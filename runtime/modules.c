/* SPDX-License-Identifier: BSD-3-Clause */
/* modules_find() and modules_announce() are signal-safe; modules_refresh() runs in normal code. */
#include "modules.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "output.h"
#include "timebase.h"

enum { MODULES_MAX = 4096 };

struct module {
    uint64_t start, end; /* start == 0: unused slot */
    uint32_t id;
    bool seen;                   /* by the refresh under way */
    char *path;                  /* in memory of ours, never freed: slots are few */
    struct record_module record; /* without its path */
};

/*
 * Slots below `count` are filled and stay at their place; a slot's fields are written before count
 * or start make it visible. Written under refresh_lock.
 */
static struct module *table;
static _Atomic uint32_t count;
static uint32_t ids;
static pthread_mutex_t refresh_lock = PTHREAD_MUTEX_INITIALIZER;

static void announce(const struct module *module)
{
    output_append(RECORD_MODULE, &module->record, offsetof(struct record_module, path),
                  module->path, strlen(module->path) + 1);
}

static void read_build_id(const struct dl_phdr_info *info, struct record_module *record)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t at = info->dlpi_addr + header->p_vaddr, end = at + header->p_memsz;

        if (header->p_type != PT_NOTE)
            continue;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *note = (const void *)(uintptr_t)at;
            uint64_t name = at + sizeof *note, description = name + ((note->n_namesz + 3) & ~3u);

            at = description + ((note->n_descsz + 3) & ~3u);
            if (at > end)
                break;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
                memcmp((const void *)(uintptr_t)name, "GNU", 4) == 0) {
                record->build_id_size = note->n_descsz < 20 ? note->n_descsz : 20;
                memcpy(record->build_id, (const void *)(uintptr_t)description,
                       record->build_id_size);
                return;
            }
        }
    }
}

/* A copy of the object's path; the main program has none of its own. */
static char *path_of(const struct dl_phdr_info *info, bool first)
{
    char executable[PATH_MAX];
    const char *path = info->dlpi_name;
    ssize_t length;
    size_t size;
    char *copy;

    if (first && path[0] == '\0') {
        length = readlink("/proc/self/exe", executable, sizeof executable - 1);
        executable[length > 0 ? length : 0] = '\0';
        path = executable;
    }
    size = strlen(path) + 1;
    copy = memory_map(size);
    if (copy)
        memcpy(copy, path, size);
    return copy;
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
    unsigned *visited = context;
    uint64_t start = UINT64_MAX, end = 0;
    bool first = (*visited)++ == 0;
    uint32_t n = atomic_load(&count), slot = n;
    struct module *module;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t low = info->dlpi_addr + header->p_vaddr;

        if (header->p_type != PT_LOAD)
            continue;
        start = low < start ? low : start;
        end = low + header->p_memsz > end ? low + header->p_memsz : end;
    }
    if (start >= end)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        if (table[i].start == start && table[i].end == end) {
            table[i].seen = true;
            return 0;
        }
        if (table[i].start == 0)
            slot = i;
    }
    if (slot == MODULES_MAX)
        return 0;
    module = &table[slot];
    memset(&module->record, 0, sizeof module->record);
    module->path = path_of(info, first);
    if (!module->path)
        return 0;
    module->id = ++ids;
    module->seen = true;
    module->record.module_id = module->id;
    module->record.load_bias = info->dlpi_addr;
    module->record.start = start;
    module->record.end = end;
    module->record.monotonic_ns = monotonic_ns();
    read_build_id(info, &module->record);
    module->end = end;
    atomic_thread_fence(memory_order_release);
    module->start = start;
    if (slot == n)
        atomic_store(&count, n + 1);
    announce(module);
    return 0;
}

void modules_refresh(void)
{
    unsigned visited = 0;
    uint32_t n;

    pthread_mutex_lock(&refresh_lock);
    if (!table)
        table = memory_map(MODULES_MAX * sizeof *table);
    if (table) {
        n = atomic_load(&count);
        for (uint32_t i = 0; i < n; i++)
            table[i].seen = false;
        dl_iterate_phdr(visit, &visited);
        for (uint32_t i = 0; i < n; i++) {
            struct record_module_end end = {.module_id = table[i].id,
                                            .monotonic_ns = monotonic_ns()};

            if (table[i].start == 0 || table[i].seen)
                continue;
            table[i].start = 0;
            output_append(RECORD_MODULE_END, &end, sizeof end, NULL, 0);
        }
    }
    pthread_mutex_unlock(&refresh_lock);
}

uint32_t modules_find(uint64_t address)
{
    uint32_t n = atomic_load_explicit(&count, memory_order_acquire);

    for (uint32_t i = 0; i < n; i++)
        if (table[i].start && address - table[i].start < table[i].end - table[i].start)
            return table[i].id;
    return 0;
}

void modules_announce(void)
{
    uint32_t n = atomic_load(&count);

    for (uint32_t i = 0; i < n; i++)
        if (table[i].start)
            announce(&table[i]);
}
