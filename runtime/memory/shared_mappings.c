/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "memory/shared_mappings.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "allocation/interpose_mapping.h"
#include "large_table.h"
#include "memory/maps.h"
#include "output/output.h"
#include "own/own_place.h"
#include "perf_events/timebase.h"
#include "process/settings.h"
#include "recording/tape.h"
#include "sampling/shared_footprint.h"

#include "signal_safe.h"

enum {
    MAPPINGS_MAX = 64, /* at a time; a program with more has few lines of most of them in use */
    PATH_BYTES = 256,
    /* Reading some hundred lines of /proc takes 0.1 ms: at these intervals below one in 1000. */
    LOOK_LEAST_NS = 10 * 1000 * 1000,
    LOOK_MOST_NS = 500 * 1000 * 1000,
    LOOKS_COST_LESS_THAN = 1000, /* one in so many, however long they take */
    /* A process that has no such memory seldom gets any in a way that is not seen: by shmat(). */
    LOOKS_FOR_THE_FIRST_COST_LESS_THAN = 10 * 1000,
};

struct mapping {
    uint32_t id;
    bool written; /* to the profile */
    bool seen;    /* in the look under way */
    char path[PATH_BYTES];
};

/* All under the lock. ranges[i] and mappings[i] are one mapping. */
static LARGE_TABLE struct shared_range ranges[MAPPINGS_MAX];
static LARGE_TABLE struct mapping mappings[MAPPINGS_MAX];
static unsigned count;
static uint32_t ids;
static uint64_t first_look_ns, next_look_ns;
static uint32_t made; /* mappings that the program had made at the last look */
static atomic_flag lock = ATOMIC_FLAG_INIT;

static bool is_same(const struct shared_range *range, const struct maps_entry *entry)
{
    return range->start == entry->start && range->end == entry->end &&
           range->offset == entry->offset && range->device == entry->device &&
           range->inode == entry->inode;
}

static bool is_own(const struct maps_entry *entry)
{
    return strcmp(entry->path, "/memfd:" OWN_MEMORY_FILE " (deleted)") == 0;
}

static bool look_at(void *unused, const struct maps_entry *entry)
{
    size_t length = strlen(entry->path);
    unsigned i = 0;

    (void)unused;
    if (!entry->shared || !entry->readable || is_own(entry))
        return true;
    while (i < count && !is_same(&ranges[i], entry))
        i++;
    if (i == MAPPINGS_MAX)
        return true;
    if (i == count) {
        ranges[i] = (struct shared_range){.start = entry->start,
                                          .end = entry->end,
                                          .offset = entry->offset,
                                          .device = entry->device,
                                          .inode = entry->inode};
        mappings[i] = (struct mapping){.id = ++ids};
        /* The end of a long one says more than its beginning. */
        if (length >= PATH_BYTES)
            memcpy(mappings[i].path, entry->path + length - (PATH_BYTES - 1), PATH_BYTES);
        else
            memcpy(mappings[i].path, entry->path, length + 1);
        count++;
    }
    mappings[i].seen = true;
    return true;
}

static void forget_gone(void)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < count; i++) {
        if (!mappings[i].seen)
            continue;
        mappings[i].seen = false;
        if (kept != i) {
            mappings[kept] = mappings[i];
            ranges[kept] = ranges[i];
        }
        kept++;
    }
    count = kept;
}

static void look(uint64_t now)
{
    uint64_t took, wait, least;

    if (first_look_ns == 0)
        first_look_ns = now;
    made = mapping_shared_count();
    maps_each(look_at, NULL);
    forget_gone();
    took = monotonic_ns() - now;
    wait = (now - first_look_ns) / 16;
    wait = wait < LOOK_LEAST_NS ? LOOK_LEAST_NS : wait > LOOK_MOST_NS ? LOOK_MOST_NS : wait;
    least = took * (count ? LOOKS_COST_LESS_THAN : LOOKS_FOR_THE_FIRST_COST_LESS_THAN);
    if (wait < least)
        wait = least;
    next_look_ns = now + wait;
}

static void write_mapping(unsigned i)
{
    struct record_shared_mapping record = {
        .mapping_id = mappings[i].id,
        .start = ranges[i].start,
        .end = ranges[i].end,
        .offset = ranges[i].offset,
        .device = ranges[i].device,
        .inode = ranges[i].inode,
        .monotonic_ns = monotonic_ns(),
    };

    mappings[i].written =
        output_append(RECORD_SHARED_MAPPING, &record, offsetof(struct record_shared_mapping, path),
                      mappings[i].path, strlen(mappings[i].path) + 1);
}

static void write_uses(const struct scratch *scratch, uint64_t now)
{
    struct shared_footprint footprint;

    shared_footprint_find(&footprint, burst_access(scratch->burst, 0), burst_count(scratch->burst),
                          ranges, count, settings.line_size, now);
    for (unsigned i = 0; i < footprint.count; i++) {
        struct record_shared_use *use = &footprint.uses[i];
        unsigned mapping = use->mapping_id - 1;

        if (!mappings[mapping].written)
            write_mapping(mapping);
        use->mapping_id = mappings[mapping].id;
        use->burst_id = scratch->record.burst_id;
        output_append(RECORD_SHARED_USE, use, sizeof *use, NULL, 0);
    }
}

void shared_mappings_note(const struct scratch *scratch)
{
    uint64_t now;

    /* A burst that meets another thread's here tells of no such line: it waits for nobody. */
    if (tape_mode != TAPE_OFF || burst_count(scratch->burst) == 0 ||
        atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        return;
    now = monotonic_ns();
    /* Once it has some, more come and go with a program that maps again and again. */
    if (now >= next_look_ns || (count == 0 && mapping_shared_count() != made))
        look(now);
    if (count > 0)
        write_uses(scratch, now);
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

void shared_mappings_after_fork(void)
{
    count = 0; /* another thread of the parent may have been at it */
    next_look_ns = 0;
    atomic_flag_clear(&lock);
}
