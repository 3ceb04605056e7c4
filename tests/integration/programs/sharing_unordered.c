/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that use lines at full speed and in no order, and some that only look like it.
 *
 *   sharing_unordered PATTERN THREADS SECONDS
 *
 * counters   each adds to its own counter, all in one line
 * plain      the same by load, add, store
 * members    each its own member of one structure; the last only reads one
 * ticket     all add to one counter and see whether another one came in between
 * padded     each adds to a counter in a line of its own
 * reading    all read one line that main has written before
 * turns      each adds to its counter, all in one line, but one thread after the other
 *
 * Prints what all threads did, and with ticket how often the line was handed over.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 8, ROUND = 4096 };

struct statistics {
    _Atomic uint64_t hits, misses, errors;
    _Atomic uint32_t limit;
};

_Alignas(256) static _Atomic uint64_t counters[THREADS_MAX];
_Alignas(256) static volatile uint64_t plain[THREADS_MAX];
_Alignas(256) static struct statistics statistics;
_Alignas(256) static _Atomic uint64_t ticket;
_Alignas(256) static struct {
    _Alignas(256) _Atomic uint64_t value;
} padded[THREADS_MAX];
_Alignas(256) static uint64_t table[8];
_Alignas(256) static _Atomic uint64_t turn;

static const char *pattern;
static int threads;
static double seconds;
static _Alignas(256) uint64_t done[THREADS_MAX][32], handed_over[THREADS_MAX][32];

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void add_plain(volatile uint64_t *counter)
{
    for (int i = 0; i < ROUND; i++)
        *counter = *counter + 1;
}

static void add(_Atomic uint64_t *counter)
{
    for (int i = 0; i < ROUND; i++)
        atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void take_tickets(uint64_t *last, uint64_t *others)
{
    for (int i = 0; i < ROUND; i++) {
        uint64_t mine = atomic_fetch_add_explicit(&ticket, 1, memory_order_relaxed);

        *others += mine != *last + 1;
        *last = mine;
    }
}

static uint64_t read_limit(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < ROUND; i++)
        sum += atomic_load_explicit(&statistics.limit, memory_order_relaxed);
    return sum;
}

static uint64_t read_table(const volatile uint64_t *words)
{
    uint64_t sum = 0;

    for (int i = 0; i < ROUND; i++)
        sum += words[i % 8];
    return sum;
}

static void *work(void *argument)
{
    int self = (int)(intptr_t)argument;
    _Atomic uint64_t *members[] = {&statistics.hits, &statistics.misses, &statistics.errors};
    uint64_t rounds = 0, others = 0, last = 0, sum = 0;
    double start, end;

    while (strcmp(pattern, "turns") == 0 && atomic_load(&turn) != (uint64_t)self)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    start = now();
    end = start + (strcmp(pattern, "turns") == 0 ? seconds / threads : seconds);
    for (; now() < end; rounds++) {
        if (strcmp(pattern, "counters") == 0 || strcmp(pattern, "turns") == 0)
            add(&counters[self]);
        else if (strcmp(pattern, "plain") == 0)
            add_plain(&plain[self]);
        else if (strcmp(pattern, "members") == 0 && (self + 1 == threads || self >= 3))
            sum += read_limit();
        else if (strcmp(pattern, "members") == 0)
            add(members[self]);
        else if (strcmp(pattern, "ticket") == 0)
            take_tickets(&last, &others);
        else if (strcmp(pattern, "padded") == 0)
            add(&padded[self].value);
        else
            sum += read_table(table);
    }
    atomic_store(&turn, (uint64_t)self + 1);
    done[self][0] = rounds * ROUND;
    done[self][1] = sum;
    handed_over[self][0] = others;
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t others[THREADS_MAX];
    uint64_t all = 0, moved = 0;

    if (count < 4 || (threads = atoi(arguments[2])) < 1 || threads > THREADS_MAX)
        return 2;
    pattern = arguments[1];
    seconds = atof(arguments[3]);
    for (uint64_t i = 0; i < 8; i++)
        table[i] = i;
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, work, (void *)(intptr_t)i) != 0)
            return 1;
    work(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    for (int i = 0; i < threads; i++) {
        all += done[i][0];
        moved += handed_over[i][0];
    }
    printf("operations %llu handovers %llu\n", (unsigned long long)all, (unsigned long long)moved);
    return 0;
}
