/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads take turns at one array of each kind of memory: they store to two members of each of
 * its elements, so that every object has a number of transfers of its own. After obj_verification
 * of Sasongko et al. (ComDetective, SC 2019).
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/communication_truth.h"
#include "common/options.h"
#include "common/timing.h"
#include "common/turns.h"

/* One line. */
struct pair {
    uint64_t first, second;
    uint64_t rest[6];
};

/* Of the k-th array the first k + 1 are used. */
enum { ARRAY_ELEMENTS = 32 };
enum { ARRAY_BYTES = ARRAY_ELEMENTS * sizeof(struct pair) };

enum {
    GLOBAL,
    STATIC,
    LOCAL_STATIC,
    STACK,
    THREAD_LOCAL,
    MALLOC,
    CALLOC,
    REALLOC,
    MEMALIGN,
    POSIX_MEMALIGN,
    ALIGNED_ALLOC,
    VALLOC,
    PVALLOC,
    MMAP,
    KINDS
};

_Alignas(ARRAY_ALIGNMENT) struct pair global_pairs[ARRAY_ELEMENTS];
_Alignas(ARRAY_ALIGNMENT) static struct pair static_pairs[ARRAY_ELEMENTS];
_Alignas(ARRAY_ALIGNMENT) static _Thread_local struct pair thread_local_pairs[ARRAY_ELEMENTS];

static bool same_member;
static struct run_options run_options = {.threads = 2};

struct array {
    const char *name;
    struct pair *pairs;
};

static struct array arrays[KINDS]; /* set before the second thread starts */

static void set_array(size_t kind, const char *name, void *memory)
{
    if (memory == NULL)
        fatal("no memory for %s", name);
    arrays[kind] = (struct array){name, memory};
    memset(memory, 0, ARRAY_BYTES);
}

/* One variable for each allocator: its name is the object's. */
static void make_arrays(void)
{
    struct pair *malloc_pairs = malloc(ARRAY_BYTES);
    set_array(MALLOC, "malloc_pairs", malloc_pairs);
    struct pair *calloc_pairs = calloc(ARRAY_ELEMENTS, sizeof *calloc_pairs);
    set_array(CALLOC, "calloc_pairs", calloc_pairs);
    struct pair *realloc_pairs = realloc(malloc(sizeof *realloc_pairs), ARRAY_BYTES);
    set_array(REALLOC, "realloc_pairs", realloc_pairs);
    struct pair *memalign_pairs = memalign(ARRAY_ALIGNMENT, ARRAY_BYTES);
    set_array(MEMALIGN, "memalign_pairs", memalign_pairs);
    struct pair *posix_memalign_pairs = NULL;
    if (posix_memalign((void **)&posix_memalign_pairs, ARRAY_ALIGNMENT, ARRAY_BYTES) != 0)
        posix_memalign_pairs = NULL;
    set_array(POSIX_MEMALIGN, "posix_memalign_pairs", posix_memalign_pairs);
    struct pair *aligned_alloc_pairs = aligned_alloc(ARRAY_ALIGNMENT, ARRAY_BYTES);
    set_array(ALIGNED_ALLOC, "aligned_alloc_pairs", aligned_alloc_pairs);
    struct pair *valloc_pairs = valloc(ARRAY_BYTES);
    set_array(VALLOC, "valloc_pairs", valloc_pairs);
    struct pair *pvalloc_pairs = pvalloc(ARRAY_BYTES);
    set_array(PVALLOC, "pvalloc_pairs", pvalloc_pairs);
    struct pair *mmap_pairs =
        mmap(NULL, ARRAY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    set_array(MMAP, "mmap_pairs", mmap_pairs == MAP_FAILED ? NULL : mmap_pairs);
}

static void free_arrays(void)
{
    for (size_t kind = MALLOC; kind < MMAP; kind++)
        free(arrays[kind].pairs);
    munmap(arrays[MMAP].pairs, ARRAY_BYTES);
}

__attribute__((noinline)) static void store_first(struct pair *pairs, size_t count, uint64_t value)
{
    for (size_t i = 0; i < count; i++)
        __atomic_store_n(&pairs[i].first, value, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void store_second(struct pair *pairs, size_t count, uint64_t value)
{
    for (size_t i = 0; i < count; i++)
        __atomic_store_n(&pairs[i].second, value, __ATOMIC_RELAXED);
}

static void visit(size_t thread, uint64_t round)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        if (thread == 0 || same_member)
            store_first(arrays[kind].pairs, kind + 1, round);
        else
            store_second(arrays[kind].pairs, kind + 1, round);
    }
}

static void work(void *context, size_t thread, struct run *run)
{
    (void)context;
    turns_start(thread, 2);
    if (thread == 0) {
        while (run_continues(run)) {
            visit(0, run->iteration);
            turn_pass(1, run->iteration);
            turn_wait(0, run->iteration - 1);
        }
        turn_pass(1, TURN_STOP);
        return;
    }
    uint64_t round = TURN_NONE;
    while ((round = turn_wait(1, round)) != TURN_STOP) {
        run->iteration = round;
        visit(1, round);
        turn_pass(0, round);
    }
    run->iteration++;
}

struct replay {
    size_t turns, first_object;
};

static void replay_round(void *context, struct communication_truth *t, uint64_t round)
{
    const struct replay *replay = context;
    (void)round;
    for (size_t thread = 0; thread < 2; thread++) {
        size_t offset = thread == 0 || same_member ? 0 : sizeof(uint64_t);
        for (size_t kind = 0; kind < KINDS; kind++)
            for (size_t i = 0; i <= kind; i++)
                communication_access(t, thread, replay->first_object + kind,
                                     i * sizeof(struct pair) + offset, sizeof(uint64_t), WRITES);
        turns_replay(t, replay->turns, thread, 1 - thread);
    }
}

static void tell_truth(struct communication_truth *t, uint64_t rounds)
{
    struct replay replay = {.turns = turns_object(t, 2)};
    for (size_t kind = 0; kind < KINDS; kind++) {
        size_t object = communication_object(t, arrays[kind].name, arrays[kind].pairs, ARRAY_BYTES,
                                             sizeof(struct pair));
        communication_member(t, object, "first", 0, sizeof(uint64_t));
        communication_member(t, object, "second", sizeof(uint64_t), sizeof(uint64_t));
        communication_access(t, 0, object, 0, ARRAY_BYTES, WRITES);
        if (kind == 0)
            replay.first_object = object;
    }
    communication_rounds(t, replay_round, &replay, rounds, 1);
    turns_replay(t, replay.turns, 0, 1);
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i <= kind; i++)
            communication_access(t, 0, replay.first_object + kind, i * sizeof(struct pair),
                                 sizeof(uint64_t), READS);
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        {"same-member", NULL, "both threads store to the same member: true sharing", OPTION_FLAG,
         &same_member, 0, 0},
    };
    const struct command command = {.name = "object-kinds",
                                    .purpose = "Communication through memory of every kind.",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0],
                                    .run = &run_options};
    options_parse(&command, argc, argv);
    run_options.threads = 2;
    _Alignas(ARRAY_ALIGNMENT) struct pair stack_pairs[ARRAY_ELEMENTS];
    static _Alignas(ARRAY_ALIGNMENT) struct pair local_static_pairs[ARRAY_ELEMENTS];
    set_array(GLOBAL, "global_pairs", global_pairs);
    set_array(STATIC, "static_pairs", static_pairs);
    set_array(LOCAL_STATIC, "local_static_pairs", local_static_pairs);
    set_array(STACK, "stack_pairs", stack_pairs);
    set_array(THREAD_LOCAL, "thread_local_pairs", thread_local_pairs);
    make_arrays();

    uint64_t done[THREADS_MAX];
    run_threads(&run_options, work, NULL, done, NULL);
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i <= kind; i++)
            if (arrays[kind].pairs[i].first != done[0])
                fatal("wrong result: %s holds %llu instead of %llu", arrays[kind].name,
                      (unsigned long long)arrays[kind].pairs[i].first, (unsigned long long)done[0]);
    struct communication_truth *t = communication_truth_create(&command);
    if (t != NULL)
        tell_truth(t, done[0]);
    communication_truth_finish(t, &run_options, done, (double)done[0]);
    free_arrays();
    return 0;
}
