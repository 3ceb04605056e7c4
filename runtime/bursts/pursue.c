/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/pursue.h"

#include "bursts/bursts.h"
#include "bursts/cost_account.h"
#include "bursts/look_ahead.h"
#include "output/output.h"
#include "process/settings.h"
#include "unwinding/attribution.h"

#include "signal_safe.h"

enum {
    /*
     * Bursts per pursuit. On nine programs of 0.4 to 3 s without registers that trap, error of the
     * curve and of the number of accesses (medians of 36 runs) were: no pursuits 2.3 points and a
     * factor of 1.43; one in eight 2.4 and 1.46; in four 1.2 and 1.45; in two 1.4 and 1.63; in each
     * 2.0 and 1.77.
     */
    ONE_IN = 4,
    /* As of a burst: bounds a loop that makes no access at all. */
    INSTRUCTIONS_PER_ACCESS = BURST_INSTRUCTIONS_MAX / BURST_ACCESSES,
};

static void look(struct scratch *scratch)
{
    struct thread *thread = scratch->thread;
    enum interpreter_stop why = INTERPRETER_FULL;
    uint64_t most = interpreter_instructions(thread->interpreter) +
                    (uint64_t)INSTRUCTIONS_PER_ACCESS * pursuit_wants(&scratch->pursuit);

    while (pursuit_wants(&scratch->pursuit) > 0 &&
           (why == INTERPRETER_FULL || why == INTERPRETER_BUDGET) &&
           interpreter_instructions(thread->interpreter) < most) {
        size_t n = look_ahead_next(thread, THREAD_BATCH, &why);

        pursuit_feed(&scratch->pursuit, thread->batch, (uint32_t)n);
    }
}

/* The sample, and its end. */
static void write(struct scratch *scratch, const struct burst_probe *probe, unsigned i)
{
    struct thread *thread = scratch->thread;
    const struct access *access = burst_access(scratch->burst, probe->index);
    struct record_sample sample;
    struct record_watch_end end = {.thread_id = thread->id};

    bursts_describe(scratch, paths_at(&scratch->paths, probe->index), access->ip, &sample);
    burst_describe(scratch->burst, probe, &sample);
    sample.flags |= SAMPLE_OPEN;
    sample.watch_mode = WATCH_PURSUED;
    attribution_object(thread, &sample);
    end.sample_id = sample.sample_id;
    end.cpu = sample.cpu;
    end.monotonic_ns = sample.monotonic_ns;
    end.app_ns = sample.app_ns;
    pursuit_describe(&scratch->pursuit, i, &end);
    thread->totals.samples++;
    output_append(RECORD_SAMPLE, &sample, sizeof sample, NULL, 0);
    output_append(RECORD_WATCH_END, &end, sizeof end, NULL, 0);
}

void pursue(struct scratch *scratch)
{
    struct thread *thread = scratch->thread;
    struct burst_probe probes[PURSUIT_LINES_MAX];
    enum cost_part before;
    unsigned n;

    if (random_below(&thread->random, ONE_IN) != 0)
        return;
    before = cost_enter(COST_PURSUIT);
    n = burst_draw_open(scratch->burst, &thread->random, PURSUIT_LINES_MAX, probes);
    burst_sort_probes(probes, n);
    pursuit_begin(&scratch->pursuit, settings.line_size, probes, n, burst_count(scratch->burst),
                  pursuit_length(&thread->random));
    /* A burst that was gone on with behind a stop is complete in the handler of that stop's trap.
     */
    thread_hold_trigger(thread, scratch->record.stops == 0);
    look(scratch);
    thread_release_trigger(thread);
    paths_rewind(&scratch->paths);
    for (unsigned i = 0; i < n; i++)
        write(scratch, &probes[i], i);
    cost_leave(before);
}
