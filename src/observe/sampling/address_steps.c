/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/address_steps.h"

#include <stddef.h>
#include <string.h>

#include "signal_safe.h"

enum { PLACES = 2 * ADDRESS_STEPS_INSTRUCTIONS };

/* The instruction's counts; NULL: there are too many. */
static struct counted_steps *counted_of(struct step_counter *counter, uint64_t ip)
{
    uint32_t place = (uint32_t)(ip * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (PLACES - 1);
    struct counted_steps *fresh;

    while (counter->place[place] != 0) {
        struct counted_steps *one = &counter->counted[counter->place[place] - 1];

        if (one->steps.ip == ip)
            return one;
        place = (place + 1) & (PLACES - 1);
    }
    if (counter->count == ADDRESS_STEPS_INSTRUCTIONS)
        return NULL;
    fresh = &counter->counted[counter->count++];
    counter->place[place] = (uint16_t)counter->count;
    *fresh = (struct counted_steps){.steps.ip = ip};
    return fresh;
}

static uint64_t size_of(int64_t step)
{
    return step < 0 ? -(uint64_t)step : (uint64_t)step;
}

static void vote(struct counted_steps *counted, int64_t step)
{
    if (counted->votes == 0)
        counted->steps.stride = step;
    if (counted->steps.stride == step)
        counted->votes++;
    else
        counted->votes--;
}

static void count(struct counted_steps *counted, uint64_t address, uint32_t line_size)
{
    int64_t step = (int64_t)(address - counted->address);

    if (counted->steps.accesses++ > 0 && size_of(step) >= line_size) {
        counted->steps.far++;
        counted->steps.even += step == counted->step;
        vote(counted, step);
    }
    counted->step = counted->steps.accesses > 1 ? step : 0;
    counted->address = address;
}

static bool is_told(const struct address_steps *steps)
{
    return steps->accesses >= ADDRESS_STEPS_ACCESSES &&
           steps->far * ADDRESS_STEPS_FAR_ONE_IN >= steps->accesses;
}

/* Keeps those with most far steps, in descending order. */
static uint32_t keep(struct address_steps *out, uint32_t kept, const struct address_steps *one)
{
    uint32_t at = kept;

    while (at > 0 && out[at - 1].far < one->far)
        at--;
    if (at == ADDRESS_STEPS_MAX)
        return kept;
    if (kept == ADDRESS_STEPS_MAX)
        kept--;
    memmove(&out[at + 1], &out[at], (kept - at) * sizeof *out);
    out[at] = *one;
    return kept + 1;
}

uint32_t address_steps_find(struct step_counter *counter, const struct burst *burst,
                            uint32_t line_size, const struct provenance *provenance,
                            struct address_steps *out)
{
    uint32_t kept = 0;

    memset(counter->place, 0, sizeof counter->place);
    counter->count = 0;
    for (uint32_t i = 0; i < burst_count(burst); i++) {
        const struct access *access = burst_access(burst, i);
        struct counted_steps *counted = counted_of(counter, access->ip);

        if (counted)
            count(counted, access->address, line_size);
    }
    for (uint32_t i = 0; i < counter->count; i++)
        if (is_told(&counter->counted[i].steps))
            kept = keep(out, kept, &counter->counted[i].steps);
    for (uint32_t i = 0; provenance && i < kept; i++) {
        const struct address_source *source = provenance_of(provenance, out[i].ip);

        if (!source)
            continue;
        out[i].traced = source->traced;
        out[i].loaded = source->loaded;
        out[i].loaded_by = source->loaded_by;
    }
    return kept;
}
