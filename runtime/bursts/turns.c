/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/turns.h"

#include "bursts/bursts.h"
#include "bursts/look_ahead.h"
#include "output/output.h"
#include "perf_events/timebase.h"
#include "process/settings.h"
#include "recording/tape.h"
#include "sampling/line_visit.h"
#include "unwinding/attribution.h"
#include "watches/watch.h"

#include "signal_safe.h"

enum {
    /* Instructions interpreted at a time while the thread waits, and in its turn. */
    STEP_WAITING = 2,
    STEP_RUNNING = 16,
    /* The wait may last so long after the interruption. The thread would have waited as well. */
    WAIT_NS_MAX = 20 * 1000,
};

void turns_learn(struct thread *thread, const struct wait_loop *loop)
{
    if (!wait_loop_is_known(loop))
        return;
    for (unsigned i = 0; i < THREAD_WAIT_LOOPS; i++)
        if (wait_loop_has(&thread->wait_loops[i], loop->ips[0]))
            return;
    thread->wait_loops[thread->next_wait_loop] = *loop;
    thread->next_wait_loop = (thread->next_wait_loop + 1) % THREAD_WAIT_LOOPS;
}

static bool waits_anywhere(const struct thread *thread)
{
    return thread->wait_loops[0].count > 0 && line_sharing_active();
}

static void show_state(struct thread *thread, struct turn *turn)
{
    const uint64_t *registers = interpreter_general(thread->interpreter);
    struct turn_state state = {.known =
                                   ((UINT64_C(1) << INTERPRETER_REGISTERS) - 1) &
                                   ~(uint64_t)interpreter_poisoned_registers(thread->interpreter)};

    for (unsigned i = 0; i < INTERPRETER_REGISTERS; i++)
        state.values[i] = registers[i];
    for (unsigned i = 0; i < TURN_STACK_WORDS; i++) {
        unsigned place = INTERPRETER_REGISTERS + i;

        if (interpreter_peek(thread->interpreter, registers[INTERPRETER_STACK_POINTER] + 8 * i, 8,
                             &state.values[place]))
            state.known |= UINT64_C(1) << place;
    }
    turn_state(turn, &state);
}

/* Another thread has put a register on what this one reads: each look at it would trap. */
static bool is_disturbed(const uint64_t before[2])
{
    uint64_t now[2];

    line_sharing_words(now);
    return now[0] != before[0] || now[1] != before[1];
}

/* The turn after the wait in which the thread was interrupted; its accesses are kept. Returns how
 * many. */
static uint32_t look(struct thread *thread, struct scratch *scratch, struct turn *turn)
{
    uint64_t started = monotonic_ns(), words[2];
    enum interpreter_stop why = INTERPRETER_FULL;
    uint32_t kept = 0;

    line_sharing_words(words);
    while (why == INTERPRETER_FULL && turn->phase != TURN_NONE && turn->phase != TURN_OVER &&
           kept < SCRATCH_ACCESSES) {
        bool runs = turn->phase == TURN_RUNNING && turn->waits == 0;
        size_t n;

        if (!runs)
            tape_memory_may_change();
        n = look_ahead_step(thread, runs ? STEP_RUNNING : STEP_WAITING, &why);
        for (size_t i = 0; i < n; i++)
            if (turn_feed(turn, &thread->batch[i]) == TURN_RUNNING && kept < SCRATCH_ACCESSES)
                scratch->accesses[kept++] = thread->batch[i];
        if (turn_wants_state(turn))
            show_state(thread, turn);
        if (turn->phase == TURN_WAITED &&
            (is_disturbed(words) || monotonic_ns() - started > WAIT_NS_MAX))
            break;
    }
    return kept;
}

/* The store of that number among those of the turn. */
static uint32_t find_store(const struct access *accesses, uint32_t number)
{
    uint32_t i = 0;

    for (;; i++)
        if (accesses[i].kind == ACCESS_STORE && number-- == 0)
            return i;
}

static uint64_t sample_store(struct thread *thread, struct scratch *scratch,
                             const struct turn *turn, uint32_t kept, uint64_t app_now)
{
    uint32_t store = find_store(scratch->accesses, random_below(&thread->random, turn->stores));
    struct access_run run =
        access_run_at(scratch->accesses, kept, store, settings.line_size, &thread->random);
    struct record_sample sample;
    struct own_visit visit;

    own_visit_begin(&visit, &run);
    own_visit_feed(&visit, run.accesses + store + 1, kept - store - 1);
    /* How it got there was not followed: its path is that of the interruption. */
    paths_rewind(&scratch->paths);
    bursts_describe(scratch, paths_at(&scratch->paths, 0), run.sample.ip, &sample);
    access_run_describe(&run, &sample);
    attribution_object(thread, &sample);
    sample.app_ns = app_now;
    sample.burst_id = 0;
    sample.weight_ns = 0;
    sample.stop = INTERPRETER_FULL;
    sample.flags |= SAMPLE_TURN;
    line_sharing_offer(thread, &run, &visit, false, false, &sample);
    output_append(RECORD_SAMPLE, &sample, sizeof sample, NULL, 0);
    return sample.sample_id;
}

static uint64_t lowest_ip(const struct wait_loop *loop)
{
    uint64_t lowest = loop->ips[0];

    for (unsigned i = 1; i < loop->count; i++)
        lowest = loop->ips[i] < lowest ? loop->ips[i] : lowest;
    return lowest;
}

/* Not if the burst began with something else: most are not looked at again. */
static bool may_wait(const struct thread *thread, const struct scratch *scratch)
{
    const struct burst *burst = scratch->burst;
    uint32_t count = burst_count(burst);
    struct turn turn;

    turn_begin(&turn, thread->wait_loops, THREAD_WAIT_LOOPS);
    for (uint32_t i = scratch->from; i < count && turn.phase == TURN_SOUGHT; i++)
        turn_feed(&turn, burst_access(burst, i));
    return turn.phase != TURN_NONE;
}

void turns_follow(struct thread *thread, struct scratch *scratch, const ucontext_t *context,
                  uint64_t app_now)
{
    struct turn turn;
    uint32_t kept;

    if (!waits_anywhere(thread) || !may_wait(thread, scratch) || !look_ahead_begin(thread, context))
        return;
    turn_begin(&turn, thread->wait_loops, THREAD_WAIT_LOOPS);
    kept = look(thread, scratch, &turn);
    look_ahead_end(thread);
    if (turn.phase != TURN_RUNNING && turn.phase != TURN_OVER)
        return;
    struct record_turn record = {
        .monotonic_ns = monotonic_ns(),
        .app_ns = app_now,
        .wait_ip = lowest_ip(turn.loop),
        .loop = scratch->record.loop,
        .thread_id = thread->id,
        .stores = turn.stores,
        .complete = turn.phase == TURN_OVER,
    };
    if (record.complete) {
        turn_counters(&turn, &record);
        if (turn.stores > 0)
            record.sample_id = sample_store(thread, scratch, &turn, kept, app_now);
    }
    output_append(RECORD_TURN, &record, sizeof record, NULL, 0);
}
