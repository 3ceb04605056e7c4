/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with functions of its own that are called like some of the C library's, of libm's and
 * of the decoder's (whose version 3 has these names with other parameters), all of them exported.
 * It prints which of them somebody else has called; the C library calls none of them by name.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* No header of these is included: they have other types there. */
double log(double value);
double sqrt(double value);
int ZydisDecoderInit(void *decoder, int mode, int width);
int ZydisDecoderDecodeFull(void *decoder, const void *code, size_t length, void *a, void *b);
int ZydisDecoderDecodeInstruction(void *decoder, void *a, const void *code, size_t length, void *b);

/* Counts while the program itself calls none. */
static volatile bool others;
static volatile const char *called;

static void note(const char *name)
{
    if (others)
        called = name;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    long result;

    pthread_mutex_lock(&lock);
    note("clock_gettime");
    result = syscall(SYS_clock_gettime, clock, time);
    pthread_mutex_unlock(&lock);
    return (int)result;
}

ssize_t write(int descriptor, const void *bytes, size_t size)
{
    note("write");
    return syscall(SYS_write, descriptor, bytes, size);
}

ssize_t read(int descriptor, void *bytes, size_t size)
{
    note("read");
    return syscall(SYS_read, descriptor, bytes, size);
}

int nanosleep(const struct timespec *time, struct timespec *rest)
{
    note("nanosleep");
    return (int)syscall(SYS_nanosleep, time, rest);
}

int sched_yield(void)
{
    note("sched_yield");
    return 0;
}

pid_t getpid(void)
{
    note("getpid");
    return 4242;
}

double log(double value)
{
    note("log");
    return value;
}

double sqrt(double value)
{
    note("sqrt");
    return value;
}

int ZydisDecoderInit(void *decoder, int mode, int width)
{
    (void)decoder, (void)mode, (void)width;
    note("ZydisDecoderInit");
    return 0;
}

int ZydisDecoderDecodeFull(void *decoder, const void *code, size_t length, void *a, void *b)
{
    (void)decoder, (void)code, (void)length, (void)a, (void)b;
    note("ZydisDecoderDecodeFull");
    return 1;
}

int ZydisDecoderDecodeInstruction(void *decoder, void *a, const void *code, size_t length, void *b)
{
    (void)decoder, (void)code, (void)length, (void)a, (void)b;
    note("ZydisDecoderDecodeInstruction");
    return 1;
}

enum { ELEMENTS = 65536, MS = 300 };
static volatile int block[ELEMENTS];

static long cpu_ms(void)
{
    struct timespec now;

    syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Asks for the time within its own lock, too: a handler that did so would wait for itself. */
int main(void)
{
    struct timespec now;
    long end = cpu_ms() + MS;

    do {
        others = true;
        for (size_t i = 0; i < ELEMENTS; i++)
            block[i] = (int)i;
        others = false;
        for (int i = 0; i < 1000; i++)
            clock_gettime(CLOCK_MONOTONIC, &now);
    } while (cpu_ms() < end);
    printf("called by others: %s\n", called ? (const char *)called : "none");
    return 0;
}
