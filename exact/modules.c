/* SPDX-License-Identifier: BSD-3-Clause */
/* See modules.h. */
#include "modules.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "objects.h"
#include "regions.h"

#define PAGE UINT64_C(4096)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct module *all; /* written under lock */
static uint32_t count;

/* Start addresses of the mappings that were there before the guest; set once, at the start. */
static uint64_t *own;
static size_t own_count;

static const char *guest_library; /* set before the guest starts; NULL none */
static uint64_t guest_library_start, guest_library_size; /* atomic; 0 while it is not loaded */

/* A line of /proc/self/maps that maps a file. */
struct mapped_file {
    uint64_t start, offset;
    char path[PATH_MAX];
};

static void each_mapped_file(void (*visit)(const struct mapped_file *, void *), void *context)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        return;
    static char line[PATH_MAX + 128]; /* only while there is one thread */
    while (fgets(line, sizeof line, maps) != NULL) {
        struct mapped_file file;
        int path = 0;
        if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %*s %n", &file.start, &file.offset,
                   &path) < 2 ||
            line[path] != '/')
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(file.path, sizeof file.path, "%s", line + path);
        visit(&file, context);
    }
    fclose(maps);
}

void modules_set_guest_library(const char *path)
{
    guest_library = path;
}

bool modules_in_guest_library(uint64_t address)
{
    return address - __atomic_load_n(&guest_library_start, __ATOMIC_RELAXED) <
           __atomic_load_n(&guest_library_size, __ATOMIC_RELAXED);
}

static void note_own(const struct mapped_file *file, void *context)
{
    (void)context;
    uint64_t *more = realloc(own, (own_count + 1) * sizeof *own);
    if (more == NULL)
        return;
    own = more;
    own[own_count++] = file->start;
}

void modules_note_own_mappings(void)
{
    each_mapped_file(note_own, NULL);
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether the address lies in a module from that file. Under lock. */
static bool is_known(const char *path, uint64_t address)
{
    for (const struct module *module = all; module != NULL; module = module->following)
        if (module->unloaded_ns == 0 && module->start <= address && address < module->end &&
            strcmp(module->path, path) == 0)
            return true;
    return false;
}

/*
 * A file's page at offset was mapped at a guest address: the module, if it is one. Two segments may
 * begin in the same page of the file: then the first, or the first executable one, is meant.
 */
static void add(const char *path, uint64_t address, uint64_t offset, bool executable)
{
    struct elf_image image;
    if (!elf_image_read(path, &image))
        return;
    const struct elf_segment *mapped = NULL;
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < image.segment_count; i++) {
        const struct elf_segment *segment = &image.segments[i];
        if (mapped == NULL && (segment->offset & -PAGE) == offset &&
            (segment->executable || !executable))
            mapped = segment;
        if (segment->address < low)
            low = segment->address & -PAGE;
        if (segment->address + segment->memory_size > high)
            high = segment->address + segment->memory_size;
    }
    if (mapped == NULL)
        return;
    uint64_t load_bias = address - (mapped->address & -PAGE);

    pthread_mutex_lock(&lock);
    struct module *module =
        is_known(path, address) ? NULL : malloc(sizeof *module + strlen(path) + 1);
    if (module != NULL) {
        *module = (struct module){.module_id = ++count,
                                  .image = image,
                                  .load_bias = load_bias,
                                  .start = load_bias + low,
                                  .end = load_bias + high,
                                  .loaded_ns = monotonic_ns(),
                                  .following = all};
        strcpy(module->path, path);
        __atomic_store_n(&all, module, __ATOMIC_RELEASE);
        objects_add_module(module->module_id, path, module->start, module->end, load_bias);
        regions_add_module(path, load_bias);
        if (guest_library != NULL && strcmp(path, guest_library) == 0) {
            __atomic_store_n(&guest_library_start, module->start, __ATOMIC_RELAXED);
            __atomic_store_n(&guest_library_size, module->end - module->start, __ATOMIC_RELAXED);
        }
    }
    pthread_mutex_unlock(&lock);
}

static void add_unless_own(const struct mapped_file *file, void *guest_base)
{
    for (size_t i = 0; i < own_count; i++)
        if (own[i] == file->start)
            return;
    add(file->path, file->start - *(const uint64_t *)guest_base, file->offset, false);
}

void modules_find_program(uint64_t guest_base)
{
    each_mapped_file(add_unless_own, &guest_base);
}

void modules_mapped(uint64_t address, int descriptor, uint64_t offset)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = '\0';
    add(path, address, offset, true);
}

void modules_unmapped(uint64_t address, uint64_t size)
{
    pthread_mutex_lock(&lock);
    for (struct module *module = all; module != NULL; module = module->following)
        if (module->unloaded_ns == 0 && module->start >= address &&
            module->start - address < size) {
            module->unloaded_ns = monotonic_ns();
            objects_remove_module(module->module_id);
            regions_remove_module(module->start, module->end);
        }
    pthread_mutex_unlock(&lock);
}

struct module *modules_all(void)
{
    return __atomic_load_n(&all, __ATOMIC_ACQUIRE);
}

void modules_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}
