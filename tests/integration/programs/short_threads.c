/* SPDX-License-Identifier: BSD-3-Clause */
/* Work in threads of some 85 us, one after another; `half`: as much of it in main. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { THREADS = 10000, WORK_NS = 85000, ELEMENTS = 4096 };

static volatile long in_threads[ELEMENTS], in_main[ELEMENTS];
static long rounds = 1000;

static long cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

static __attribute__((noinline)) void work_of_thread(void)
{
    for (long i = 0; i < rounds; i++)
        in_threads[i % ELEMENTS] += i;
}

static __attribute__((noinline)) void work_of_main(void)
{
    for (long i = 0; i < rounds; i++)
        in_main[i % ELEMENTS] += i;
}

static void *run(void *unused)
{
    work_of_thread();
    return unused;
}

int main(int count, char **arguments)
{
    bool half = count > 1 && strcmp(arguments[1], "half") == 0;
    long began;

    do {
        rounds += rounds / 4;
        began = cpu_ns();
        work_of_main();
    } while (cpu_ns() - began < WORK_NS);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, run, NULL) != 0 || pthread_join(thread, NULL) != 0) {
            fputs("short_threads: no thread\n", stderr);
            return 99;
        }
        if (half)
            work_of_main();
    }
    return 0;
}
