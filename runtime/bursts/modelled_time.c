/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/modelled_time.h"

#include "bursts/processor_speed.h"
#include "bursts/thread.h"
#include "memory/scratch.h"
#include "process/settings.h"
#include "recording/tape.h"

#include "signal_safe.h"

enum {
    /* Accesses of a burst that only make lines and branches known, the later the timing the better;
     * those that are timed; and so many at least, if it ends early. */
    WARM = BURST_ACCESSES * 3 / 4,
    TIMED = BURST_ACCESSES / 8,
    TELLS = TIMED / 4,
};

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

void modelled_time_follow_begin(struct scratch *scratch)
{
    struct pipeline *pipeline = &scratch->pipeline;

    if (burst_count(scratch->burst) == 0)
        pipeline_begin(pipeline, pace());
    if (pipeline->accesses < TIMED)
        interpreter_tell(scratch->thread->interpreter, pipeline, &scratch->provenance);
}

void modelled_time_follow(struct scratch *scratch)
{
    struct pipeline *pipeline = &scratch->pipeline;

    if (pipeline->accesses >= TIMED)
        interpreter_tell(scratch->thread->interpreter, NULL, NULL);
    else if (!pipeline->timing && burst_count(scratch->burst) >= warm(scratch->thread))
        pipeline_time_from_here(pipeline);
}

void modelled_time_follow_end(struct scratch *scratch)
{
    interpreter_tell(scratch->thread->interpreter, NULL, NULL);
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
    return MODELLED_TIME_VARIABLES;
}
