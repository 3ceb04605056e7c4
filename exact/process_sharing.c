/* SPDX-License-Identifier: BSD-3-Clause */
/* See process_sharing.h. */
#include "process_sharing.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "exact_memory.h"
#include "guest_memory.h"
#include "instructions.h"
#include "reuse/exact_processes.h"
#include "sampling/line_mask.h"
#include "sharing.h"

enum {
    RANGES_MAX = 64,
    PATH_BYTES = 256,
    FIRST_EVENTS = 256,
    EVENTS_MAX = 1 << 16,
    KEPT_MAX = 1 << 14
};

/* A mapping of shared memory, in guest addresses. */
struct range {
    uint64_t start, end, offset, device, inode;
    uint32_t id;
    char path[PATH_BYTES];
};

/* Never changed once it is published; threads may still read the one before. */
struct ranges {
    size_t count;
    struct range items[RANGES_MAX]; /* memory for `count` of them, once published */
};

bool process_sharing_on;

static struct exact_processes *processes; /* set before the guest runs */
static uint32_t line_size;
static uint64_t own_inode, own_device; /* of the table */
static struct ranges *ranges;          /* atomic */
static struct range *all;              /* that there ever were */
static size_t all_count;
static unsigned kept; /* ranges of before that are still in memory */
static pthread_mutex_t look_lock = PTHREAD_MUTEX_INITIALIZER; /* over these four, for writers */

/* Transfers that agree in everything but their number; open addressing; under event_lock. */
static struct record_process_transfer *events;
static size_t event_size, event_count;
static uint64_t lost; /* atomic */
static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;

void process_sharing_start(int descriptor, uint32_t size)
{
    size_t bytes = exact_processes_bytes();
    char name[64], path[PATH_MAX];
    struct stat status;

    line_size = size;
    /* A program that the guest has become may have found the number free. */
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    ssize_t length = descriptor < 0 ? -1 : readlink(name, path, sizeof path - 1);
    if (length < 0)
        return;
    path[length] = '\0';
    if (strncmp(path, EXACT_MEMORY_PATH, strlen(EXACT_MEMORY_PATH)) != 0 ||
        fstat(descriptor, &status) != 0 || (size_t)status.st_size < bytes)
        return;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED)
        return;
    own_inode = status.st_ino;
    own_device = (uint64_t)major(status.st_dev) << 32 | minor(status.st_dev);
    processes = memory;
}

static bool read_range(const char *line, uint64_t base, struct range *range)
{
    unsigned long start, end, offset, inode;
    unsigned major_number, minor_number;
    char access[5] = "";
    int at = 0;

    if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &start, &end, access, &offset, &major_number,
               &minor_number, &inode, &at) < 7 ||
        access[3] != 's' || access[0] != 'r' || start < base ||
        (inode == own_inode && ((uint64_t)major_number << 32 | minor_number) == own_device))
        return false;
    *range = (struct range){.start = start - base,
                            .end = end - base,
                            .offset = offset,
                            .device = (uint64_t)major_number << 32 | minor_number,
                            .inode = inode};
    snprintf(range->path, sizeof range->path, "%.*s", (int)strcspn(line + at, "\n"), line + at);
    return true;
}

/* The number that the mapping had before, or a new one; 0: out of memory. */
static uint32_t id_of(const struct range *range)
{
    for (size_t i = 0; i < all_count; i++)
        if (all[i].start == range->start && all[i].end == range->end &&
            all[i].offset == range->offset && all[i].device == range->device &&
            all[i].inode == range->inode)
            return all[i].id;
    struct range *more = realloc(all, (all_count + 1) * sizeof *all);
    if (more == NULL)
        return 0;
    all = more;
    all[all_count] = *range;
    all[all_count].id = (uint32_t)all_count + 1;
    return (uint32_t)++all_count;
}

/* Whether the same mappings are there as before. */
static bool are_equal(const struct ranges *a, const struct ranges *b)
{
    if (a == NULL || b == NULL || a->count != b->count)
        return a == b;
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].id != b->items[i].id)
            return false;
    return true;
}

/* Whether a guest thread other than the caller may be reading the ranges. */
static bool has_other_threads(void)
{
    size_t running = 0;

    for (struct guest_thread *thread = stream_all_threads(); thread != NULL;
         thread = thread->following)
        running += !thread->ended;
    return running > 1;
}

/* What was there before stays while threads may read it; a program that changes its mappings
 * without end is followed for so many changes. */
static void publish(struct ranges *found)
{
    struct ranges *before = ranges, *fitting;

    if (kept == KEPT_MAX) {
        free(found);
        return;
    }
    fitting = realloc(found, offsetof(struct ranges, items) + found->count * sizeof *found->items);
    __atomic_store_n(&ranges, fitting != NULL ? fitting : found, __ATOMIC_RELEASE);
    if (has_other_threads())
        kept += before != NULL;
    else
        free(before);
}

void process_sharing_look(struct guest_thread *thread)
{
    uint64_t base = guest_memory_base();
    struct ranges *found;
    char *line = NULL;
    size_t size = 0;
    FILE *maps;

    if (processes == NULL)
        return;
    pthread_mutex_lock(&look_lock);
    found = calloc(1, sizeof *found);
    maps = fopen("/proc/self/maps", "re");
    while (found != NULL && maps != NULL && found->count < RANGES_MAX &&
           getline(&line, &size, maps) > 0) {
        struct range *range = &found->items[found->count];

        if (read_range(line, base, range)) {
            range->id = id_of(range);
            found->count += range->id != 0;
        }
    }
    if (maps != NULL)
        fclose(maps);
    free(line);
    if (found != NULL && (found->count > 0 || ranges != NULL) && !are_equal(found, ranges))
        publish(found);
    else
        free(found);
    bool first = !process_sharing_on && ranges != NULL;
    if (first)
        __atomic_store_n(&process_sharing_on, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&look_lock);
    if (first && thread != NULL && thread->calls_in == NULL) {
        stream_drain(thread);
        sharing_become_parallel(thread);
    } else if (first && thread == NULL) {
        sharing_become_parallel(NULL);
    }
}

/* ---- counting ---- */

static struct record_process_transfer *place_of(struct record_process_transfer *table, size_t size,
                                                const struct record_process_transfer *event)
{
    uint64_t hash = event->line * 0x9e3779b97f4a7c15u ^ event->destination_ip * 0xd6e8feb86659fd93u;

    hash += event->source_pid * 31u + event->kind * 7u + event->mapping_id;
    hash ^= hash >> 31;
    for (size_t i = hash;; i++) {
        struct record_process_transfer *place = &table[i & (size - 1)];

        if (!(place->transfers > 0) ||
            memcmp(place, event, offsetof(struct record_process_transfer, transfers)) == 0)
            return place;
    }
}

static bool grow(void)
{
    size_t size = event_size > 0 ? 2 * event_size : FIRST_EVENTS;
    struct record_process_transfer *table = calloc(size, sizeof *table);

    if (table == NULL)
        return false;
    for (size_t i = 0; i < event_size; i++)
        if (events[i].transfers > 0)
            *place_of(table, size, &events[i]) = events[i];
    free(events);
    events = table;
    event_size = size;
    return true;
}

static void count_event(void *context, const struct process_event *event)
{
    struct record_process_transfer record = *(const struct record_process_transfer *)context,
                                   *place;

    /* Threads of one process: sharing.c counts them. */
    if (event->source_pid == (uint32_t)getpid())
        return;
    record.source_pid = event->source_pid;
    record.source_tid = event->source_tid;
    record.source_offset = event->source_offset;
    record.source_width = event->source_width;
    record.kind = (uint8_t)event->kind;
    record.true_sharing = event->true_sharing;
    pthread_mutex_lock(&event_lock);
    if (event_count == EVENTS_MAX || (2 * (event_count + 1) > event_size && !grow())) {
        __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
    } else {
        place = place_of(events, event_size, &record);
        if (!(place->transfers > 0)) {
            *place = record;
            event_count++;
        }
        place->transfers++;
    }
    pthread_mutex_unlock(&event_lock);
}

void process_sharing_access(struct guest_thread *thread, const struct stream_access *access,
                            unsigned width)
{
    const struct ranges *known = __atomic_load_n(&ranges, __ATOMIC_ACQUIRE);
    uint64_t address = stream_address(access);
    size_t i = 0;

    while (i < known->count &&
           address - known->items[i].start >= known->items[i].end - known->items[i].start)
        i++;
    if (i == known->count)
        return;
    const struct range *range = &known->items[i];
    uint64_t from = address - range->start + range->offset, end = from + width;

    while (from < end) {
        uint64_t line = line_start(from, line_size);
        uint64_t next = line + line_size < end ? line + line_size : end;
        struct process_access one = {
            .device = range->device,
            .inode = range->inode,
            .line = line,
            .bytes = line_mask(line, line_size, from, (uint32_t)(next - from)),
            .offset = (uint16_t)(from - line),
            .width = (uint8_t)(next - from),
            .write = stream_kind(access) & ACCESS_STORE || stream_modifies(access)};
        struct record_process_transfer event = {.destination_thread = thread->thread_id,
                                                .mapping_id = range->id,
                                                .line = line,
                                                .line_size = line_size,
                                                .destination_ip =
                                                    instruction_at(access->instruction)->ip,
                                                .destination_offset = one.offset,
                                                .destination_width = one.width};

        if (!exact_processes_access(processes, (uint32_t)getpid(), thread->tid, &one, count_event,
                                    &event))
            __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
        from = next;
    }
}

void process_sharing_write(struct profile_writer *writer, uint64_t now_ns)
{
    pthread_mutex_lock(&look_lock);
    for (size_t i = 0; i < all_count; i++) {
        const struct range *range = &all[i];
        struct record_shared_mapping record = {.mapping_id = range->id,
                                               .start = range->start,
                                               .end = range->end,
                                               .offset = range->offset,
                                               .device = range->device,
                                               .inode = range->inode,
                                               .monotonic_ns = now_ns};

        profile_writer_append(writer, RECORD_SHARED_MAPPING, &record,
                              offsetof(struct record_shared_mapping, path), range->path,
                              strlen(range->path) + 1, now_ns);
    }
    pthread_mutex_unlock(&look_lock);
    pthread_mutex_lock(&event_lock);
    for (size_t i = 0; i < event_size; i++)
        if (events[i].transfers > 0)
            profile_writer_append(writer, RECORD_PROCESS_TRANSFER, &events[i], sizeof events[i],
                                  NULL, 0, now_ns);
    pthread_mutex_unlock(&event_lock);
}

uint64_t process_sharing_lost(void)
{
    return __atomic_load_n(&lost, __ATOMIC_RELAXED);
}

void process_sharing_after_fork(void)
{
    pthread_mutex_init(&look_lock, NULL);
    pthread_mutex_init(&event_lock, NULL);
    free(events);
    events = NULL;
    event_size = event_count = 0;
    lost = 0;
    if (process_sharing_on)
        sharing_become_parallel(NULL);
}
