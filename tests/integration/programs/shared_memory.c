/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that share memory. Each stores to a word of a line of it until the time is over:
 *     shared_memory fork KIND PATH SECONDS         two processes, by fork, over a mapped file
 *     shared_memory attach KIND NAME SECONDS SIDE  one of two programs that are started apart, over
 *                                                  shm_open(NAME); SIDE: 0 or 1
 *     shared_memory sysv KIND - SECONDS            two, by fork, over a System V segment
 *     shared_memory anonymous KIND - SECONDS       two, by fork, over an anonymous mapping
 * KIND: turns (SECONDS are a number of turns: the two write one word by turns, each waiting for the
 * other's), false (neighbouring words of one line), true (one counter, atomically), own (a page
 * each), read (side 0 stores, side 1 reads the same word).
 */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 4 * 4096, LINE = 4096 + 64, WORD = sizeof(uint64_t), STEPS = 1 << 20 };

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void store_on(volatile uint64_t *word)
{
    for (int i = 0; i < STEPS; i++)
        *word = *word + 1;
}

__attribute__((noinline)) static void count_on(_Atomic uint64_t *word)
{
    for (int i = 0; i < STEPS; i++)
        atomic_fetch_add(word, 1);
}

__attribute__((noinline)) static uint64_t read_on(const volatile uint64_t *word)
{
    uint64_t sum = 0;

    for (int i = 0; i < STEPS; i++)
        sum += *word;
    return sum;
}

/* Each turn stores once to the word and once to the turn that is next, both on lines of their own.
 * An engine that hears of an access after it was made may hear first that the turn was read and
 * then that it was stored: so the one who has seen it waits until that is heard, too, and reads it
 * again. */
static void take_turns(char *line, int side, long turns)
{
    volatile uint64_t *words = (volatile uint64_t *)(void *)line;
    _Atomic uint64_t *next = (_Atomic uint64_t *)(void *)(line + 4096);
    const struct timespec until_heard = {.tv_nsec = 20000};
    double limit = now() + 60;

    for (long turn = side; turn < 2 * turns; turn += 2) {
        while (atomic_load(next) != (uint64_t)turn) {
            sched_yield();
            if (now() > limit) {
                fputs("shared_memory: the other one does not come\n", stderr);
                exit(1);
            }
        }
        nanosleep(&until_heard, NULL);
        if (atomic_load(next) == (uint64_t)turn)
            words[side] = (uint64_t)turn;
        atomic_store(next, (uint64_t)turn + 1);
    }
}

static void work(char *memory, const char *kind, int side, double seconds)
{
    char *line = memory + LINE;
    uint64_t sum = 0;

    if (strcmp(kind, "turns") == 0) {
        take_turns(line, side, (long)seconds);
        return;
    }
    for (double end = now() + seconds; now() < end;) {
        if (strcmp(kind, "true") == 0)
            count_on((_Atomic uint64_t *)(void *)line);
        else if (strcmp(kind, "own") == 0)
            store_on((volatile uint64_t *)(void *)(line + side * 4096));
        else if (strcmp(kind, "read") == 0 && side == 1)
            sum += read_on((volatile uint64_t *)(void *)line);
        else if (strcmp(kind, "read") == 0)
            store_on((volatile uint64_t *)(void *)line);
        else
            store_on((volatile uint64_t *)(void *)(line + side * WORD));
    }
    if (sum == 1)
        puts("1");
}

static char *memory_of(const char *mode, const char *name)
{
    char *memory = MAP_FAILED;
    int file = -1;

    if (strcmp(mode, "sysv") == 0) {
        int id = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0600);

        memory = id < 0 ? MAP_FAILED : shmat(id, NULL, 0);
        shmctl(id, IPC_RMID, NULL);
    } else if (strcmp(mode, "anonymous") == 0) {
        memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    } else {
        file = strcmp(mode, "attach") == 0 ? shm_open(name, O_RDWR | O_CREAT, 0600)
                                           : open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (file >= 0 && ftruncate(file, BYTES) == 0)
            memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (memory == MAP_FAILED) {
        perror("shared_memory");
        exit(1);
    }
    return memory;
}

int main(int argc, char **argv)
{
    char *memory;
    double seconds;

    if (argc < 5) {
        fprintf(stderr, "usage: shared_memory MODE KIND NAME SECONDS [SIDE]\n");
        return 2;
    }
    memory = memory_of(argv[1], argv[3]);
    seconds = atof(argv[4]);
    if (strcmp(argv[1], "attach") == 0) {
        work(memory, argv[2], argc > 5 ? atoi(argv[5]) : 0, seconds);
        return 0;
    }
    pid_t child = fork();

    work(memory, argv[2], child == 0, seconds);
    if (child != 0)
        waitpid(child, NULL, 0);
    return 0;
}
