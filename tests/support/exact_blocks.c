/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells the exact engine of blocks by messages (objects/doorbell.h), and uses each a known number
 * of times: site 1 gets a large block, 80000 stores and 40000 loads of 8 bytes; site 2 a small one,
 * 700 stores; site 3 the same place after it was given back, 300 stores; then 50 stores to the
 * place when it is nobody's.
 */
#include <stdint.h>
#include <unistd.h>

#include "objects/doorbell.h"
#include "objects/layers.h"
#include "profile/format.h"

static uint64_t memory[40000] __attribute__((aligned(4096)));
static uint64_t place[16] __attribute__((aligned(64)));

static void allocated(void *block, size_t bytes, uint64_t site)
{
    uint64_t frames[2] = {site << 12, 0x1000};
    (void)syscall(DOORBELL_NUMBER, DOORBELL_SITE, site, ALLOCATOR_MALLOC, frames, 2, 0);
    (void)syscall(DOORBELL_NUMBER, DOORBELL_INSERTED, LAYER_HEAP, block, bytes, site, 1);
}

static void freed(void *block)
{
    (void)syscall(DOORBELL_NUMBER, DOORBELL_REMOVED, LAYER_HEAP, block);
}

static void store(volatile uint64_t *block, int count)
{
    for (int i = 0; i < count; i++)
        block[i % 16] = (uint64_t)i;
}

int main(void)
{
    volatile uint64_t *large = memory;
    allocated(memory, sizeof memory, 1);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 40000; i++)
            large[i] = (uint64_t)i;
    for (int i = 0; i < 40000; i++)
        (void)large[i];

    allocated(place, sizeof place, 2);
    store(place, 700);
    freed(place);
    allocated(place, sizeof place, 3);
    store(place, 300);
    freed(place);
    store(place, 50);
    return 0;
}
