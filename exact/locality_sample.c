/* SPDX-License-Identifier: BSD-3-Clause */
/* Locality where only 1/n of the lines come in the stream: each that comes stands for n. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O3")
#endif
#include "locality_internal.h"

/* One use of a followed line in a sample. */
static void count_sampled_use(struct locality *locality, struct exact_cell *cell, uint64_t line,
                              uint32_t rate)
{
    struct exact_reuse reuse = exact_stack_use(&locality->stacks[0], line);
    uint64_t n = rate, distance = reuse.distance * n;
    exact_rate_use(locality->sampled, reuse);
    if (reuse.distance == EXACT_STACK_COLD) {
        exact_counts_add_far(&locality->counts, cell, 0, EXACT_BIN_COLD, n);
        return;
    }
    /* By instruction and object there is no survival to go by: the reuse time limits the distance.
     */
    if (reuse.distance == 0)
        distance = reuse.time - 1 < n / 2 ? reuse.time - 1 : n / 2;
    exact_counts_add_far(&locality->counts, cell, 0, exact_bin_of(distance), n);
}

/* The cell of a sampled access; NULL, and counted, when memory is short. */
static struct exact_cell *sampled_cell(struct locality *locality,
                                       const struct stream_access *access)
{
    uint64_t address = stream_address(access);
    struct exact_cell *cell = access->instruction < locality->current_capacity
                                  ? locality->current[access->instruction]
                                  : NULL;
    if (cell == NULL || !locality_fits(locality, cell, address))
        cell = locality_find_cell(locality, access->instruction, address, cell);
    if (cell == NULL)
        locality->counts.lost++;
    return cell;
}

/* Bursts begin and end. */
static void follow_burst(struct locality *locality, const struct stream_access *access)
{
    bool in_burst = stream_flags(access) & STREAM_BURST;
    if (in_burst && (!locality->in_burst || access->skipped > 0))
        exact_rate_burst_begin(&locality->burst, locality->sampled, locality->stacks[0].clock);
    else if (!in_burst && locality->in_burst)
        exact_rate_burst_end(&locality->burst, locality->sampled);
    locality->in_burst = in_burst;
}

void locality_analyse_sample(struct locality *locality, const struct stream_access *batch,
                             size_t count)
{
    const unsigned shift = (unsigned)__builtin_ctz(locality_line_size(0));
    const uint32_t rate = locality_rate();

    for (size_t i = 0; i < count; i++) {
        const struct stream_access *access = &batch[i];
        uint64_t address = stream_address(access), last = address + stream_width(access) - 1;
        unsigned uses = stream_uses(access);
        locality->stacks[0].clock += access->skipped;
        follow_burst(locality, access);
        for (unsigned use = 0; use < uses; use++)
            for (uint64_t line = address >> shift; line <= last >> shift; line++) {
                struct exact_cell *cell = NULL;
                if (locality->in_burst)
                    exact_rate_burst_use(&locality->burst, locality->sampled, line);
                if (exact_rate_keeps(line, rate))
                    cell = sampled_cell(locality, access);
                if (cell != NULL)
                    count_sampled_use(locality, cell, line, rate);
                else
                    locality->stacks[0].clock++;
            }
        if (stream_call_flags(access) != 0)
            regions_follow(&locality->regions, locality->thread, access);
    }
}
