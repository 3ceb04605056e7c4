/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/modelled_time.h"

#include <stdatomic.h>

#include "bursts/processor_speed.h"
#include "bursts/thread.h"
#include "memory/scratch.h"
#include "own/clock.h"
#include "process/settings.h"
#include "recording/tape.h"

#include "signal_safe.h"

enum {
    /* Accesses of a burst that only make lines and branches known, the later the timing the better;
     * those that are timed; and so many at least, if it ends early. */
    WARM = BURST_ACCESSES * 3 / 4,
    TIMED = BURST_ACCESSES / 8,
    TELLS = TIMED / 4,
    /* So many lines of memory, of those that the process had timed, what is usual counts as. */
    USUAL_LINES = 8,
};

/* What was measured, once in each process. */
static struct processor_costs measured;
static atomic_bool measured_claimed, measured_known;

/* If the thread's last burst, or this one before a system call, ended early, the next may: it is
 * timed earlier. */
static uint32_t warm(const struct thread *thread)
{
    uint32_t most = thread->rate.reach / 4 * 3;

    return most > 0 && most < WARM ? most : WARM;
}

/* A run that is recorded or repeated has the same pace in both: that of its start. */
static struct pipeline_pace pace(void)
{
    return tape_mode == TAPE_OFF ? processor_pace(settings.width)
                                 : pipeline_pace_of(settings.width);
}

static double process_memory_ns(void)
{
    return atomic_load_explicit(&measured_known, memory_order_acquire) ? measured.memory_ns : 0;
}

/* In memory of the burst's own; again by each of several threads at the same time. */
static struct pipeline_costs costs_measured(const struct burst *burst)
{
    const unsigned char *memory = (const unsigned char *)burst_access(burst, 0);
    struct processor_costs now;

    if (atomic_load_explicit(&measured_known, memory_order_acquire))
        return measured.costs;
    if (burst_count(burst) * sizeof(struct access) < (size_t)PROCESSOR_PAGES * PROCESSOR_PAGE)
        return pipeline_usual_costs;
    now = processor_costs(memory);
    if (!atomic_exchange_explicit(&measured_claimed, true, memory_order_acq_rel)) {
        measured = now;
        atomic_store_explicit(&measured_known, true, memory_order_release);
    }
    return now.costs;
}

static uint32_t memory_cost(void)
{
    struct memory_latency latency = memory_lines_latency();
    double lines = (double)latency.lines;
    double own = latency.ns * processor_cycles_per_ns() * PIPELINE_CYCLE;

    return (uint32_t)((lines * own + USUAL_LINES * (double)pipeline_usual_costs.memory) /
                      (lines + USUAL_LINES));
}

static struct pipeline_costs costs(const struct burst *burst)
{
    struct pipeline_costs costs = pipeline_usual_costs;

    if (tape_mode == TAPE_OFF && clock_has_counter()) {
        costs = costs_measured(burst);
        costs.memory = memory_cost();
    }
    return costs;
}

void modelled_time_follow_begin(struct scratch *scratch)
{
    struct pipeline *pipeline = &scratch->pipeline;

    if (burst_count(scratch->burst) == 0) {
        pipeline_begin(pipeline, pace(), &scratch->costs);
        memory_lines_clear(&scratch->lines);
    }
    if (pipeline->accesses < TIMED)
        interpreter_tell(scratch->thread->interpreter, pipeline, &scratch->provenance);
}

void modelled_time_follow(struct scratch *scratch)
{
    struct pipeline *pipeline = &scratch->pipeline;

    if (pipeline->accesses >= TIMED) {
        interpreter_tell(scratch->thread->interpreter, NULL, NULL);
        memory_lines_end(&scratch->lines, scratch->thread->interpreter, process_memory_ns());
    } else if (!pipeline->timing && burst_count(scratch->burst) >= warm(scratch->thread)) {
        scratch->costs = costs(scratch->burst);
        pipeline_time_from_here(pipeline);
        memory_lines_begin(&scratch->lines, scratch->thread->interpreter, pipeline,
                           burst_count(scratch->burst));
    }
}

void modelled_time_follow_end(struct scratch *scratch)
{
    interpreter_tell(scratch->thread->interpreter, NULL, NULL);
    memory_lines_end(&scratch->lines, scratch->thread->interpreter, process_memory_ns());
    scratch->thread->rate.reach = burst_count(scratch->burst);
}

static struct progress_variable of_model(uint64_t place, uint32_t accesses, double within)
{
    return (struct progress_variable){
        .place = place, .kind = PROGRESS_MODEL, .accesses = accesses, .within = within};
}

unsigned modelled_time_list(const struct scratch *scratch, struct progress_variable *variables)
{
    struct pipeline_time time = pipeline_time(&scratch->pipeline);

    if (time.accesses < TELLS)
        return 0;
    variables[0] = of_model(PROGRESS_HELD_CYCLES, time.accesses, time.cycles[PIPELINE_HELD]);
    variables[1] = of_model(PROGRESS_NEAR_CYCLES, time.accesses, time.cycles[PIPELINE_NEAR]);
    variables[2] = of_model(PROGRESS_FAR_CYCLES, time.accesses, time.cycles[PIPELINE_FAR]);
    variables[3] = of_model(PROGRESS_NEW_LINES, time.accesses, time.new_lines);
    variables[4] = of_model(PROGRESS_CYCLES_PER_NS, time.accesses, processor_cycles_per_ns());
    variables[5] = of_model(PROGRESS_SCATTERED_LINES, time.accesses, time.scattered);
    variables[6] =
        of_model(PROGRESS_MEMORY_LINES, scratch->lines.sum.timed, scratch->lines.sum.from_memory);
    variables[7] = of_model(PROGRESS_MEMORY_NS, scratch->lines.sum.from_memory,
                            (double)scratch->lines.sum.memory_ns);
    return MODELLED_TIME_VARIABLES;
}
