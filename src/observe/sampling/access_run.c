/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/access_run.h"

#include "signal_safe.h"

struct access_run access_run_at(const struct access *accesses, uint32_t count, uint32_t index,
                                uint32_t line_size, struct random *random)
{
    struct access_run run = {.accesses = accesses,
                             .count = count,
                             .sampled = index,
                             .sample = accesses[index],
                             .line_size = line_size};
    uint64_t end = run.sample.address + run.sample.width;
    uint64_t line = run.sample.address / line_size;
    uint32_t lines = (uint32_t)((end - 1) / line_size - line) + 1;

    if (lines == 1)
        return run;
    run.straddles = true;
    line += random_below(random, lines);
    if (line * line_size > run.sample.address)
        run.sample.address = line * line_size;
    if (end > (line + 1) * line_size)
        end = (line + 1) * line_size;
    run.sample.width = (uint8_t)(end - run.sample.address);
    return run;
}

uint32_t access_run_ahead(const struct access_run *run, uint32_t word_bytes)
{
    uint64_t word = run->sample.address / word_bytes;
    uint32_t ahead = 0;

    for (uint32_t i = run->from; i < run->sampled; i++) {
        const struct access *access = &run->accesses[i];
        uint64_t first = access->address / word_bytes;
        uint64_t last = (access->address + access->width - 1) / word_bytes;

        ahead += access->ip == run->sample.ip && access->kind == run->sample.kind &&
                 first <= word && word <= last;
    }
    return ahead;
}

/*
 * Smallest block size (power of two, at least LINE_SIZE_MIN) whose aligned block holds a byte of
 * both accesses; more than LINE_SIZE_MAX when only larger blocks do.
 */
static uint64_t common_block(const struct access *a, const struct access *b)
{
    uint64_t a_last = a->address + a->width - 1, b_last = b->address + b->width - 1;
    /* The nearest pair of bytes decides: overlapping operands share even the smallest block. */
    uint64_t difference;

    if (a->address <= b_last && b->address <= a_last)
        return LINE_SIZE_MIN;
    if (a_last < b->address)
        difference = a_last ^ b->address;
    else
        difference = b_last ^ a->address;
    if (difference < LINE_SIZE_MIN)
        return LINE_SIZE_MIN;
    if (difference >= LINE_SIZE_MAX)
        return 2 * (uint64_t)LINE_SIZE_MAX;
    return 2ull << (63 - __builtin_clzll(difference));
}

/* Finds the next uses of the sample's line, at every line size. */
static void find_uses(const struct access_run *run, struct record_sample *sample)
{
    uint64_t unresolved = LINE_SIZE_MAX; /* blocks of up to this size have not been used again */

    for (uint32_t i = run->sampled + 1; i < run->count && unresolved >= LINE_SIZE_MIN; i++) {
        const struct access *access = &run->accesses[i];
        uint64_t reach = unresolved + ACCESS_WIDTH_MAX, block;

        /* Cheap rejection: most accesses are far away. */
        if (access->address - run->sample.address + reach > 2 * reach)
            continue;
        block = common_block(&run->sample, access);
        if (block > unresolved)
            continue;
        for (uint64_t size = unresolved; size >= block; size /= 2)
            sample->reuse_time[line_size_index((uint32_t)size)] = i - run->sampled;
        if (unresolved >= run->line_size && block <= run->line_size)
            sample->reuse_ip = access->ip;
        unresolved = block / 2;
    }
}

void access_run_describe(const struct access_run *run, struct record_sample *sample)
{
    sample->ip = run->sample.ip;
    sample->address = run->sample.address;
    sample->width = run->sample.width;
    sample->kind = run->sample.kind;
    if (run->straddles)
        sample->flags |= SAMPLE_STRADDLES;
    sample->accesses_ahead = run->count - 1 - run->sampled;
    sample->lines_ahead = 0;
    sample->reuse_ip = 0;
    for (int i = 0; i < LINE_SIZE_COUNT; i++)
        sample->reuse_time[i] = REUSE_TIME_NONE;
    find_uses(run, sample);
}
