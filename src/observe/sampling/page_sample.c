/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/page_sample.h"

#include <stdbool.h>
#include <string.h>

#include "sampling/hash.h"

#include "signal_safe.h"

/* The high bits of the hash say whether the page is in the sample, the low ones where. */
static bool is_in(const struct page_sample *sample, uint64_t page)
{
    return (hash_mix(page) >> 32 & (sample->each - 1)) == 0;
}

static void put(struct page_sample *sample, uint64_t page)
{
    uint32_t at = hash_mix(page) % PAGE_SAMPLE_SLOTS;

    while (sample->pages[at] != 0 && sample->pages[at] != page + 1)
        at = (at + 1) % PAGE_SAMPLE_SLOTS;
    sample->count += sample->pages[at] == 0;
    sample->pages[at] = page + 1;
}

/* Half of the pages, at random, remain. */
static void thin_out(struct page_sample *sample)
{
    const struct page_sample full = *sample;

    memset(sample->pages, 0, sizeof sample->pages);
    sample->count = 0;
    sample->each *= 2;
    for (unsigned i = 0; i < PAGE_SAMPLE_SLOTS; i++)
        if (full.pages[i] != 0 && is_in(sample, full.pages[i] - 1))
            put(sample, full.pages[i] - 1);
}

void page_sample_begin(struct page_sample *sample)
{
    *sample = (struct page_sample){.each = 1};
}

void page_sample_add(struct page_sample *sample, uint64_t page)
{
    if (page + 1 == sample->last)
        return;
    sample->last = page + 1;
    if (!is_in(sample, page))
        return;
    put(sample, page);
    while (sample->count > PAGE_SAMPLE_MAX)
        thin_out(sample);
}

uint32_t page_sample_list(const struct page_sample *sample, uint64_t pages[PAGE_SAMPLE_MAX])
{
    uint32_t n = 0;

    for (unsigned i = 0; i < PAGE_SAMPLE_SLOTS; i++) {
        uint32_t at = n;

        if (sample->pages[i] == 0)
            continue;
        for (; at > 0 && pages[at - 1] > sample->pages[i] - 1; at--)
            pages[at] = pages[at - 1];
        pages[at] = sample->pages[i] - 1;
        n++;
    }
    return n;
}
