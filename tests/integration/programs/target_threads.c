/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that come, go and end in unusual ways: target_threads short|exit|cancel|masked|small. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "burn.h"

static void *short_life(void *argument)
{
    volatile int *counter = argument;
    for (int i = 0; i < 1000; i++)
        *counter += i;
    burn(1);
    return argument;
}

/* 2000 threads, at most eight at a time. */
static int run_short(void)
{
    enum { ROUNDS = 250, AT_ONCE = 8, THREADS = 2000 };
    pthread_t threads[AT_ONCE];
    int counters[AT_ONCE] = {0}, started = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int count = 0;
        for (; count < AT_ONCE && started < THREADS; count++, started++) {
            int error = pthread_create(&threads[count], NULL, short_life, &counters[count]);
            if (error != 0) {
                printf("thread %d: %s\n", started, strerror(error));
                return 1;
            }
        }
        for (int i = 0; i < count; i++) {
            void *result = NULL;
            pthread_join(threads[i], &result);
            if (result != &counters[i])
                return 2;
        }
    }
    printf("%d threads, first counter %d\n", started, counters[0]);
    return 0;
}

static void *outlive_main(void *argument)
{
    pthread_t main_thread = *(pthread_t *)argument;
    pthread_join(main_thread, NULL);
    burn(BURN_MS);
    printf("main has left\n");
    fflush(stdout);
    return NULL;
}

/* The main thread ends first, the process goes on. */
static int run_exit(void)
{
    static pthread_t self, other;
    self = pthread_self();
    if (pthread_create(&other, NULL, outlive_main, &self) != 0)
        return 1;
    burn(50);
    pthread_exit(NULL);
}

static void cleanup(void *argument)
{
    printf("cleanup %s\n", (const char *)argument);
}

static void *wait_for_cancel(void *argument)
{
    pthread_cleanup_push(cleanup, argument);
    burn(30);
    for (;;)
        pause();
    pthread_cleanup_pop(0);
    return NULL;
}

static void *spin_for_cancel(void *argument)
{
    pthread_cleanup_push(cleanup, argument);
    for (;;) {
        for (volatile int i = 0; i < 100000; i++)
            continue;
        pthread_testcancel();
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static void *spin_asynchronously(void *argument)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_cleanup_push(cleanup, argument);
    for (volatile uint64_t i = 0;; i++)
        continue;
    pthread_cleanup_pop(0);
    return NULL;
}

static int run_cancel(void)
{
    void *(*const bodies[])(void *) = {wait_for_cancel, spin_for_cancel, spin_asynchronously};
    char names[][16] = {"waiting", "testing", "asynchronous"};
    for (size_t i = 0; i < 3; i++) {
        pthread_t thread;
        void *result = NULL;
        if (pthread_create(&thread, NULL, bodies[i], names[i]) != 0)
            return 1;
        burn(60);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        printf("%s: %s\n", names[i], result == PTHREAD_CANCELED ? "cancelled" : "returned");
    }
    return 0;
}

static void *work_masked(void *argument)
{
    sigset_t all, now;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    burn(BURN_MS);
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    int blocked = 0;
    for (int i = 1; i < SIGRTMAX; i++)
        blocked += sigismember(&now, i) == 1;
    *(int *)argument = blocked;
    return NULL;
}

/* Workers that block every signal, as those of many libraries do. */
static int run_masked(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    int blocked[THREADS];
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work_masked, &blocked[i]) != 0)
            return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        printf("%d signals blocked\n", blocked[i]);
    }
    return 0;
}

static void *work_small(void *argument)
{
    volatile char used[2048];
    for (size_t i = 0; i < sizeof used; i++)
        used[i] = (char)i;
    burn(50);
    *(int *)argument = used[77];
    return NULL;
}

/* Threads with the smallest stack that the C library allows. */
static int run_small(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    int results[THREADS];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN));
    for (int i = 0; i < THREADS; i++) {
        int error = pthread_create(&threads[i], &attributes, work_small, &results[i]);
        if (error != 0) {
            printf("thread %d: %s\n", i, strerror(error));
            return 1;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        printf("%d\n", results[i]);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "short") == 0)
        return run_short();
    if (strcmp(what, "exit") == 0)
        return run_exit();
    if (strcmp(what, "cancel") == 0)
        return run_cancel();
    if (strcmp(what, "masked") == 0)
        return run_masked();
    if (strcmp(what, "small") == 0)
        return run_small();
    return 64;
}
