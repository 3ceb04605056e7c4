/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/rate.h"

#include <stddef.h>
#include <string.h>

#include "arch/arch.h"
#include "bursts/look_ahead.h"
#include "bursts/modelled_time.h"
#include "bursts/page_faults.h"
#include "bursts/thread_usage.h"
#include "memory/scratch.h"
#include "output/output.h"
#include "process/settings.h"

#include "signal_safe.h"

enum {
    FIND_UNTIL = BURST_ACCESSES / 2, /* a word found later would hardly be followed */
    /* Words that have never gone back say what looks are for; these remain as one in so many. */
    ENOUGH_WORDS = 4,
    LOOK_ONE_IN = 4,
    /* From a look to its burst, ns, doubled at random fewer than so many times, seldom often: the
       longer the time, the more likely a variable is set back in it, or the function left. */
    LOOK_NS_LEAST = 31250,
    LOOK_DOUBLED = 6,
    /* Where more live, their descriptors are kept for clocks and registers. */
    COUNTED_THREADS = 64,
    LOOK_ACCESSES = 128, /* interpreted at a look, to return to callers */
};

static void read_word(struct thread *thread, struct progress_word *word,
                      void (*note)(struct progress_word *, bool known, uint64_t value))
{
    uint64_t value = 0;
    bool known;

    if (!word->address)
        return;
    known = interpreter_peek(thread->interpreter, word->address, word->width, &value);
    note(word, known, value);
}

static void read_words(struct thread *thread,
                       void (*note)(struct progress_word *, bool known, uint64_t value))
{
    for (unsigned i = 0; i < PROGRESS_WORDS; i++)
        read_word(thread, &thread->rate.words.words[i], note);
}

/* The thread has executed nothing since the burst began: what has moved, others moved. */
static void note_shared(struct thread *thread)
{
    for (unsigned i = 0; i < PROGRESS_WORDS; i++) {
        struct progress_word *word = &thread->rate.words.words[i];
        uint64_t value = 0;

        if (word->address &&
            interpreter_peek_memory(thread->interpreter, word->address, word->width, &value))
            word->shared = value != word->at_begin;
    }
}

/* ---- looks ---- */

void rate_begin(struct thread *thread, uint64_t app_now)
{
    rate_restart(thread, app_now);
    page_faults_count(thread);
}

void rate_restart(struct thread *thread, uint64_t app_now)
{
    thread->rate.begun_ns = app_now ? app_now : 1;
}

uint64_t rate_plan(struct thread *thread)
{
    struct rate *rate = &thread->rate;
    uint64_t spent = rate->spent_ns;

    rate->spent_ns = 0;
    rate->look_taken = false;
    rate->looked_ns = 0;
    rate->look_next = progress_words_steady(&rate->words) < ENOUGH_WORDS ||
                      random_below(&thread->random, LOOK_ONE_IN) == 0;
    return spent;
}

bool rate_look(struct thread *thread, ucontext_t *context, uint64_t app_now)
{
    struct rate *rate = &thread->rate;
    enum interpreter_stop why;

    if (!rate->look_next || !look_ahead_begin(thread, context))
        return false;
    read_words(thread, progress_word_look);
    activations_look(&rate->activations, interpreter_general(thread->interpreter));
    rate->looking = true;
    look_ahead_next(thread, LOOK_ACCESSES, &why);
    rate->looking = false;
    look_ahead_end(thread);
    page_faults_look(thread);
    rate->looked_ns = app_now;
    return rate_look_missed(thread);
}

bool rate_look_missed(struct thread *thread)
{
    struct rate *rate = &thread->rate;

    if (!rate->look_next)
        return false;
    rate->look_next = false;
    rate->look_taken = true;
    return true;
}

/* At least what an expiry costs: the clock goes on, and its next expiry must not fall into the
 * kernel's part of this one, which would take as long again before the handler is there. */
static unsigned least_doubling(void)
{
    unsigned doubled = 0;

    while (doubled + 1 < LOOK_DOUBLED && (uint64_t)LOOK_NS_LEAST << doubled < settings.trigger_ns)
        doubled++;
    return doubled;
}

bool rate_wants_burst(struct thread *thread, uint64_t *period)
{
    struct rate *rate = &thread->rate;
    unsigned least = least_doubling();
    uint32_t one = random_below(&thread->random, LOOK_DOUBLED - least);
    uint32_t other = random_below(&thread->random, LOOK_DOUBLED - least);

    if (!rate->look_taken)
        return false;
    rate->look_taken = false;
    /* The clock runs from here on, and half of what a signal costs comes before the program goes
     * on. */
    *period = ((uint64_t)LOOK_NS_LEAST << (least + (one < other ? one : other))) +
              settings.trigger_ns / 2;
    rate->spent_ns += *period;
    return true;
}

/* ---- while the burst is interpreted ---- */

static void look_at_candidates(struct scratch *scratch, unsigned first)
{
    for (unsigned i = first; i < scratch->candidates.count; i++) {
        struct progress_candidate *candidate = &scratch->candidates.list[i];
        uint64_t value = 0;
        bool known;

        if (candidate->void_)
            continue;
        known = interpreter_peek(scratch->thread->interpreter, candidate->address, candidate->width,
                                 &value);
        progress_look(candidate, known, value);
    }
}

static bool has_room(const struct progress_words *words)
{
    for (unsigned i = 0; i < PROGRESS_WORDS; i++)
        if (!words->words[i].address)
            return true;
    return false;
}

static void count_calls(struct scratch *scratch)
{
    struct rate *rate = &scratch->thread->rate;
    const struct kernel_counts before = rate->counts;

    scratch->system_calls = 0;
    memset(scratch->counted_calls, 0, sizeof scratch->counted_calls);
    /* Where no burst has met a system call they tell nothing of the program. */
    rate->counts.known = (rate->calls_kernel || !rate->had_burst) &&
                         thread_alive_count() <= COUNTED_THREADS &&
                         thread_usage_calls(&scratch->thread->calls_file, rate->counts.of);
    scratch->calls_known = before.known && rate->counts.known;
    for (unsigned i = 0; i < PROGRESS_CALL_COUNTS; i++)
        scratch->calls_since[i] = rate->counts.of[i] - before.of[i];
}

void rate_usage(struct scratch *scratch, const struct thread_usage *usage)
{
    page_faults_begin(scratch, usage->faults);
    count_calls(scratch);
}

void rate_system_call(struct scratch *scratch)
{
    const struct interpreter *interpreter = scratch->thread->interpreter;
    unsigned counts;

    scratch->system_calls++;
    scratch->thread->rate.calls_kernel = true;
    if (interpreter_poisoned_registers(interpreter) >> ARCH_SYSTEM_CALL_NUMBER & 1)
        return;
    counts = thread_usage_counts(interpreter_general(interpreter)[ARCH_SYSTEM_CALL_NUMBER]);
    for (unsigned i = 0; i < PROGRESS_CALL_COUNTS; i++)
        scratch->counted_calls[i] += counts >> i & 1;
}

/* Since a reading of the thread's application time; 0: not known. What a signal costs is taken off
 * as it was measured once, and may be more than a cheap one and the time between two took. */
static uint64_t time_since(uint64_t then, uint64_t now)
{
    return then && now > then ? now - then : 0;
}

void rate_follow_begin(struct scratch *scratch)
{
    struct thread *thread = scratch->thread;
    struct rate *rate = &thread->rate;
    uint64_t now = scratch->record.app_ns;

    modelled_time_follow_begin(scratch);
    page_faults_follow_begin(scratch);
    if (burst_count(scratch->burst) > 0)
        return;
    scratch->since_ns = time_since(rate->begun_ns, now);
    scratch->before_ns = time_since(rate->looked_ns, now);
    rate->begun_ns = now;
    rate->had_burst = true;
    read_words(thread, progress_word_begin);
    activations_begin(&rate->activations, rate->looked_ns != 0,
                      interpreter_general(thread->interpreter));
    scratch->words_from = 0;
    scratch->halfway = false;
    scratch->searching = has_room(&rate->words);
    if (scratch->searching)
        progress_begin(&scratch->candidates);
}

void rate_follow(struct scratch *scratch, size_t n)
{
    struct thread *thread = scratch->thread;
    uint32_t seen = burst_count(scratch->burst);

    if (n == 0)
        return;
    if (!scratch->words_from) {
        read_words(thread, progress_word_start);
        scratch->words_from = seen;
    }
    modelled_time_follow(scratch);
    activations_follow(&thread->rate.activations, interpreter_general(thread->interpreter),
                       interpreter_poisoned_registers(thread->interpreter), seen);
    if (!scratch->searching)
        return;
    if (seen <= FIND_UNTIL) {
        unsigned first = scratch->candidates.count;

        progress_find(&scratch->candidates, thread->batch, n);
        look_at_candidates(scratch, first);
    } else if (!scratch->halfway) {
        look_at_candidates(scratch, 0);
        scratch->halfway = true;
    }
}

void rate_follow_end(struct scratch *scratch)
{
    modelled_time_follow_end(scratch);
    page_faults_follow_end(scratch);
    if (scratch->from == 0)
        note_shared(scratch->thread);
    /* Of a burst that ended with its first accesses these are all that is known. */
    if (burst_count(scratch->burst) == scratch->words_from) {
        progress_words_restart(&scratch->thread->rate.words);
        scratch->words_from = 0;
    }
    read_words(scratch->thread, progress_word_end);
    if (scratch->searching)
        look_at_candidates(scratch, 0);
}

void rate_return(struct thread *thread, const struct interpreter *interpreter, uint64_t place,
                 uint64_t accesses)
{
    struct activations *activations = &thread->rate.activations;

    if (thread->rate.looking)
        activations_look_return(activations, interpreter_general(interpreter));
    else if (thread->calls)
        /* Accesses of our own in this batch are counted here; they are few. */
        activations_return(activations, place, interpreter_general(interpreter),
                           interpreter_poisoned_registers(interpreter),
                           thread->calls_kept + accesses - thread->looked);
}

/* ---- what came of it ---- */

static unsigned list_words(const struct scratch *scratch, struct progress_variable *variables)
{
    const struct progress_words *words = &scratch->thread->rate.words;
    unsigned n = 0;

    for (unsigned i = 0; i < PROGRESS_WORDS; i++) {
        const struct progress_word *word = &words->words[i];

        if (word->address)
            variables[n++] = (struct progress_variable){
                .place = word->address,
                .kind = PROGRESS_WORD,
                .width = word->width,
                .flags = (word->looked ? PROGRESS_BEFORE : 0) | PROGRESS_SINCE |
                         (word->shared ? PROGRESS_SHARED : 0),
                .accesses = burst_count(scratch->burst) - scratch->words_from,
                .within = word->within,
                .before = word->before,
                .since = word->since};
    }
    return n;
}

static unsigned list_registers(const struct scratch *scratch, struct progress_variable *variables,
                               unsigned room)
{
    const struct activations *activations = &scratch->thread->rate.activations;
    struct activation_move move;
    unsigned n = 0;

    for (unsigned i = 0; i < activations->count; i++) {
        const struct activation *activation = &activations->burst[i];

        for (unsigned number = 0; number < ACTIVATION_REGISTERS && n < room; number++)
            if (activation_moved(activations, i, number, &move))
                variables[n++] = (struct progress_variable){
                    .place = activation->place,
                    .kind = PROGRESS_REGISTER,
                    .width = (uint8_t)number,
                    .flags = move.before_known ? PROGRESS_BEFORE : 0,
                    .accesses = (uint32_t)(activation->end - activation->begin),
                    .within = move.within,
                    .before = move.before};
    }
    return n;
}

/* System calls, and those that the kernel counts. */
static unsigned list_calls(const struct scratch *scratch, struct progress_variable *variables)
{
    const uint32_t accesses = burst_count(scratch->burst);
    unsigned n = 0;

    variables[n++] = (struct progress_variable){
        .kind = PROGRESS_SYSTEM_CALLS, .accesses = accesses, .within = scratch->system_calls};
    for (unsigned i = 0; i < PROGRESS_CALL_COUNTS && scratch->calls_known; i++)
        variables[n++] = (struct progress_variable){
            .place = i,
            .kind = PROGRESS_KERNEL_COUNT,
            .flags = PROGRESS_SINCE,
            .accesses = accesses,
            .within = scratch->counted_calls[i],
            .since = (double)scratch->calls_since[i],
        };
    return n;
}

void rate_note(struct scratch *scratch)
{
    struct thread *thread = scratch->thread;
    struct rate *rate = &thread->rate;
    struct progress_variable variables[PROGRESS_VARIABLES_MAX];
    unsigned n = modelled_time_list(scratch, variables);
    struct record_progress record = {
        .thread_id = thread->id,
        .loop = scratch->record.loop,
        .monotonic_ns = scratch->record.monotonic_ns,
        .app_ns = scratch->record.app_ns,
        .since_ns = scratch->since_ns,
        .before_ns = scratch->before_ns,
        .burst_id = scratch->record.burst_id,
        .ip = scratch->begun_at,
    };

    n += page_faults_list(scratch, variables + n);
    n += list_calls(scratch, variables + n);
    n += list_words(scratch, variables + n);
    n += list_registers(scratch, variables + n, PROGRESS_VARIABLES_MAX - n);
    record.count = n;
    ticks_list(&thread->ticks, record.ticks);
    output_append(RECORD_PROGRESS, &record, sizeof record, variables, n * sizeof *variables);
    progress_words_judge(&rate->words);
    if (scratch->searching)
        progress_words_add(&rate->words, &scratch->candidates, thread->stack_low,
                           thread->stack_high);
}
