/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that share lines in a forced order: a turn is handed over, so that every transfer between
 * their caches is known. The patterns are those of the verification benchmarks of Sasongko et al.
 * (ComDetective, SC 2019), there free-running.
 *
 * ping-pong          pairs of threads store to the same lines in turn
 * pairs              the first of a pair stores, the second loads, or stores to --writes percent of
 * the lines; each pair has fewer lines than the one before producer-consumer  thread 0 stores, then
 * each other thread loads migratory          each thread in turn updates (one read-modify-write
 * instruction) every line read-mostly        thread 0 stores to one line, then each other thread
 * loads all random             turns go to random threads; for each line one stores to the shared
 * line with probability --sharing percent, else to one of its own; of the shared stores,
 *                    --false percent go to a byte of its own, the others to the common one
 */
#include <stdlib.h>
#include <string.h>

#include "common/communication_truth.h"
#include "common/options.h"
#include "common/random.h"
#include "common/timing.h"
#include "common/turns.h"

/* Every pattern but random; a thread's word is 0, or one of its own with --own-words. */
struct cell {
    uint64_t word[8];
};

/* Of the random pattern. */
struct mixed_cell {
    uint8_t common;
    uint8_t own[63];
};

enum { RANDOM_TURNS = 32 }; /* of a round */

static const char *const pattern_names[] = {"ping-pong", "pairs",       "producer-consumer",
                                            "migratory", "read-mostly", "random"};
enum pattern { PING_PONG, PAIRS, PRODUCER_CONSUMER, MIGRATORY, READ_MOSTLY, RANDOM };
static enum pattern pattern;

static const char *pattern_name = "ping-pong";
static uint64_t lines = 16, writes = 50, sharing = 50, false_share, seed = 1;
static bool own_words;
static struct run_options run_options = {.threads = 2};

/* Set before the threads start. */
static struct cell *cells;
static struct mixed_cell *shared_cells;
static bool in_pairs;

/* A thread's alone. */
struct own_data {
    _Alignas(ARRAY_ALIGNMENT) uint64_t wrong; /* loads that found something else than was stored */
    uint8_t cell;                             /* for the private stores of the pattern random */
};
static struct own_data own_data[THREADS_MAX];

static size_t word_of(size_t thread)
{
    return own_words ? thread % 8 : 0;
}

/* Threads first .. first + size - 1 hand turns to one another. */
struct group {
    size_t first, size;
};

static struct group group_of(size_t thread)
{
    if (in_pairs)
        return (struct group){thread / 2 * 2, 2};
    return (struct group){0, run_options.threads};
}

/* The lines that a pair uses: the first pair all, the k-th of n the (n-k)/n-th part. */
static size_t lines_of_pair(size_t pair)
{
    size_t pairs = run_options.threads / 2;
    return pattern == PAIRS ? (lines * (pairs - pair) + pairs - 1) / pairs : lines;
}

/* Pairs take no turns with one another, so they share no line of any size. */
static size_t first_cell_of_pair(size_t pair)
{
    size_t cells_apart = ARRAY_ALIGNMENT / sizeof(struct cell);
    return pair * ((lines + cells_apart - 1) / cells_apart * cells_apart);
}

__attribute__((noinline)) static void store_cells(struct cell *restrict first, size_t count,
                                                  size_t word, uint64_t value)
{
    for (size_t i = 0; i < count; i++)
        __atomic_store_n(&first[i].word[word], value, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void update_cells(struct cell *restrict first, size_t count,
                                                   size_t word)
{
    for (size_t i = 0; i < count; i++)
        __atomic_fetch_add(&first[i].word[word], 1, __ATOMIC_RELAXED);
}

/* How many of the words differ from what they should be. */
__attribute__((noinline)) static uint64_t load_cells(const struct cell *first, size_t count,
                                                     size_t word, uint64_t expected)
{
    uint64_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += __atomic_load_n(&first[i].word[word], __ATOMIC_RELAXED) != expected;
    return wrong;
}

/* In read-mostly, round r stores r to line r % lines. */
__attribute__((noinline)) static uint64_t load_mostly(const struct cell *first, size_t count,
                                                      size_t word, uint64_t round)
{
    uint64_t wrong = 0, latest = round % count, start = round - latest;
    for (size_t i = 0; i < count; i++) {
        uint64_t written = i <= latest ? start + i : start + i - count;
        if (word != 0 || (int64_t)written <= 0)
            written = 0;
        wrong += __atomic_load_n(&first[i].word[word], __ATOMIC_RELAXED) != written;
    }
    return wrong;
}

static bool draw(uint64_t *state, uint64_t percent)
{
    return random_below(state, 100) < percent;
}

/* What one draw of the random pattern comes to. */
enum target { TARGET_PRIVATE, TARGET_OWN, TARGET_COMMON };
static inline enum target draw_target(uint64_t *state)
{
    if (!draw(state, sharing))
        return TARGET_PRIVATE;
    return draw(state, false_share) ? TARGET_OWN : TARGET_COMMON;
}

static size_t own_byte(size_t thread)
{
    return thread % sizeof shared_cells->own;
}

__attribute__((noinline)) static void store_random(struct mixed_cell *restrict first,
                                                   uint8_t *own_cell, size_t count, size_t byte,
                                                   uint64_t state)
{
    for (size_t i = 0; i < count; i++) {
        switch (draw_target(&state)) {
        case TARGET_PRIVATE:
            __atomic_store_n(own_cell, 1, __ATOMIC_RELAXED);
            break;
        case TARGET_OWN:
            __atomic_store_n(&first[i].own[byte], 1, __ATOMIC_RELAXED);
            break;
        case TARGET_COMMON:
            __atomic_store_n(&first[i].common, 1, __ATOMIC_RELAXED);
            break;
        }
    }
}

/* What a turn of the random pattern draws from, and whose it is; the first of a round is thread
 * 0's. */
static uint64_t turn_state(uint64_t round, uint64_t turn)
{
    return random_start((seed << 32) + 2 * (round * RANDOM_TURNS + turn));
}

static size_t turn_owner(uint64_t round, uint64_t turn)
{
    uint64_t state = random_start((seed << 32) + 2 * (round * RANDOM_TURNS + turn) + 1);
    return turn % RANDOM_TURNS == 0 ? 0 : random_below(&state, run_options.threads);
}

static uint64_t visit(size_t thread, uint64_t round)
{
    struct group group = group_of(thread);
    struct cell *first = in_pairs ? cells + first_cell_of_pair(thread / 2) : cells;
    size_t count = in_pairs ? lines_of_pair(thread / 2) : lines, word = word_of(thread);
    bool leads = thread == group.first;
    if (pattern == MIGRATORY) {
        update_cells(first, count, word);
    } else if (pattern == READ_MOSTLY) {
        if (!leads)
            return load_mostly(first, count, word, round);
        store_cells(first + round % count, 1, word, round);
    } else if (leads || pattern == PING_PONG) {
        store_cells(first, count, word, round);
    } else if (pattern == PAIRS) {
        size_t stored = count * writes / 100;
        store_cells(first, stored, word, round);
        return load_cells(first + stored, count - stored, word, word == 0 ? round : 0);
    } else {
        return load_cells(first, count, word, word == 0 ? round : 0);
    }
    return 0;
}

static void replay_cells(struct communication_truth *t, size_t object, size_t thread, size_t first,
                         size_t count, enum access_effect effect)
{
    for (size_t i = first; i < first + count; i++)
        communication_access(t, thread, object, i * sizeof *cells + 8 * word_of(thread), 8, effect);
}

struct replay {
    size_t cells, turns; /* numbers of the objects */
    struct group group;
};

/* The same accesses as visit(). */
static void replay_visit(struct communication_truth *t, size_t object, size_t thread,
                         uint64_t round)
{
    size_t first = in_pairs ? first_cell_of_pair(thread / 2) : 0;
    size_t count = in_pairs ? lines_of_pair(thread / 2) : lines;
    bool leads = thread == group_of(thread).first;
    if (pattern == READ_MOSTLY && leads) {
        replay_cells(t, object, thread, round % count, 1, WRITES);
    } else if (leads || pattern == PING_PONG || pattern == MIGRATORY) {
        replay_cells(t, object, thread, first, count, WRITES);
    } else {
        size_t stored = pattern == PAIRS ? count * writes / 100 : 0;
        replay_cells(t, object, thread, first, stored, WRITES);
        replay_cells(t, object, thread, first + stored, count - stored, READS);
    }
}

static void replay_ring(void *context, struct communication_truth *t, uint64_t round)
{
    const struct replay *replay = context;
    struct group group = replay->group;
    for (size_t i = 0; i < group.size; i++) {
        replay_visit(t, replay->cells, group.first + i, round);
        if (group.size > 1)
            turns_replay(t, replay->turns, group.first + i, group.first + (i + 1) % group.size);
    }
}

static void replay_random(void *context, struct communication_truth *t, uint64_t round)
{
    const struct replay *replay = context;
    for (uint64_t turn = 0; turn < RANDOM_TURNS; turn++) {
        size_t owner = turn_owner(round, turn), next = turn_owner(round, turn + 1);
        uint64_t state = turn_state(round, turn);
        for (size_t i = 0; i < lines; i++) {
            enum target target = draw_target(&state);
            size_t byte = target == TARGET_OWN ? 1 + own_byte(owner) : 0;
            if (target != TARGET_PRIVATE)
                communication_access(t, owner, replay->cells, i * sizeof *shared_cells + byte, 1,
                                     WRITES);
        }
        if (next != owner)
            turns_replay(t, replay->turns, owner, next);
    }
}

/* The last turn goes through a group from member to member. */
static void replay_stop(struct communication_truth *t, size_t turns, struct group group)
{
    for (size_t i = 0; i + 1 < group.size; i++)
        turns_replay(t, turns, group.first + i, group.first + i + 1);
}

static void stop_next(size_t thread)
{
    struct group group = group_of(thread);
    if (thread + 1 < group.first + group.size)
        turn_pass(thread + 1, TURN_STOP);
}

static void lead_ring(size_t thread, struct run *run, uint64_t *wrong)
{
    struct group group = group_of(thread);
    while (run_continues(run)) {
        uint64_t round = run->iteration;
        *wrong += visit(thread, round);
        if (group.size > 1) {
            turn_pass(thread + 1, round);
            turn_wait(thread, round - 1);
        }
    }
}

static void follow_ring(size_t thread, struct run *run, uint64_t *wrong)
{
    struct group group = group_of(thread);
    size_t next = group.first + (thread - group.first + 1) % group.size;
    uint64_t round = TURN_NONE;
    while ((round = turn_wait(thread, round)) != TURN_STOP) {
        run->iteration = round;
        *wrong += visit(thread, round);
        turn_pass(next, round);
    }
    run->iteration++;
}

/* Has the turn, and all that follow at once; the number of the first turn that is another's. */
static uint64_t take_turns(size_t thread, uint64_t turn)
{
    uint64_t round = turn / RANDOM_TURNS;
    do {
        uint64_t state = turn_state(round, turn % RANDOM_TURNS);
        store_random(shared_cells, &own_data[thread].cell, lines, own_byte(thread), state);
        turn++;
    } while (turn % RANDOM_TURNS != 0 && turn_owner(round, turn % RANDOM_TURNS) == thread);
    return turn;
}

static void pass_random(size_t thread, uint64_t round, uint64_t turn)
{
    size_t next = turn == (round + 1) * RANDOM_TURNS ? 0 : turn_owner(round, turn % RANDOM_TURNS);
    if (next != thread)
        turn_pass(next, turn);
}

static void lead_random(struct run *run)
{
    uint64_t seen = TURN_NONE;
    while (run_continues(run)) {
        uint64_t round = run->iteration, end = (round + 1) * RANDOM_TURNS;
        uint64_t turn = round * RANDOM_TURNS;
        for (;;) {
            turn = take_turns(0, turn);
            if (turn == end)
                break;
            pass_random(0, round, turn);
            turn = seen = turn_wait(0, seen);
            if (turn == end)
                break;
        }
    }
}

static void follow_random(size_t thread, struct run *run)
{
    uint64_t turn = TURN_NONE;
    while ((turn = turn_wait(thread, turn)) != TURN_STOP) {
        uint64_t round = turn / RANDOM_TURNS;
        run->iteration = round;
        pass_random(thread, round, take_turns(thread, turn));
    }
    run->iteration++;
}

static void work(void *context, size_t thread, struct run *run)
{
    (void)context;
    uint64_t wrong = 0;
    bool leads = thread == group_of(thread).first;
    turns_start(thread, run_options.threads);
    if (pattern == RANDOM) {
        if (leads)
            lead_random(run);
        else
            follow_random(thread, run);
    } else if (leads) {
        lead_ring(thread, run, &wrong);
    } else {
        follow_ring(thread, run, &wrong);
    }
    stop_next(thread);
    own_data[thread].wrong = wrong;
}

static size_t cell_count(void)
{
    return first_cell_of_pair(in_pairs ? run_options.threads / 2 : 1);
}

/* Before the threads start, the main thread clears the lines. */
static size_t cleared_object(struct communication_truth *t, const char *name, const void *address)
{
    size_t object =
        communication_object(t, name, address, cell_count() * sizeof *cells, sizeof *cells);
    for (size_t i = 0; i < cell_count(); i++)
        communication_access(t, 0, object, i * sizeof *cells, sizeof *cells, WRITES);
    return object;
}

static void tell_truth(struct communication_truth *t, const uint64_t *done)
{
    struct replay replay = {.group = group_of(0), .turns = turns_object(t, run_options.threads)};
    if (pattern == RANDOM) {
        replay.cells = cleared_object(t, "shared_cells", shared_cells);
        communication_member(t, replay.cells, "common", 0, 1);
        communication_member(t, replay.cells, "own", 1, sizeof shared_cells->own);
        communication_rounds(t, replay_random, &replay, done[0], 0);
        replay_stop(t, replay.turns, replay.group);
        return;
    }
    static const char *const words[8] = {"word[0]", "word[1]", "word[2]", "word[3]",
                                         "word[4]", "word[5]", "word[6]", "word[7]"};
    size_t groups = in_pairs ? run_options.threads / 2 : 1;
    replay.cells = cleared_object(t, "cells", cells);
    for (size_t i = 0; i < 8; i++)
        communication_member(t, replay.cells, words[i], 8 * i, 8);
    for (size_t i = 0; i < groups; i++) {
        replay.group = group_of(2 * i);
        communication_rounds(t, replay_ring, &replay, done[replay.group.first],
                             pattern == READ_MOSTLY ? lines : 1);
        replay_stop(t, replay.turns, replay.group);
    }
}

static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(ARRAY_ALIGNMENT, bytes);
    check_allocation(memory, "the lines", bytes);
    return memory;
}

static void parse(const struct command *command, int argc, char **argv)
{
    options_parse(command, argc, argv);
    while (strcmp(pattern_names[pattern], pattern_name) != 0)
        pattern++;
    in_pairs = pattern == PING_PONG || pattern == PAIRS;
    if (in_pairs && run_options.threads % 2 != 0)
        usage_error("--threads: %s needs an even number", pattern_name);
    if (own_words && pattern == RANDOM)
        usage_error("--own-words: use --false with the pattern random");
    if (run_options.iterations > TURN_STOP / RANDOM_TURNS - 1)
        usage_error("--iterations: too many");
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        {"pattern", "ping-pong|pairs|producer-consumer|migratory|read-mostly|random",
         "who touches what", OPTION_CHOICE, &pattern_name, 0, 0},
        {"lines", "N", "64-byte lines that are shared, for each pair", OPTION_COUNT, &lines, 1,
         1u << 16},
        {"own-words", NULL, "thread t uses word t % 8 of each line, not word 0", OPTION_FLAG,
         &own_words, 0, 0},
        {"writes", "PERCENT", "pairs: lines that the second thread stores to", OPTION_COUNT,
         &writes, 0, 100},
        {"sharing", "PERCENT", "random: stores to shared lines", OPTION_COUNT, &sharing, 0, 100},
        {"false", "PERCENT", "random: of these, to a byte of the thread's own", OPTION_COUNT,
         &false_share, 0, 100},
        {"seed", "N", "random: which sequence", OPTION_COUNT, &seed, 0, UINT32_MAX},
    };
    const struct command command = {.name = "handover",
                                    .purpose = "Communication in a forced order.",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0],
                                    .run = &run_options,
                                    .threaded = true};
    parse(&command, argc, argv);
    size_t bytes = cell_count() * sizeof *cells;
    if (pattern == RANDOM)
        memset(shared_cells = allocate(bytes), 0, bytes);
    else
        memset(cells = allocate(bytes), 0, bytes);
    uint64_t done[THREADS_MAX];
    run_threads(&run_options, work, NULL, done, NULL);
    for (size_t i = 0; i < run_options.threads; i++)
        if (own_data[i].wrong != 0)
            fatal("wrong result: thread %zu found %llu words that were not stored last", i,
                  (unsigned long long)own_data[i].wrong);
    struct communication_truth *t = communication_truth_create(&command);
    if (t != NULL)
        tell_truth(t, done);
    communication_truth_finish(t, &run_options, done, (double)done[0]);
    free(cells);
    free(shared_cells);
    return 0;
}
