/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "memory/page_map.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposition/descriptors.h"
#include "own/small_file.h"
#include "process/settings.h"
#include "recording/tape.h"

#include "signal_safe.h"

/* Bits of an entry. */
#define PRESENT (UINT64_C(1) << 63)
#define OF_FILE (UINT64_C(1) << 61) /* or of memory that processes share */
#define EXCLUSIVE (UINT64_C(1) << 56)

enum {
    HUGE = 512, /* pages of a huge one: a table of them, which fills a page of 4 KiB */
    /* Entries that are read at a time. Of each page that is there the kernel looks at what it knows
       of it, which is mostly in no cache: 64 took 7 us. */
    WINDOW = 8,
    SMALL_PAGE = 4096,
};

enum state { CLOSED, OPENING, OPEN, REFUSED };

static _Atomic int state;
static int map = -1;
static bool huge_unasked; /* written while it is OPENING */

/* Entries first .. first + n - 1. */
struct window {
    uint64_t first, entries[HUGE];
    uint32_t n;
};

static bool hands_out_huge_pages(void)
{
    char text[64];

    if (settings.page_size != SMALL_PAGE)
        return false;
    small_file_read("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text);
    return begins_with(text, "[always]");
}

static bool is_open(void)
{
    int closed = CLOSED, opened = -1;

    if (atomic_load(&state) == CLOSED && atomic_compare_exchange_strong(&state, &closed, OPENING)) {
        if (!tape_supplies()) {
            huge_unasked = hands_out_huge_pages();
            opened = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        }
        opened = descriptor_adopt((int)tape_value(TAPE_CALL, (uint64_t)opened), &map);
        atomic_store(&state, opened < 0 ? REFUSED : OPEN);
    }
    return atomic_load(&state) == OPEN;
}

static bool read_window(struct window *window, uint64_t first, uint32_t n)
{
    const size_t wanted = n * sizeof *window->entries;

    window->first = first;
    window->n = n;
    return descriptor_read_at(&map, window->entries, wanted, first * sizeof *window->entries) ==
           (long)wanted;
}

/* Of private memory that is there no other process has a part. */
static bool takes_fault(uint64_t entry)
{
    return !(entry & PRESENT) || !(entry & (OF_FILE | EXCLUSIVE));
}

/* The end of the huge page that the page would come with; 0: it comes alone. */
static uint64_t huge_end(uint64_t page)
{
    struct window window;

    if (!huge_unasked || !read_window(&window, page & ~(uint64_t)(HUGE - 1), HUGE))
        return 0;
    for (uint32_t i = 0; i < HUGE; i++)
        if (!takes_fault(window.entries[i]))
            return 0;
    return window.first + HUGE;
}

uint32_t page_map_store_faults(const uint64_t *pages, uint32_t n)
{
    struct window window = {.n = 0};
    uint64_t come = 0; /* pages below it come with one before */
    uint32_t faults = 0;

    if (n == 0 || !is_open() || tape_supplies())
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        if (pages[i] < come)
            continue;
        if (pages[i] - window.first >= window.n &&
            !read_window(&window, pages[i] & ~(uint64_t)(WINDOW - 1), WINDOW))
            return 0;
        if (!takes_fault(window.entries[pages[i] - window.first]))
            continue;
        faults++;
        come = huge_end(pages[i]);
    }
    return faults;
}

uint32_t page_map_present(const void *memory, size_t bytes)
{
    const uint64_t begin = (uintptr_t)memory / settings.page_size;
    const uint64_t end = ((uintptr_t)memory + bytes - 1) / settings.page_size + 1;
    unsigned char resident[HUGE];
    uint32_t present = 0;

    if (!is_open() || tape_supplies())
        return 0;
    for (uint64_t page = begin; page < end; page += HUGE) {
        uint64_t n = end - page < HUGE ? end - page : HUGE;

        if (syscall(SYS_mincore, page * settings.page_size, n * settings.page_size, resident) != 0)
            return 0;
        for (uint64_t i = 0; i < n; i++)
            present += resident[i] & 1;
    }
    return present;
}

void page_map_after_fork(void)
{
    map = -1;
    atomic_store(&state, CLOSED);
}
