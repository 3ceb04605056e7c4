/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/communication/burst_use.h"

#include "sampling/line_mask.h"

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

bool burst_use_describe(const struct analysis *analysis, uint32_t profile, uint32_t line_size,
                        const struct record_shared_use *record, struct burst_use *use)
{
    uint32_t number = analysis_find_burst(analysis, profile, record->burst_id);
    const struct analysed_burst *burst;
    const struct record_thread *thread;

    if (number == NO_BURST || analysis->bursts[number].record->accesses == 0)
        return false;
    burst = &analysis->bursts[number];
    thread = profile_thread(analysis->profiles[profile], burst->record->thread_id);
    *use = (struct burst_use){
        .record = record,
        .profile = profile,
        .line = line_start(record->line, line_size),
        .part = (uint16_t)(record->line % line_size / analysis->run_line_size),
        .process = thread ? thread->origin_id : 0,
        .burst = number,
        .time = burst->record->monotonic_ns,
        .weight = burst->accesses / burst->record->accesses,
        .app_ns = burst->time_ns * analysis->threads[burst->thread].scale,
    };
    return true;
}

int burst_use_compare_times(const struct burst_use *x, const struct burst_use *y)
{
    int order = compare(x->time, y->time);

    order = order ? order : compare(x->burst, y->burst);
    return order ? order : compare(x->part, y->part);
}
