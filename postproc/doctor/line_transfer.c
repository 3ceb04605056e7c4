/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "doctor/line_transfer.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "doctor/perf.h"

enum {
    LINE = 128,     /* with the neighbour that some processors fetch along */
    TURNS = 10000,  /* of both threads together, in a round */
    ROUNDS = 5,     /* the fastest counts: what is slower was interrupted */
    PAIRS_MAX = 15, /* the first CPU, and others evenly spread */
    PAIR_NS_MAX = 60000000,
};

struct game {
    alignas(LINE) atomic_uint turn;
    alignas(LINE) atomic_bool given_up;
    int cpu[2];
    double ns[2]; /* per turn, as each of the two has it */
};

struct player {
    struct game *game;
    unsigned number;
};

/* Looks at the clock now and then only: that would take part in what is measured. */
static bool wait_for(struct game *game, unsigned turn, uint64_t until)
{
    for (unsigned spins = 1; atomic_load_explicit(&game->turn, memory_order_acquire) != turn;
         spins++) {
        if (spins % 4096 != 0)
            continue;
        if (atomic_load(&game->given_up) || perf_wall_ns() > until) {
            atomic_store(&game->given_up, true);
            return false;
        }
    }
    return true;
}

static void *play(void *argument)
{
    struct player *player = argument;
    struct game *game = player->game;
    uint64_t until = perf_wall_ns() + PAIR_NS_MAX;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)game->cpu[player->number], &set);
    game->ns[player->number] = INFINITY;
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0)
        atomic_store(&game->given_up, true);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned first = round * TURNS + player->number;
        uint64_t begin = 0;

        for (unsigned turn = first; turn < first + TURNS; turn += 2) {
            if (!wait_for(game, turn, until))
                return NULL;
            if (turn == first)
                begin = perf_wall_ns();
            atomic_store_explicit(&game->turn, turn + 1, memory_order_release);
        }
        game->ns[player->number] =
            fmin(game->ns[player->number], (double)(perf_wall_ns() - begin) / (TURNS - 1));
    }
    return NULL;
}

/* 0: the two did not meet. */
static double transfer_between(int a, int b)
{
    struct game game = {.cpu = {a, b}};
    struct player players[2] = {{&game, 0}, {&game, 1}};
    pthread_t threads[2];
    unsigned begun = 0;
    double ns;

    for (; begun < 2; begun++)
        if (pthread_create(&threads[begun], NULL, play, &players[begun]) != 0) {
            atomic_store(&game.given_up, true);
            break;
        }
    for (unsigned i = 0; i < begun; i++)
        pthread_join(threads[i], NULL);
    ns = fmin(game.ns[0], game.ns[1]);
    return begun == 2 && isfinite(ns) ? ns : 0;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

double line_transfer_measure(void)
{
    double found[PAIRS_MAX];
    int cpus[CPU_SETSIZE], count = 0, met = 0;
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 0;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, &set))
            cpus[count++] = i;
    for (int i = 1, pairs = count - 1 < PAIRS_MAX ? count - 1 : PAIRS_MAX; i <= pairs; i++) {
        double ns = transfer_between(cpus[0], cpus[i * (count - 1) / pairs]);

        if (ns > 0)
            found[met++] = ns;
    }
    if (met == 0)
        return 0;
    qsort(found, (size_t)met, sizeof *found, compare);
    return found[met / 2];
}
