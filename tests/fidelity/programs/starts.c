/* SPDX-License-Identifier: BSD-3-Clause */
/* starts MODE N US: N children (fork) or threads (once: together; after: one after another), each
 * with about so many microseconds of work. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ELEMENTS = 4096, STACK = 65536 };

static volatile long table[ELEMENTS];
static long rounds = 1000;

static long cpu_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void *work(void *unused)
{
    for (long i = 0; i < rounds; i++)
        table[i % ELEMENTS] += i;
    return unused;
}

static void calibrate(long us)
{
    long began;

    do {
        rounds += rounds / 4;
        began = cpu_us();
        work(NULL);
    } while (cpu_us() - began < us);
}

static int fail(const char *what)
{
    perror(what);
    return 1;
}

static int run_children(int n)
{
    for (int i = 0; i < n; i++) {
        pid_t child = fork();

        if (child < 0)
            return fail("fork");
        if (child == 0) {
            work(NULL);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}

/* As many at a time. */
static int run_threads(int n, int together)
{
    pthread_t *threads = calloc((size_t)together, sizeof *threads);
    pthread_attr_t attributes;
    int result = 0;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    for (int i = 0; threads && result == 0 && i < n; i += together) {
        int begun = 0;

        while (begun < together && result == 0)
            if (pthread_create(&threads[begun], &attributes, work, NULL) == 0)
                begun++;
            else
                result = fail("pthread_create");
        while (begun > 0)
            pthread_join(threads[--begun], NULL);
    }
    free(threads);
    return threads ? result : 1;
}

int main(int count, char **arguments)
{
    int n;

    if (count != 4 || (n = atoi(arguments[2])) <= 0) {
        fputs("usage: starts fork|once|after N US\n", stderr);
        return 2;
    }
    calibrate(atol(arguments[3]));
    if (strcmp(arguments[1], "fork") == 0)
        return run_children(n);
    return run_threads(n, strcmp(arguments[1], "once") == 0 ? n : 1);
}
