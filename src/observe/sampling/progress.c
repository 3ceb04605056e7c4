/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/progress.h"

#include <string.h>

#include "signal_safe.h"

/* Biased exponents of numbers in floating point that a variable may well have. */
enum { EXPONENT_LEAST = 0x3e0, EXPONENT_MOST = 0x43f, EXPONENT_SHIFT = 52 };

/* Bursts without a move, before a word that moved before is forgotten, and one that never did. */
enum { IDLE_PROVEN = 20, IDLE_NEW = 2 };
/* Moves back are tolerated of a word that moves on so many times as often: it is set back now and
 * then, and tells something between. */
enum { FORWARD_TO_BACK = 2, FORWARD_FREE = 3, STEADY_MOVES = 4 };

static bool may_be_floating(uint64_t value)
{
    uint64_t exponent = value >> EXPONENT_SHIFT;

    return exponent >= EXPONENT_LEAST && exponent < EXPONENT_MOST;
}

double progress_change(uint8_t width, uint64_t from, uint64_t to)
{
    double a, b;

    if (width == 4)
        return (double)(int32_t)(uint32_t)(to - from);
    if (!may_be_floating(from) || !may_be_floating(to))
        return (double)(int64_t)(to - from);
    memcpy(&a, &from, sizeof a);
    memcpy(&b, &to, sizeof b);
    return b - a;
}

/* ---- words that a burst stores to ---- */

void progress_begin(struct progress_candidates *candidates)
{
    candidates->count = 0;
    memset(candidates->slots, 0, sizeof candidates->slots);
}

static void add(struct progress_candidates *candidates, uint64_t address, uint8_t width)
{
    unsigned slot = (unsigned)(address * UINT64_C(0x9e3779b97f4a7c15) >> 56) % PROGRESS_SLOTS;

    for (; candidates->slots[slot]; slot = (slot + 1) % PROGRESS_SLOTS)
        if (candidates->list[candidates->slots[slot] - 1].address == address)
            return;
    if (candidates->count == PROGRESS_CANDIDATES)
        return;
    candidates->list[candidates->count] =
        (struct progress_candidate){.address = address, .width = width};
    candidates->slots[slot] = (uint8_t)++candidates->count;
}

void progress_find(struct progress_candidates *candidates, const struct access *accesses, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct access *access = &accesses[i];

        if (access->kind == ACCESS_STORE && (access->width == 4 || access->width == 8) &&
            access->address % access->width == 0)
            add(candidates, access->address, access->width);
    }
}

void progress_look(struct progress_candidate *candidate, bool known, uint64_t value)
{
    double change;

    if (candidate->void_)
        return;
    if (!known) {
        candidate->void_ = true;
        return;
    }
    if (candidate->looked) {
        change = progress_change(candidate->width, candidate->value, value);
        candidate->void_ = change * candidate->moved < 0;
        candidate->moved += change;
        candidate->moves += change != 0;
    }
    candidate->looked = true;
    candidate->value = value;
}

/* ---- words that a thread knows ---- */

static void note_move(struct progress_word *word, double change)
{
    if (change * word->direction > 0)
        word->forward++;
    else if (change != 0)
        word->back++;
}

void progress_word_look(struct progress_word *word, bool known, uint64_t value)
{
    word->looked = known;
    word->at_look = value;
}

void progress_word_begin(struct progress_word *word, bool known, uint64_t value)
{
    if (!known) {
        word->address = 0;
        return;
    }
    word->since = progress_change(word->width, word->at_begin, value);
    word->before = word->looked ? progress_change(word->width, word->at_look, value) : 0;
    word->within = 0;
    word->at_begin = word->at_start = value;
    word->found = word->shared = false;
    note_move(word, word->since);
    if (word->looked)
        note_move(word, word->before);
    word->idle = word->since == 0 ? word->idle + 1 : 0;
}

void progress_word_start(struct progress_word *word, bool known, uint64_t value)
{
    if (known)
        word->at_start = value;
}

void progress_words_restart(struct progress_words *words)
{
    for (unsigned i = 0; i < PROGRESS_WORDS; i++)
        words->words[i].at_start = words->words[i].at_begin;
}

void progress_word_end(struct progress_word *word, bool known, uint64_t value)
{
    if (known)
        word->within = progress_change(word->width, word->at_start, value);
}

void progress_words_judge(struct progress_words *words)
{
    for (unsigned i = 0; i < PROGRESS_WORDS; i++) {
        struct progress_word *word = &words->words[i];

        if (!word->address || word->found)
            continue;
        word->looked = false;
        note_move(word, word->within);
        if (word->idle >= (word->forward ? IDLE_PROVEN : IDLE_NEW) ||
            word->back * FORWARD_TO_BACK > word->forward + FORWARD_FREE)
            word->address = 0;
    }
}

static bool is_known(const struct progress_words *words, uint64_t address)
{
    for (unsigned i = 0; i < PROGRESS_WORDS; i++)
        if (words->words[i].address == address)
            return true;
    return false;
}

/* Words of structures live longer than variables on the stack; what moved in both halves of the
 * burst is more likely to go on than what moved once. */
static unsigned worth(const struct progress_candidate *candidate, uint64_t stack_low,
                      uint64_t stack_high)
{
    bool on_stack = candidate->address >= stack_low && candidate->address < stack_high;

    return 2 * candidate->moves + 3 * !on_stack;
}

static struct progress_candidate *best_of(struct progress_candidates *candidates,
                                          uint64_t stack_low, uint64_t stack_high)
{
    struct progress_candidate *best = NULL;

    for (unsigned i = 0; i < candidates->count; i++) {
        struct progress_candidate *candidate = &candidates->list[i];

        if (!candidate->void_ && candidate->moves &&
            (!best || worth(candidate, stack_low, stack_high) > worth(best, stack_low, stack_high)))
            best = candidate;
    }
    return best;
}

void progress_words_add(struct progress_words *words, struct progress_candidates *candidates,
                        uint64_t stack_low, uint64_t stack_high)
{
    unsigned added = 0;

    for (unsigned i = 0; i < PROGRESS_WORDS && added < PROGRESS_NEW_WORDS; i++) {
        struct progress_word *word = &words->words[i];
        struct progress_candidate *best;

        if (word->address)
            continue;
        while ((best = best_of(candidates, stack_low, stack_high)) &&
               is_known(words, best->address))
            best->void_ = true;
        if (!best)
            return;
        best->void_ = true;
        *word = (struct progress_word){.address = best->address,
                                       .width = best->width,
                                       .found = true,
                                       .direction = best->moved < 0 ? -1 : 1,
                                       .at_begin = best->value};
        added++;
    }
}

unsigned progress_words_steady(const struct progress_words *words)
{
    unsigned steady = 0;

    for (unsigned i = 0; i < PROGRESS_WORDS; i++)
        steady += words->words[i].address && !words->words[i].back && !words->words[i].idle &&
                  words->words[i].forward >= STEADY_MOVES;
    return steady;
}
