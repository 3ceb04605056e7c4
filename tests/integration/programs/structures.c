/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Structures of which something is known: what --structs is tested on.
 *
 *     structures TURNS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two members of three lines are used together. */
struct particle { /* mark: particle */
    double mass;
    char name[100];
    unsigned ready : 1, busy : 3;
    struct {
        float x, y;
    } at;
    long tail[4];
    int hits;
};

/* All of it is used, and it has no holes: there is no better order. */
struct pair {
    double left, right;
};

union either {
    double real;
    long whole;
};

struct __attribute__((packed)) wire {
    char tag;
    double value;
};

struct meeting {
    atomic_long left, right;
    char rest[48];
};

struct row {
    long count;
    double data[];
};

enum { PARTICLES = 4096, PAIRS = 4096, SMALL = 1024, ROW = 500 };

static struct pair pairs[PAIRS];
static union either eithers[SMALL];
static struct wire wires[SMALL];
static struct meeting meeting;
static volatile double sink;

static void *go_right(void *turns)
{
    for (long i = 0; i < *(long *)turns * 4000; i++)
        atomic_fetch_add(&meeting.right, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    long turns = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    struct particle *cells = calloc(PARTICLES, sizeof(*cells));
    struct row *row = calloc(1, sizeof(*row) + ROW * sizeof(double));
    unsigned long random = 1;
    pthread_t other;
    double sum = 0;

    if (cells == NULL || row == NULL || pthread_create(&other, NULL, go_right, &turns) != 0)
        return 1;
    row->count = ROW;
    for (long turn = 0; turn < turns; turn++) {
        for (int i = 0; i < PARTICLES; i++) {
            struct particle *cell;

            random = random * 6364136223846793005UL + 1442695040888963407UL;
            cell = &cells[(random >> 33) % PARTICLES];
            cell->hits++;
            sum += cell->mass;
        }
        for (int i = 0; i < PAIRS; i++)
            pairs[i].left += pairs[i].right;
        for (int i = 0; i < SMALL; i++) {
            eithers[i].real += 1;
            wires[i].value += 1;
        }
        for (long i = 0; i < row->count; i++)
            row->data[i] += 1;
        for (int i = 0; i < 4000; i++)
            atomic_fetch_add(&meeting.left, 1);
    }
    pthread_join(other, NULL);
    sink = sum + pairs[1].left;
    free(cells);
    free(row);
    return 0;
}
