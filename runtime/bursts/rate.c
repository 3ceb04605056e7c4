/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/rate.h"

#include <stddef.h>
#include <string.h>

#include "bursts/look_ahead.h"
#include "memory/scratch.h"
#include "output/output.h"
#include "perf_events/timebase.h"
#include "process/settings.h"

#include "signal_safe.h"

enum {
    /* To find the loop head at which a register is read. */
    HEAD_ACCESSES = 4096,
    FIND_UNTIL = BURST_ACCESSES / 2, /* a word found later would hardly be followed */
    IDLE_PARTS = 3,                  /* without a move, after which a word is given up */
    FAILURES_MAX = 3,                /* of a known word in a row before it is forgotten */
    MISSED_MAX = 4,                  /* looks put off in a reading */
    LOOP_SHORTER = 4,
    SHORTER_MAX = 2,
    LONGER_ONE_IN = 8, /* readings in a shortened stretch that went well */
    WORDS_FOUND = 4,   /* new ones that a reading follows */
    /* Of the clock that times stretches, to half the cost of its signal, at least: that cost
       varies. */
    PERIOD_TO_TRIGGER = 3,
};

/* Of the stretches, ns. The long one is shortened by LOOP_SHORTER for loops that end within it. */
static const double brief_ns = 60e3, long_ns = 1500e3;
/* What looking costs in the handler until it has been measured, ns. */
static const uint64_t look_ns_guess = 10 * 1000;

/* ---- while the burst is interpreted ---- */

static struct known_loop *known_loop(struct thread *thread, uint64_t loop, bool make)
{
    struct known_loop *oldest = &thread->known_loops[0];

    for (unsigned i = 0; i < THREAD_KNOWN_LOOPS; i++) {
        struct known_loop *known = &thread->known_loops[i];

        if (known->last_use > 0 && known->loop == loop) {
            known->last_use = thread->totals.bursts + 1;
            return known;
        }
        if (known->last_use < oldest->last_use)
            oldest = known;
    }
    if (!make)
        return NULL;
    *oldest = (struct known_loop){.loop = loop, .last_use = thread->totals.bursts + 1};
    return oldest;
}

static void look_at_words(struct scratch *scratch, uint64_t accesses)
{
    struct progress_words *words = &scratch->words;

    for (unsigned i = 0; i < words->count; i++) {
        struct progress_word *word = &words->words[i];
        uint64_t value = 0;
        bool known;

        if (word->void_)
            continue;
        known = interpreter_peek(scratch->thread->interpreter, word->address, word->width, &value);
        progress_look(word, known, value, accesses);
        if (!word->kept && word->progress.parts >= word->changes + IDLE_PARTS)
            word->void_ = true;
    }
}

void rate_follow(struct scratch *scratch, size_t n)
{
    uint32_t seen = burst_count(scratch->burst);

    if (n == 0)
        return;
    if (seen <= FIND_UNTIL)
        progress_find(&scratch->words, scratch->thread->batch, n);
    look_at_words(scratch, seen);
}

/*
 * Progress of a register at the head, counted over the whole of what was seen, so that visits too
 * long to be seen whole count like others. False: that cannot be told.
 */
static bool progress_at(const struct loop_head *head, const struct odometer *odometer,
                        uint64_t seen, struct rate_variable *variable)
{
    unsigned number = odometer->register_number;
    double visits = head ? head->visits : 0, step = odometer->even ? 1 : 0;

    if (visits >= 2)
        step =
            odometer_progress(odometer, head->first[number], head->snapshot[number]) / (visits - 1);
    if (step <= 0)
        return false;
    *variable = (struct rate_variable){.kind = PROGRESS_REGISTER,
                                       .odometer = *odometer,
                                       .accesses = seen,
                                       .progress = step * visits,
                                       .squares = step * step * visits,
                                       .parts = (uint32_t)visits};
    variable->odometer.stack_pointer = head ? head->stack_pointer : 0;
    return true;
}

/* The registers that an earlier burst of the loop has found serve it, as long as their head is met
 * or nothing better is. */
void rate_follow_end(struct scratch *scratch)
{
    struct thread *thread = scratch->thread;
    const struct loop_head *hottest = loops_hottest(&thread->loops), *head;
    uint64_t seen = interpreter_accesses(thread->interpreter);
    struct odometer found[LOOP_ODOMETERS];
    struct known_loop *known;
    unsigned n = 0;

    scratch->registers = 0;
    if (!hottest || seen == 0)
        return;
    known = known_loop(thread, hottest->ip, false);
    head = known ? loops_head(&thread->loops, known->odometers[0].head) : NULL;
    if (!head)
        n = loops_odometers(&thread->loops, seen, found);
    if (n > 0) {
        if (!known)
            known = known_loop(thread, hottest->ip, true);
        known->count = n;
        memcpy(known->odometers, found, sizeof found);
        head = loops_head(&thread->loops, found[0].head);
    }
    for (unsigned i = 0; known && i < known->count; i++)
        scratch->registers +=
            progress_at(head, &known->odometers[i], seen, &scratch->odometers[scratch->registers]);
}

/* ---- readings ---- */

static void take_word(struct rate_reading *rate, const struct progress_word *word)
{
    rate->variables[rate->count++] = (struct rate_variable){.kind = PROGRESS_WORD,
                                                            .width = word->width,
                                                            .found = !word->kept,
                                                            .address = word->address,
                                                            .accesses = word->progress.accesses,
                                                            .progress = word->progress.moved,
                                                            .squares = word->progress.squares,
                                                            .parts = word->progress.parts};
}

/* Words of structures live longer than variables on the stack, those of outer functions longer than
 * those of inner ones; of words alike, what moves evenly is the better odometer. */
static double worth(const struct thread *thread, const struct progress_word *word)
{
    bool on_stack = word->address >= thread->stack_low && word->address < thread->stack_high;

    return progress_evenness(&word->progress) + !on_stack;
}

static void choose(struct thread *thread, struct scratch *scratch)
{
    struct rate_reading *rate = &thread->rate;
    struct progress_words *words = &scratch->words;

    rate->count = 0;
    for (unsigned i = 0; i < scratch->registers; i++)
        rate->variables[rate->count++] = scratch->odometers[i];
    for (unsigned i = 0; i < words->count; i++)
        if (words->words[i].kept && !words->words[i].void_ && words->words[i].progress.parts)
            take_word(rate, &words->words[i]);
    for (unsigned n = 0; n < WORDS_FOUND; n++) {
        struct progress_word *best = NULL;

        for (unsigned i = 0; i < words->count; i++) {
            struct progress_word *word = &words->words[i];

            if (!word->kept && progress_is_steady(word) &&
                (!best || worth(thread, word) > worth(thread, best)))
                best = word;
        }
        if (!best)
            return;
        take_word(rate, best);
        best->void_ = true;
    }
}

static bool heads_are_met(struct thread *thread)
{
    const struct rate_reading *rate = &thread->rate;

    for (unsigned i = 0; i < rate->count; i++)
        if (rate->variables[i].kind == PROGRESS_REGISTER && !rate->variables[i].lost &&
            !loops_head(&thread->loops, rate->variables[i].odometer.head))
            return false;
    return true;
}

/* Progress since the reading began, up to the interruption. */
static void read_register(struct thread *thread, struct rate_variable *variable, unsigned look)
{
    struct odometer *odometer = &variable->odometer;
    const struct loop_head *head = loops_head(&thread->loops, odometer->head);

    if (look == 0 && head && odometer->stack_pointer == 0)
        odometer->stack_pointer = head->stack_pointer;
    if (!head || head->stack_pointer != odometer->stack_pointer ||
        !(head->known >> odometer->register_number & 1)) {
        variable->lost = true;
        return;
    }
    if (look == 0)
        variable->base = head->first[odometer->register_number];
    variable->position[look] =
        odometer_progress(odometer, variable->base, head->first[odometer->register_number]) -
        (double)head->first_accesses * variable->progress / variable->accesses;
}

static void read_word(struct thread *thread, struct rate_variable *variable, unsigned look)
{
    uint64_t value;

    if (!interpreter_peek(thread->interpreter, variable->address, variable->width, &value)) {
        variable->lost = true;
        return;
    }
    if (look == 0)
        variable->base = value;
    variable->position[look] = progress_change(variable->width, variable->base, value);
}

/* Where all variables stand where the thread was interrupted. */
static bool read_all(struct thread *thread, const ucontext_t *context, unsigned look)
{
    struct rate_reading *rate = &thread->rate;
    enum interpreter_stop why = INTERPRETER_FULL;
    size_t seen = 0;

    if (!look_ahead_begin(thread, context))
        return false;
    for (unsigned i = 0; i < rate->count; i++)
        if (rate->variables[i].kind == PROGRESS_WORD && !rate->variables[i].lost)
            read_word(thread, &rate->variables[i], look);
    while (why == INTERPRETER_FULL && seen < HEAD_ACCESSES && !heads_are_met(thread))
        seen += look_ahead_next(thread, THREAD_BATCH / 4, &why);
    for (unsigned i = 0; i < rate->count; i++)
        if (rate->variables[i].kind == PROGRESS_REGISTER && !rate->variables[i].lost)
            read_register(thread, &rate->variables[i], look);
    look_ahead_end(thread);
    return true;
}

void rate_consider(struct scratch *scratch, ucontext_t *context, uint64_t app_now)
{
    struct thread *thread = scratch->thread;
    struct rate_reading *rate = &thread->rate;
    uint64_t started = thread_cpu_ns();
    const struct known_loop *known;

    if (rate->phase != RATE_IDLE ||
        !governor_affords_rate(&thread->governor, app_now,
                               (RATE_LOOKS - 1) * (settings.trigger_ns + look_ns_guess)))
        return;
    choose(thread, scratch);
    if (rate->count == 0 || !read_all(thread, context, 0))
        return;
    rate->phase = RATE_TIMING;
    rate->looks = 1;
    rate->missed = 0;
    rate->loop = scratch->record.loop;
    rate->time[0] = app_now;
    rate->step_ns[0] = brief_ns;
    rate->step_ns[1] = long_ns;
    known = known_loop(thread, rate->loop, false);
    for (unsigned i = 0; known && i < known->shorter; i++)
        rate->step_ns[1] /= LOOP_SHORTER;
    thread->rate_cost_ns += thread_cpu_ns() - started;
}

bool rate_wants_clock(struct thread *thread, uint64_t *period)
{
    struct rate_reading *rate = &thread->rate;

    if (rate->phase != RATE_TIMING)
        return false;
    /* The clock runs from here on, and half of what a signal costs comes before the program goes
     * on. One that expires before that gives no signal, and the next comes a whole period later. */
    *period = (uint64_t)rate->step_ns[rate->looks - 1] + settings.trigger_ns / 2;
    if (*period < PERIOD_TO_TRIGGER * settings.trigger_ns / 2)
        *period = PERIOD_TO_TRIGGER * settings.trigger_ns / 2;
    rate->spent_ns += *period;
    return true;
}

bool rate_missed(struct thread *thread)
{
    struct rate_reading *rate = &thread->rate;

    if (rate->phase != RATE_TIMING)
        return false;
    if (++rate->missed > MISSED_MAX)
        rate->phase = RATE_IDLE;
    return true;
}

/* ---- what came of it ---- */

static struct known_word *known_word(struct thread *thread, uint64_t address, bool make)
{
    struct known_word *oldest = &thread->known_words[0];

    for (unsigned i = 0; i < THREAD_KNOWN_WORDS; i++) {
        struct known_word *known = &thread->known_words[i];

        if (known->address == address)
            return known;
        if (!known->address || (oldest->address && known->last_use < oldest->last_use))
            oldest = known;
    }
    if (!make)
        return NULL;
    *oldest = (struct known_word){.address = address};
    return oldest;
}

/* A word that moved on is looked at in every burst from now on; one that did not, several times
 * running, no more. */
static void judge(struct thread *thread, const struct rate_variable *variable, bool good)
{
    struct known_word *known = known_word(thread, variable->address, good);

    if (!known)
        return;
    if (good) {
        known->width = variable->width;
        known->failures = 0;
        known->last_use = thread->totals.bursts;
    } else if (++known->failures >= FAILURES_MAX) {
        known->address = 0;
    }
}

static bool moved_on(const struct rate_variable *variable)
{
    double sign = variable->progress < 0 ? -1 : 1;

    return !variable->lost && sign * variable->position[1] >= 0 &&
           sign * (variable->position[2] - variable->position[1]) > 0;
}

/* A loop that ended within the stretch is read over a shorter one the next time. */
static void learn_length(struct thread *thread, bool good)
{
    struct known_loop *known = known_loop(thread, thread->rate.loop, false);

    if (!known)
        return;
    if (!good)
        known->shorter += known->shorter < SHORTER_MAX;
    else if (known->shorter > 0 && random_below(&thread->random, LONGER_ONE_IN) == 0)
        known->shorter--;
}

/* The looks have been taken; words are read once more at the next burst. */
static void end_of_looks(struct thread *thread)
{
    struct rate_reading *rate = &thread->rate;
    bool good = false;

    rate->phase = RATE_WAITING;
    for (unsigned i = 0; i < rate->count; i++) {
        const struct rate_variable *variable = &rate->variables[i];
        bool moved = moved_on(variable);

        good |= moved;
        if (variable->kind == PROGRESS_WORD)
            judge(thread, variable, moved);
    }
    learn_length(thread, good);
}

static void write(const struct thread *thread, const struct rate_variable *variable)
{
    const struct rate_reading *rate = &thread->rate;
    bool word = variable->kind == PROGRESS_WORD;
    struct record_progress record = {
        .thread_id = thread->id,
        .kind = variable->kind,
        .width = variable->width,
        .flags = variable->found ? PROGRESS_FOUND : 0,
        .loop = rate->loop,
        .head = variable->odometer.head,
        .place = word ? variable->address : variable->odometer.register_number,
        .monotonic_ns = monotonic_ns(),
        .app_ns = rate->time[0],
        .accesses = variable->accesses,
        .progress = variable->progress,
        .squares = variable->squares,
        .parts = variable->parts,
    };

    if (!variable->lost) {
        record.brief_ns = rate->time[1] - rate->time[0];
        record.brief_progress = variable->position[1] - variable->position[0];
        record.long_ns = rate->time[2] - rate->time[1];
        record.long_progress = variable->position[2] - variable->position[1];
        record.rest_ns = variable->rest_ns;
        record.rest_progress = variable->rest;
    }
    output_append(RECORD_PROGRESS, &record, sizeof record, NULL, 0);
}

void rate_end(struct thread *thread)
{
    struct rate_reading *rate = &thread->rate;

    if (rate->phase == RATE_WAITING)
        for (unsigned i = 0; i < rate->count; i++)
            write(thread, &rate->variables[i]);
    rate->phase = RATE_IDLE;
}

/* Where the words of the last reading stand at the next burst. */
static void read_rest(struct thread *thread, uint64_t app_now)
{
    struct rate_reading *rate = &thread->rate;
    uint64_t value;

    for (unsigned i = 0; rate->phase == RATE_WAITING && i < rate->count; i++) {
        struct rate_variable *variable = &rate->variables[i];

        if (variable->kind != PROGRESS_WORD || variable->lost ||
            !interpreter_peek(thread->interpreter, variable->address, variable->width, &value))
            continue;
        variable->rest_ns = app_now - rate->time[RATE_LOOKS - 1];
        variable->rest = progress_change(variable->width, variable->base, value) -
                         variable->position[RATE_LOOKS - 1];
    }
    rate_end(thread);
}

void rate_follow_begin(struct scratch *scratch)
{
    struct thread *thread = scratch->thread;

    if (burst_count(scratch->burst) > 0)
        return;
    read_rest(thread, scratch->record.app_ns);
    progress_begin(&scratch->words);
    for (unsigned i = 0; i < THREAD_KNOWN_WORDS; i++)
        if (thread->known_words[i].address)
            progress_keep(&scratch->words, thread->known_words[i].address,
                          thread->known_words[i].width);
    look_at_words(scratch, 0);
}

bool rate_look(struct thread *thread, ucontext_t *context, uint64_t app_now)
{
    struct rate_reading *rate = &thread->rate;
    uint64_t started = thread_cpu_ns();

    if (rate->phase != RATE_TIMING)
        return false;
    rate->time[rate->looks] = app_now;
    if (!read_all(thread, context, rate->looks))
        rate->phase = RATE_IDLE;
    else if (++rate->looks == RATE_LOOKS)
        end_of_looks(thread);
    thread->rate_cost_ns += thread_cpu_ns() - started + settings.trigger_ns;
    return true;
}
