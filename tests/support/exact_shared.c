/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Four threads that start together and go round and round, each over 1000 lines of its own: on
 * their merged clock a line comes back after all others, 3999 of them, and within its thread after
 * 999.
 */
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, LINES = 1000, ROUNDS = 200, LINE = 64 };

static pthread_barrier_t together;

static void *run(void *memory)
{
    volatile char *lines = memory;
    pthread_barrier_wait(&together);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < LINES; i++)
            lines[i * LINE]++;
    pthread_barrier_wait(&together);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        void *memory = aligned_alloc(LINE, (size_t)LINES * LINE);
        if (memory == NULL || pthread_create(&threads[i], NULL, run, memory) != 0)
            return 1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
