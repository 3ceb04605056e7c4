/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "rate.h"

#include <stddef.h>
#include <string.h>

#include "rate_internal.h"
#include "scratch.h"

#include "signal_safe.h"

enum {
    FIND_UNTIL = BURST_ACCESSES / 2, /* a word found later would hardly be followed */
    IDLE_PARTS = 4,                  /* without a move, after which a word is given up */
};

struct known_loop *rate_known_loop(struct thread *thread, uint64_t loop, bool make)
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

    rate_rest_of_registers(thread);
    scratch->registers = 0;
    if (!hottest || seen == 0)
        return;
    known = rate_known_loop(thread, hottest->ip, false);
    head = known ? loops_head(&thread->loops, known->odometers[0].head) : NULL;
    if (!head)
        n = loops_odometers(&thread->loops, seen, found);
    if (n > 0) {
        if (!known)
            known = rate_known_loop(thread, hottest->ip, true);
        known->count = n;
        memcpy(known->odometers, found, sizeof found);
        head = loops_head(&thread->loops, found[0].head);
    }
    for (unsigned i = 0; known && i < known->count; i++)
        scratch->registers +=
            progress_at(head, &known->odometers[i], seen, &scratch->odometers[scratch->registers]);
}

void rate_follow_begin(struct scratch *scratch)
{
    struct thread *thread = scratch->thread;

    if (burst_count(scratch->burst) > 0)
        return;
    rate_rest_of_words(thread, scratch->record.app_ns);
    progress_begin(&scratch->words);
    for (unsigned i = 0; i < THREAD_KNOWN_WORDS; i++)
        if (thread->known_words[i].address)
            progress_keep(&scratch->words, thread->known_words[i].address,
                          thread->known_words[i].width);
    look_at_words(scratch, 0);
}
