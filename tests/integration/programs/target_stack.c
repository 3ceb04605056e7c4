/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs at the end of their stack: target_stack deep|overflow|thread-overflow
 * In all of them a signal may come when next to nothing of the stack is left.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "burn.h"

enum { FRAME = 512 };

static volatile char *lowest; /* stop descending when a frame lies below */

/* Comes down to a kilobyte above `lowest`, works there, and goes up again. */
__attribute__((noinline)) static unsigned descend(unsigned depth)
{
    volatile char frame[FRAME];
    memset((char *)frame, (int)depth, sizeof frame);
    unsigned below;
    if (frame < lowest) {
        long end = thread_cpu_ms() + BURN_MS;
        volatile unsigned turns = 0;
        do {
            for (unsigned i = 0; i < 100000; i++)
                turns++;
        } while (thread_cpu_ms() < end);
        below = 0;
    } else {
        below = descend(depth + 1);
    }
    return below + (frame[depth % FRAME] == (char)depth);
}

/* The stack's memory is there in full, so that nothing but the limit counts. */
static void *deep_thread(void *argument)
{
    pthread_attr_t attributes;
    void *begin;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &begin, &size);
    pthread_attr_destroy(&attributes);
    lowest = (char *)begin + (size_t)argument;
    printf("%s\n", descend(0) > 100 ? "came back" : "not deep");
    return NULL;
}

/* As deep as leaves so many bytes: room for the program, not for a signal frame beside it. */
static int run_deep(void)
{
    const size_t left[] = {65536, 16384, 6144};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        pthread_t thread;
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 1 << 20);
        if (pthread_create(&thread, &attributes, deep_thread, (void *)left[i]) != 0)
            return 1;
        pthread_join(thread, NULL);
        printf("%zu bytes left\n", left[i]);
    }
    return 0;
}

static sigjmp_buf back;

static void overflowed(int number, siginfo_t *info, void *context)
{
    (void)context;
    siglongjmp(back, number == SIGSEGV && info->si_addr != NULL ? 1 : 2);
}

static volatile unsigned bottom = UINT32_MAX; /* a depth that is never reached */

__attribute__((noinline)) static unsigned endless(unsigned depth)
{
    if (depth == bottom)
        return 0;
    volatile char frame[FRAME];
    frame[0] = frame[FRAME - 1] = (char)depth;
    return endless(depth + 1) + (unsigned)frame[0];
}

/* Runs into the guard page and comes back through an own handler on an alternate stack. */
static void *overflow(void *argument)
{
    (void)argument;
    enum { ALTERNATE = 65536 };
    char *memory = malloc(ALTERNATE);
    stack_t stack = {.ss_sp = memory, .ss_size = ALTERNATE};
    struct sigaction action = {.sa_sigaction = overflowed, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    if (memory == NULL || sigaltstack(&stack, NULL) != 0 || sigaction(SIGSEGV, &action, NULL) != 0)
        return NULL;
    static volatile int i, times;
    for (i = 0; i < 20; i++) {
        int how = sigsetjmp(back, 1);
        if (how == 0)
            endless(0);
        else if (how == 1)
            times++;
        burn(10);
    }
    printf("%d overflows survived\n", times);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    free(memory);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    struct rlimit limit = {1 << 20, 1 << 20};
    if (strcmp(what, "deep") == 0)
        return run_deep();
    if (strcmp(what, "overflow") == 0) {
        setrlimit(RLIMIT_STACK, &limit);
        overflow(NULL);
        return 0;
    }
    if (strcmp(what, "thread-overflow") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, overflow, NULL) != 0)
            return 1;
        return pthread_join(thread, NULL);
    }
    return 64;
}
