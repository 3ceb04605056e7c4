/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Coherence between processes. Random accesses of several threads are told to the table that
 * processes share, and to the one of a single process that has all these threads: both must count
 * the same events. Then real processes, of which the number of events is known.
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "reuse/exact_coherence.h"
#include "reuse/exact_processes.h"
#include "sampling/line_mask.h"
#include "sampling/random.h"

enum { LINE = 64, THREADS = 6, PROCESSES = 3, KINDS = 4 };

struct counts {
    uint64_t of[THREADS + 1][THREADS + 1][KINDS][2];
    uint64_t places; /* sum over offsets and widths of sources */
    uint32_t destination;
};

static struct exact_processes *new_table(void)
{
    void *table = mmap(NULL, exact_processes_bytes(), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_true(table != MAP_FAILED);
    return table;
}

static void count_process_event(void *context, const struct process_event *event)
{
    struct counts *counts = context;

    /* Threads are numbered through: tid is the number, pid the number of its process. */
    assert_int_equal(event->source_pid, 100 + (uint32_t)event->source_tid % PROCESSES);
    counts->of[event->source_tid][counts->destination][event->kind][event->true_sharing]++;
    counts->places += event->source_offset * 100u + event->source_width;
}

static void count_transfer(void *context, const struct exact_transfer *transfer)
{
    struct counts *counts = context;

    counts->of[transfer->source.thread][transfer->destination.thread][transfer->kind]
              [transfer->true_sharing]++;
    counts->places += transfer->source.offset * 100u + transfer->source.width;
}

static void test_agrees_with_threads(void **state)
{
    static struct exact_coherence_thread threads[THREADS + 1];
    static struct counts expected, found;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct exact_coherence *coherence = exact_coherence_create(LINE);
        struct exact_processes *table = new_table();
        struct random random;

        memset(&expected, 0, sizeof expected);
        memset(&found, 0, sizeof found);
        random_seed(&random, seed);
        for (uint32_t t = 1; t <= THREADS; t++)
            exact_coherence_thread_init(&threads[t], coherence, t, count_transfer, &expected);
        for (int i = 0; i < 20000; i++) {
            uint32_t t = 1 + random_below(&random, THREADS);
            uint8_t width = (uint8_t)(1u << random_below(&random, 4));
            uint64_t address =
                random_below(&random, 40) * LINE + random_below(&random, LINE / width) * width;
            struct process_access access = {
                .device = 1,
                .inode = address / LINE % 3, /* lines of several files */
                .line = line_start(address, LINE),
                .bytes = line_mask(line_start(address, LINE), LINE, address, width),
                .offset = (uint16_t)(address % LINE),
                .width = width,
                .write = random_below(&random, 3) == 0,
            };

            found.destination = t;
            assert_true(exact_processes_access(table, 100 + t % PROCESSES, (int32_t)t, &access,
                                               count_process_event, &found));
            exact_coherence_access(&threads[t], address, width, access.write, 1);
        }
        assert_memory_equal(expected.of, found.of, sizeof expected.of);
        assert_int_equal(expected.places, found.places);
        exact_coherence_destroy(coherence);
        munmap(table, exact_processes_bytes());
    }
}

/* More threads than a line has room for: the others are told that they are not followed. */
static void test_room(void **state)
{
    struct exact_processes *table = new_table();
    struct process_access access = {.inode = 1, .bytes = 1, .width = 1};
    struct counts counts = {.places = 0};
    unsigned followed = 0;

    (void)state;
    for (int32_t t = 1; t <= EXACT_PROCESSES_COPIES + 5; t++)
        followed += exact_processes_access(table, 100 + (uint32_t)t % PROCESSES, t, &access,
                                           count_process_event, &counts);
    assert_int_equal(followed, EXACT_PROCESSES_COPIES);
    /* And more lines than the table has. */
    for (followed = 0; access.line < (uint64_t)LINE * 2 * EXACT_PROCESSES_LINES;
         access.line += LINE)
        followed += exact_processes_access(table, 101, 1, &access, count_process_event, &counts);
    assert_true(followed >= EXACT_PROCESSES_LINES / 2 && followed <= EXACT_PROCESSES_LINES);
    munmap(table, exact_processes_bytes());
}

struct turns {
    _Atomic uint32_t next;
    _Atomic uint64_t events[2];
};

static void count_only(void *context, const struct process_event *event)
{
    _Atomic uint64_t *events = context;

    if (event->kind == TRANSFER_WAW && !event->true_sharing)
        (*events)++;
}

static void take_turns(struct exact_processes *table, struct turns *turns, uint32_t side,
                       uint32_t count)
{
    const struct process_access access = {.inode = 1,
                                          .bytes = UINT64_C(0xff) << 8 * side,
                                          .offset = (uint16_t)(8 * side),
                                          .width = 8,
                                          .write = true};

    for (uint32_t turn = side; turn < 2 * count; turn += 2) {
        while (turns->next != turn)
            sched_yield();
        exact_processes_access(table, 100 + side, 1, &access, count_only, &turns->events[side]);
        turns->next = turn + 1;
    }
}

/* Two processes that store to neighbouring words by turns: every store but the first takes the
 * line from the other. */
static void test_two_processes(void **state)
{
    enum { TURNS = 2000 };
    struct exact_processes *table = new_table();
    struct turns *turns =
        mmap(NULL, sizeof *turns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;

    (void)state;
    assert_true(turns != MAP_FAILED);
    child = fork();
    take_turns(table, turns, child == 0, TURNS);
    if (child == 0)
        _exit(0);
    assert_true(waitpid(child, NULL, 0) == child);
    assert_int_equal(turns->events[0], TURNS - 1);
    assert_int_equal(turns->events[1], TURNS);
    munmap(turns, sizeof *turns);
    munmap(table, exact_processes_bytes());
}

static void hold_lock(void *context, const struct process_event *event)
{
    (void)event;
    *(_Atomic uint32_t *)context = 1;
    for (;;)
        pause();
}

/* A process that is killed while it holds a line's lock keeps nobody waiting. */
static void test_killed_holder(void **state)
{
    struct exact_processes *table = new_table();
    _Atomic uint32_t *held =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct process_access access = {.inode = 1, .bytes = 1, .width = 1, .write = true};
    struct counts counts = {.destination = 1};
    pid_t child;

    (void)state;
    assert_true((void *)held != MAP_FAILED);
    assert_true(exact_processes_access(table, 101, 1, &access, count_process_event, &counts));
    child = fork();
    if (child == 0)
        exact_processes_access(table, (uint32_t)getpid(), 2, &access, hold_lock,
                               (void *)(uintptr_t)held);
    while (!*held)
        sched_yield();
    kill(child, SIGKILL);
    assert_true(waitpid(child, NULL, 0) == child);
    assert_true(exact_processes_access(table, 101, 1, &access, count_process_event, &counts));
    munmap((void *)(uintptr_t)held, 4096);
    munmap(table, exact_processes_bytes());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_threads),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_two_processes),
        cmocka_unit_test(test_killed_holder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
