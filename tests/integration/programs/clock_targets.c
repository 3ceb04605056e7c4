/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs whose locality one can see, for tests of the clock engine as its users meet it:
 *
 * clock_targets regions MS    two spans and a named object of the programming interface
 * clock_targets shared MS     two threads in turns: one reads an array, the other writes it
 * clock_targets freed MS      blocks of which each line is written once, and freed
 * clock_targets recycled MS   likewise, small ones
 * clock_targets columns MS    a matrix is transposed, every store to another line
 *
 * MS: milliseconds of CPU time to spend, about.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reuse.h"

static double cpu_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

enum { ELEMENTS = 1 << 20 };

static uint64_t add_up(const uint64_t *array, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += array[i];
    return sum;
}

static int regions(double ms)
{
    uint64_t *first_array = calloc(ELEMENTS, sizeof *first_array);
    uint64_t *second_array = calloc(ELEMENTS, sizeof *second_array);
    uint64_t sum = 0;

    REUSE_NAME_OBJECT(second_array, ELEMENTS * sizeof *second_array, "the second one");
    while (cpu_ms() < ms) {
        REUSE_REGION_BEGIN("first span");
        sum += add_up(first_array, ELEMENTS);
        REUSE_REGION_END();
        REUSE_REGION_BEGIN("second span");
        sum += add_up(second_array, ELEMENTS);
        REUSE_REGION_END();
    }
    free(first_array);
    free(second_array);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

static _Atomic uint64_t shared_words[32768];
static _Atomic int done;
static sem_t readers_turn, writers_turn;

static void *writer(void *unused)
{
    (void)unused;
    for (;;) {
        sem_wait(&writers_turn);
        if (atomic_load(&done))
            return NULL;
        for (size_t i = 0; i < sizeof shared_words / sizeof *shared_words; i++)
            atomic_store_explicit(&shared_words[i], i, memory_order_relaxed);
        sem_post(&readers_turn);
    }
}

/* In turns, so that every word is written between any two of its reads. */
static int shared(double ms)
{
    pthread_t thread;
    uint64_t sum = 0;

    sem_init(&readers_turn, 0, 0);
    sem_init(&writers_turn, 0, 0);
    pthread_create(&thread, NULL, writer, NULL);
    while (cpu_ms() < ms) {
        sem_post(&writers_turn);
        sem_wait(&readers_turn);
        for (size_t i = 0; i < sizeof shared_words / sizeof *shared_words; i++)
            sum += atomic_load_explicit(&shared_words[i], memory_order_relaxed);
    }
    atomic_store(&done, 1);
    sem_post(&writers_turn);
    pthread_join(thread, NULL);
    return sum == 1;
}

static int freed(double ms)
{
    uint64_t sum = 0;

    while (cpu_ms() < ms) {
        /* volatile: the compiler leaves out blocks of which it knows all that happens to them. */
        unsigned char *volatile block = malloc(1 << 20);

        if (!block)
            return 1;
        /* One store a line: were there more, most would be used again at once, and few be watched.
         */
        for (unsigned char *byte = block; byte < block + (1 << 20); byte += 64)
            *byte = 1;
        sum += block[0];
        free(block);
    }
    printf("%d\n", sum > 0);
    return 0;
}

/* Blocks of 16 KiB that are written once and freed when 64 more have come: the allocator hands them
 * out again, and each line is written again 16000 accesses later. */
static int recycled(double ms)
{
    enum { KEPT = 64, BYTES = 16 << 10 };
    unsigned char *volatile blocks[KEPT] = {NULL};
    uint64_t sum = 0;

    for (unsigned i = 0; i % KEPT || cpu_ms() < ms; i++) {
        free(blocks[i % KEPT]);
        blocks[i % KEPT] = malloc(BYTES);
        if (!blocks[i % KEPT])
            return 1;
        for (unsigned char *byte = blocks[i % KEPT]; byte < blocks[i % KEPT] + BYTES; byte += 64)
            *byte = 1;
        sum += blocks[i % KEPT][0];
    }
    for (unsigned i = 0; i < KEPT; i++)
        free(blocks[i]);
    printf("%d\n", sum > 0);
    return 0;
}

static int columns(double ms)
{
    enum { ROWS = 2048 };
    double *from = calloc(ROWS * ROWS, sizeof *from), *to = calloc(ROWS * ROWS, sizeof *to);
    double begin = cpu_ms();

    if (!from || !to)
        return 1;
    do {
        for (size_t i = 0; i < ROWS && cpu_ms() - begin < ms; i++)
            for (size_t j = 0; j < ROWS; j++)
                to[j * ROWS + i] = from[i * ROWS + j];
    } while (cpu_ms() - begin < ms);
    printf("%g\n", to[ROWS]);
    free(from);
    free(to);
    return 0;
}

int main(int argc, char **argv)
{
    double ms = argc == 3 ? atof(argv[2]) : 0;

    if (argc == 3 && strcmp(argv[1], "regions") == 0)
        return regions(ms);
    if (argc == 3 && strcmp(argv[1], "shared") == 0)
        return shared(ms);
    if (argc == 3 && strcmp(argv[1], "freed") == 0)
        return freed(ms);
    if (argc == 3 && strcmp(argv[1], "recycled") == 0)
        return recycled(ms);
    if (argc == 3 && strcmp(argv[1], "columns") == 0)
        return columns(ms);
    fprintf(stderr, "usage: clock_targets regions|shared|freed|recycled|columns MS\n");
    return 2;
}
