/* SPDX-License-Identifier: BSD-3-Clause */
/* Spans of the API that a thread is in. */
#include "bursts/thread.h"
#include "recording/tape.h"

#include "signal_safe.h"

void thread_region_begin(struct thread *thread, uint32_t region_id)
{
    const uint32_t what[2] = {true, region_id};
    bool taped = tape_begin(TAPE_REGION, thread->id, what, sizeof what);

    if (thread->region_depth < THREAD_REGIONS)
        thread->regions[thread->region_depth] = region_id;
    thread->region_depth++;
    if (taped)
        tape_end();
}

void thread_region_end(struct thread *thread)
{
    const uint32_t what[2] = {false, 0};
    bool taped;

    if (thread->region_depth == 0)
        return;
    taped = tape_begin(TAPE_REGION, thread->id, what, sizeof what);
    thread->region_depth--;
    if (taped)
        tape_end();
}
