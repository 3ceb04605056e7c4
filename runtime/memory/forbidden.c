/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "memory/forbidden.h"

#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "large_table.h"
#include "memory/maps.h"
#include "own/text.h"

#include "signal_safe.h"

enum { RANGES_MAX = 256 };

/* Unused: high is 0. Taken by compare-and-swap of `high`, which is written last. */
static LARGE_TABLE struct {
    _Atomic uint64_t low, high;
} ranges[RANGES_MAX];
static _Atomic unsigned used; /* none at or above was ever taken */
/* There were more than fit: everything is forbidden. */
static _Atomic bool overflown;

bool forbidden_any(void)
{
    return atomic_load_explicit(&used, memory_order_relaxed) != 0;
}

void forbidden_add(uint64_t low, uint64_t high)
{
    const uint64_t writing = 1;

    if (high <= low)
        return;
    for (unsigned i = 0; i < RANGES_MAX; i++) {
        uint64_t unused = 0;
        unsigned seen = atomic_load(&used);

        if (!atomic_compare_exchange_strong(&ranges[i].high, &unused, writing))
            continue;
        atomic_store(&ranges[i].low, low);
        atomic_store(&ranges[i].high, high);
        while (seen <= i && !atomic_compare_exchange_weak(&used, &seen, i + 1))
            ;
        return;
    }
    atomic_store(&overflown, true);
}

/* A part that stays would have to be two: it stays forbidden as a whole. */
void forbidden_remove(uint64_t low, uint64_t high)
{
    unsigned n = atomic_load_explicit(&used, memory_order_relaxed);

    for (unsigned i = 0; i < n; i++)
        if (atomic_load(&ranges[i].low) >= low && atomic_load(&ranges[i].high) <= high)
            atomic_store(&ranges[i].high, 0);
}

bool forbidden_at(uint64_t address, uint64_t size)
{
    unsigned n = atomic_load_explicit(&used, memory_order_relaxed);

    if (n == 0)
        return false;
    for (unsigned i = 0; i < n; i++)
        if (address < atomic_load_explicit(&ranges[i].high, memory_order_relaxed) &&
            address + size > atomic_load_explicit(&ranges[i].low, memory_order_relaxed))
            return true;
    return atomic_load_explicit(&overflown, memory_order_relaxed);
}

void forbidden_if_device(uint64_t low, uint64_t high, int descriptor)
{
    enum { MEMORY_DEVICES = 1, ZERO = 5 };
    struct stat status;

    if (fstat(descriptor, &status) == 0 && S_ISCHR(status.st_mode) &&
        status.st_rdev != makedev(MEMORY_DEVICES, ZERO))
        forbidden_add(low, high);
}

static bool look_at(void *unused, const struct maps_entry *entry)
{
    (void)unused;
    if (begins_with(entry->path, "/dev/") && !begins_with(entry->path, "/dev/zero") &&
        !begins_with(entry->path, "/dev/shm/") && !forbidden_at(entry->start, 1))
        forbidden_add(entry->start, entry->end);
    return true;
}

void forbidden_look(void)
{
    maps_each(look_at, NULL);
}
