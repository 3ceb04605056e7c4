/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/meet.h"

#include <stdatomic.h>

#include "bursts/cost_account.h"
#include "large_table.h"
#include "memory/memory.h"
#include "output/output.h"
#include "process/settings.h"
#include "recording/tape.h"
#include "sampling/burst_lines.h"
#include "sampling/meetings.h"
#include "unwinding/attribution.h"
#include "watches/watch.h"

#include "signal_safe.h"

/* All under the lock. */
static LARGE_TABLE struct meetings meetings;
static LARGE_TABLE struct burst_lines lines;
static LARGE_TABLE struct meetings_told told;
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void write_use(const struct scratch *scratch, struct record_shared_use *use)
{
    uint64_t offset = use->stores > 0 ? use->store_offset : use->load_offset;
    struct burst_object object = {0};

    attribution_identify(scratch->thread, use->line + offset, &object);
    use->object_kind = object.kind;
    use->object_reference = object.reference;
    use->object_base = object.base;
    use->object_size = object.size;
    output_append(RECORD_SHARED_USE, use, sizeof *use, NULL, 0);
}

void meet(const struct scratch *scratch)
{
    const struct record_burst *burst = &scratch->record;
    enum cost_part before;

    /* A burst that comes while another thread's is at it tells of no line: it waits for nobody. */
    if (!settings.sharing || tape_mode != TAPE_OFF || line_sharing_active() ||
        thread_alive_count() < 2 || atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        return;
    before = cost_enter(COST_SAMPLE);
    burst_lines_find(scratch->burst, burst->monotonic_ns, &lines);
    meetings_note(&meetings, &lines, burst->thread_id, burst->burst_id, burst->monotonic_ns, &told);
    for (unsigned i = 0; i < told.count; i++)
        write_use(scratch, &told.uses[i]);
    cost_leave(before);
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

void meet_after_fork(void)
{
    if (meetings.used > 0)
        memory_clear(&meetings, sizeof meetings);
    atomic_flag_clear(&lock);
}
