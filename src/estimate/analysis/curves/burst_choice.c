/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random part of very many bursts: a report on the files of many ranks, or of days, takes no more
 * time and memory than one on a long run. What 4096 bursts scatter by is less than what the models
 * behind them are known to. What is drawn depends on what a burst's record says alone, so that
 * merged files give the same part.
 */
#include "analysis/internal.h"

/* 0 .. 1. A key is a hash; replicates hash it once more before they draw by it. */
static double uniform(uint64_t key)
{
    return (double)(key >> 11) * 0x1p-53;
}

void analysis_choose_bursts(struct analysis *analysis)
{
    size_t fair = BURSTS_EVALUATED / 2 / (analysis->thread_count + 1);
    size_t least = fair < FEW_BURSTS ? fair : FEW_BURSTS;

    if (analysis->options.all_bursts || analysis->burst_count <= BURSTS_EVALUATED)
        return;
    for (size_t i = 0; i < analysis->burst_count; i++) {
        struct analysed_burst *burst = &analysis->bursts[i];
        double share = (double)BURSTS_EVALUATED / (double)analysis->burst_count;
        double of_thread = (double)least / (double)analysis->threads[burst->thread].bursts;

        if (share < of_thread)
            share = of_thread;
        burst->left_out = uniform(replicate_record_key(burst->record)) >= share;
    }
}
