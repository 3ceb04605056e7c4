/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does what the lines of its standard input say, and answers each with a line: work for a time that
 * a test decides while it looks at the profile from outside.
 *
 *     burn MS    works; done
 *     stride MS  works on 8 MiB, a line at a time; done
 *     thread MS  a second thread works and then waits; done
 *     child MS   a child works and then waits; its number
 *     handle, signal, number, ignore, default
 *                a disposition of SIGUSR2: by sigaction(), signal(), the system call; done
 *     ask        what the disposition is: default, ignored or own
 *     count      how many times the own handler has run
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "burn.h"

static volatile sig_atomic_t handled;

static void on_signal(int signal)
{
    (void)signal;
    handled = handled + 1;
}

static void set(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

    if (sigaction(SIGUSR2, &action, NULL) != 0)
        exit(98);
}

/* As the kernel has it. */
static void set_by_number(void)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } action;
    struct sigaction known;

    /* The C library's restorer is needed: asked for from the kernel. */
    set(on_signal);
    memset(&action, 0, sizeof action);
    if (syscall(SYS_rt_sigaction, SIGUSR2, NULL, &action, 8) != 0 ||
        syscall(SYS_rt_sigaction, SIGUSR2, &action, NULL, 8) != 0 ||
        sigaction(SIGUSR2, NULL, &known) != 0 || known.sa_handler != on_signal)
        exit(97);
}

static const char *disposition(void)
{
    struct sigaction action;

    sigaction(SIGUSR2, NULL, &action);
    return action.sa_handler == SIG_DFL     ? "default"
           : action.sa_handler == SIG_IGN   ? "ignored"
           : action.sa_handler == on_signal ? "own"
                                            : "somebody else's";
}

static void stride(long ms)
{
    enum { BYTES = 8 << 20 };
    static volatile char block[BYTES];
    long end = thread_cpu_ms() + ms;

    do
        for (size_t i = 0; i < BYTES; i += 64)
            block[i] = (char)(block[i] + 1);
    while (thread_cpu_ms() < end);
}

static volatile int finished;

static void *work(void *ms)
{
    burn((long)(intptr_t)ms);
    finished = 1;
    for (;;)
        pause();
    return NULL;
}

static void work_in_thread(long ms)
{
    pthread_t thread;

    finished = 0;
    if (pthread_create(&thread, NULL, work, (void *)(intptr_t)ms) != 0)
        exit(96);
    while (!finished)
        usleep(1000);
}

static int child(long ms)
{
    int ready[2];
    char byte;
    pid_t pid;

    if (pipe(ready) != 0 || (pid = fork()) < 0)
        exit(95);
    if (pid == 0) {
        burn(ms);
        (void)!write(ready[1], "", 1);
        for (;;)
            pause();
    }
    (void)!read(ready[0], &byte, 1);
    return pid;
}

int main(void)
{
    char line[64], word[64];
    long number;

    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        number = 0;
        if (sscanf(line, "%63s %ld", word, &number) < 1)
            continue;
        if (strcmp(word, "burn") == 0)
            burn(number);
        else if (strcmp(word, "stride") == 0)
            stride(number);
        else if (strcmp(word, "thread") == 0)
            work_in_thread(number);
        else if (strcmp(word, "handle") == 0)
            set(on_signal);
        else if (strcmp(word, "signal") == 0)
            signal(SIGUSR2, on_signal);
        else if (strcmp(word, "number") == 0)
            set_by_number();
        else if (strcmp(word, "ignore") == 0)
            set(SIG_IGN);
        else if (strcmp(word, "default") == 0)
            set(SIG_DFL);
        if (strcmp(word, "ask") == 0)
            puts(disposition());
        else if (strcmp(word, "count") == 0)
            printf("%d\n", (int)handled);
        else if (strcmp(word, "child") == 0)
            printf("%d\n", child(number));
        else
            puts("done");
    }
    return 0;
}
