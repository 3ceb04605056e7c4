/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe but for modules_begin(). */
#include "memory/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "interposition/interpose_signal.h"
#include "isa/guarded_memory.h"
#include "large_table.h"
#include "memory/memory.h"
#include "output/output.h"
#include "own/c_library.h"
#include "perf_events/timebase.h"
#include "process/program_path.h"

#include "signal_safe.h"

enum {
    MODULES_MAX = 4096,
    HEADER_BYTES = 4096, /* of an object's file that are certainly mapped */
    PATHS_BYTES = 65536, /* mapped at once for paths */
    HINTS = 256,
    HINT_SHIFT = 16,
};

struct module {
    uint64_t start, end; /* start == 0: unused slot */
    uint32_t id;
    bool findable;               /* the loader tells without a lock whether it is still there */
    const char *path;            /* in memory of ours, never freed: slots are few */
    struct record_module record; /* without its path */
};

/*
 * Slots below `count` are filled and stay at their place; a slot's fields are written before count
 * or start make it visible. Written under `changing`, which nobody waits for: who wants it may be a
 * handler that interrupted its holder.
 */
static struct module *table;
static _Atomic uint32_t count;
static uint32_t ids;
/* The slot that was last right for an address, by 64 KiB of it: programs load hundreds of objects,
 * and are in a few. */
static _Atomic uint16_t hints[HINTS];
static atomic_flag changing = ATOMIC_FLAG_INIT;

/* Of the loader's, or read from the object itself. */
struct object {
    uint64_t bias;
    const char *path;
    const ElfW(Phdr) * segments;
    int segment_count;
    bool is_program; /* the main one, whose path is empty */
};

#if defined(DLFO_EH_SEGMENT_TYPE)
/* Of the object that find_object() found; under `changing`. */
static LARGE_TABLE struct {
    char path[PATH_MAX];
    ElfW(Phdr) segments[HEADER_BYTES / sizeof(ElfW(Phdr))];
} found_there;

static bool copy_path(uint64_t from)
{
    for (size_t i = 0; i < sizeof found_there.path; i++) {
        if (!guarded_memory_read(from + i, &found_there.path[i], 1))
            return false;
        if (found_there.path[i] == '\0')
            return true;
    }
    return false;
}

/*
 * What the loader knows of the object at an address, without a lock: another thread may unload it
 * meanwhile, so that all of it is copied by loads that may fail. False where there is none, or its
 * own header, which says where its segments lie, is not part of it. Under `changing`.
 */
static bool find_object(uint64_t address, struct object *object)
{
    struct dl_find_object found;
    struct link_map map;
    uint64_t start;
    ElfW(Ehdr) file;

    if (_dl_find_object((void *)(uintptr_t)address, &found) != 0)
        return false;
    start = (uint64_t)(uintptr_t)found.dlfo_map_start;
    if (!guarded_memory_read(start, &file, sizeof file) ||
        memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 ||
        file.e_phoff + file.e_phnum * sizeof *found_there.segments > HEADER_BYTES ||
        !guarded_memory_read(start + file.e_phoff, found_there.segments,
                             file.e_phnum * sizeof *found_there.segments) ||
        !guarded_memory_read((uint64_t)(uintptr_t)found.dlfo_link_map, &map, sizeof map) ||
        !copy_path((uint64_t)(uintptr_t)map.l_name))
        return false;
    *object = (struct object){.bias = map.l_addr,
                              .path = found_there.path,
                              .segments = found_there.segments,
                              .segment_count = file.e_phnum};
    return true;
}

/* Whether the loader finds an object with that bias there. */
static bool is_loaded(uint64_t start, uint64_t bias)
{
    struct dl_find_object found;

    return _dl_find_object((void *)(uintptr_t)start, &found) == 0 &&
           found.dlfo_link_map->l_addr == bias;
}
#else
static bool find_object(uint64_t address, struct object *object)
{
    (void)address;
    (void)object;
    return false;
}

static bool is_loaded(uint64_t start, uint64_t bias)
{
    (void)start;
    (void)bias;
    return false;
}
#endif

static void announce(const struct module *module)
{
    output_append(RECORD_MODULE, &module->record, offsetof(struct record_module, path),
                  module->path, strlen(module->path) + 1);
}

/* One note of an object (elf(5)), whose name and description begin there. */
static void read_note(const ElfW(Nhdr) * note, uint64_t at, struct record_module *record)
{
    enum { GO_BUILD_ID = 4 };
    uint64_t description = at + ((note->n_namesz + 3) & ~3u);
    char name[4];

    if (note->n_namesz != sizeof name || !guarded_memory_read(at, name, sizeof name))
        return;
    if (note->n_type == NT_GNU_BUILD_ID && memcmp(name, "GNU", sizeof name) == 0) {
        uint32_t size = note->n_descsz < 20 ? note->n_descsz : 20;
        if (guarded_memory_read(description, record->build_id, size))
            record->build_id_size = size;
    } else if (note->n_type == GO_BUILD_ID && memcmp(name, "Go\0", sizeof name) == 0) {
        /* Its functions run on stacks without room for a signal frame, and its threads have others
         * for that. */
        signal_use_alternate_stacks();
    }
}

static void read_notes(const struct object *object, struct record_module *record)
{
    for (int i = 0; i < object->segment_count; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        uint64_t at = object->bias + segment->p_vaddr, end = at + segment->p_memsz;
        ElfW(Nhdr) note;

        if (segment->p_type != PT_NOTE)
            continue;
        while (at + sizeof note <= end && guarded_memory_read(at, &note, sizeof note)) {
            uint64_t content = at + sizeof note;

            at = content + ((note.n_namesz + 3) & ~3u) + ((note.n_descsz + 3) & ~3u);
            if (at > end)
                break;
            read_note(&note, content, record);
        }
    }
}

/* Memory of ours for a path, never freed. */
static char *path_memory(size_t size)
{
    static char *room; /* under `changing`, or at start-up */
    static size_t left;
    char *memory;

    if (size > left) {
        room = memory_map(PATHS_BYTES);
        left = room ? PATHS_BYTES : 0;
        if (size > left)
            return NULL;
    }
    memory = room;
    room += size;
    left -= size;
    return memory;
}

/* A copy of the object's path, unless it is ours; the main program has none of its own. */
static const char *path_of(const struct object *object)
{
    size_t size = strlen(object->path) + 1;
    char *copy;

    if (object->is_program && size == 1)
        return program_path();
    copy = path_memory(size);
    if (copy)
        memcpy(copy, object->path, size);
    return copy;
}

/* Where its segments lie; false when it has none. */
static bool extent_of(const struct object *object, uint64_t *start, uint64_t *end)
{
    *start = UINT64_MAX;
    *end = 0;
    for (int i = 0; i < object->segment_count; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        uint64_t low = object->bias + segment->p_vaddr;

        if (segment->p_type != PT_LOAD)
            continue;
        *start = low < *start ? low : *start;
        *end = low + segment->p_memsz > *end ? low + segment->p_memsz : *end;
    }
    return *start < *end;
}

/* The slot of a known object, or one for a new object; MODULES_MAX: full. */
static uint32_t slot_for(uint64_t start, uint64_t end, bool *known)
{
    uint32_t n = atomic_load(&count), slot = n;

    *known = false;
    for (uint32_t i = 0; i < n; i++) {
        if (table[i].start == start && table[i].end == end) {
            *known = true;
            return i;
        }
        if (table[i].start == 0)
            slot = i;
    }
    return slot;
}

static void add(const struct object *object)
{
    uint64_t start, end;
    struct module *module;
    uint32_t slot;
    bool known;

    if (!extent_of(object, &start, &end))
        return;
    slot = slot_for(start, end, &known);
    if (known || slot == MODULES_MAX)
        return;
    module = &table[slot];
    memset(&module->record, 0, sizeof module->record);
    module->path = path_of(object);
    if (!module->path)
        return;
    module->id = ++ids;
    module->record.module_id = module->id;
    module->record.load_bias = object->bias;
    module->record.start = start;
    module->record.end = end;
    module->record.monotonic_ns = monotonic_ns();
    read_notes(object, &module->record);
    module->end = end;
    module->findable = is_loaded(start, object->bias);
    atomic_thread_fence(memory_order_release);
    module->start = start;
    if (slot == atomic_load(&count))
        atomic_store(&count, slot + 1);
    announce(module);
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
    unsigned *visited = context;
    struct object object = {.bias = info->dlpi_addr,
                            .path = info->dlpi_name,
                            .segments = info->dlpi_phdr,
                            .segment_count = info->dlpi_phnum,
                            .is_program = (*visited)++ == 0};

    (void)size;
    add(&object);
    return 0;
}

void modules_begin(void)
{
    unsigned visited = 0;

    table = memory_map(MODULES_MAX * sizeof *table);
    if (table)
        dl_iterate_phdr(visit, &visited);
}

/* False when the list is being changed already, or there is none. */
static bool begin_change(void)
{
    return table && !atomic_flag_test_and_set_explicit(&changing, memory_order_acquire);
}

static void end_change(void)
{
    atomic_flag_clear_explicit(&changing, memory_order_release);
}

void modules_meet(uint64_t address)
{
    struct object object;

    if (modules_find(address) != 0 || !begin_change())
        return;
    if (find_object(address, &object))
        add(&object);
    end_change();
}

void modules_unloaded(void)
{
    uint32_t n;

    if (!begin_change())
        return;
    n = atomic_load(&count);
    for (uint32_t i = 0; i < n; i++) {
        struct record_module_end end = {.module_id = table[i].id, .monotonic_ns = monotonic_ns()};

        if (table[i].start == 0 || !table[i].findable ||
            is_loaded(table[i].start, table[i].record.load_bias))
            continue;
        table[i].start = 0;
        output_append(RECORD_MODULE_END, &end, sizeof end, NULL, 0);
    }
    end_change();
}

void modules_after_fork(void)
{
    atomic_flag_clear(&changing);
}

static bool contains(const struct module *module, uint64_t address)
{
    return module->start && address - module->start < module->end - module->start;
}

uint32_t modules_find(uint64_t address)
{
    _Atomic uint16_t *hint = &hints[(address >> HINT_SHIFT) % HINTS];
    uint32_t n = atomic_load_explicit(&count, memory_order_acquire);
    uint32_t hinted = atomic_load_explicit(hint, memory_order_relaxed);

    if (hinted < n && contains(&table[hinted], address))
        return table[hinted].id;
    for (uint32_t i = 0; i < n; i++) {
        if (!contains(&table[i], address))
            continue;
        atomic_store_explicit(hint, (uint16_t)i, memory_order_relaxed);
        return table[i].id;
    }
    return 0;
}

void modules_announce(void)
{
    uint32_t n = atomic_load(&count);

    for (uint32_t i = 0; i < n; i++)
        if (table[i].start)
            announce(&table[i]);
}
