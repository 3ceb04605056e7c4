/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that give way while threads open, use and close them: each holder has its own file at
 * all times, nothing of the program's is closed, and nothing is left open. The files are told apart
 * by their inodes. Own calls stand in for the runtime around it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "interposition/descriptors.h"
#include "interposition/interpose_signal.h"
#include "recording/tape.h"

_Atomic(enum tape_mode) tape_mode;
__thread bool tape_inside;

uint64_t tape_pass(enum tape_tag item, uint64_t value)
{
    (void)item;
    return value;
}

void signals_block(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

void signals_restore(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

enum { THREADS = 3, HELD = 4, ROUNDS = 4000, LIMIT = 256 };

static atomic_int running, wrong;

static unsigned open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;

    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* A file of one byte, its first: what is read tells which it is. */
static int file_of(unsigned char byte)
{
    int file = memfd_create("held", MFD_CLOEXEC);

    for (unsigned i = 0; i < ROUNDS; i++)
        if (write(file, &byte, 1) != 1)
            atomic_fetch_add(&wrong, 1);
    lseek(file, 0, SEEK_SET);
    return file;
}

static void *hold(void *number)
{
    int held[HELD];
    unsigned char mine = (unsigned char)(uintptr_t)number;

    for (unsigned i = 0; i < HELD; i++)
        descriptor_adopt(file_of((unsigned char)(mine + i)), &held[i]);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned i = round % HELD;
        unsigned char byte = 0;

        if (descriptor_read(&held[i], &byte, 1) != 1 || byte != mine + i)
            atomic_fetch_add(&wrong, 1);
        if (round % 16 == 0) {
            descriptor_release(&held[i]);
            /* The other thread may have stored to it last. */
            if (__atomic_load_n(&held[i], __ATOMIC_RELAXED) != -1)
                atomic_fetch_add(&wrong, 1);
            descriptor_adopt(file_of((unsigned char)(mine + i)), &held[i]);
        }
    }
    for (unsigned i = 0; i < HELD; i++)
        descriptor_release(&held[i]);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* The program's dup2() onto one of our numbers. */
static void take(int program, int number)
{
    sigset_t before;

    signals_block(&before);
    descriptors_hold_limit();
    if (descriptor_is_ours(number) && !descriptor_give_way(number))
        atomic_fetch_add(&wrong, 1);
    if (dup2(program, number) != number)
        atomic_fetch_add(&wrong, 1);
    descriptors_let_limit_go();
    signals_restore(&before);
}

static void test_numbers_are_taken_while_held(void **state)
{
    pthread_t threads[THREADS];
    struct rlimit own;
    int program = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    unsigned before = open_descriptors(), taken = 0;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &own);
    if (own.rlim_max < DESCRIPTOR_TABLE ||
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){LIMIT, own.rlim_max}) != 0)
        skip();
    descriptors_begin();
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){DESCRIPTOR_TABLE, own.rlim_max});
    atomic_store(&running, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, hold, (void *)(1 + i * HELD));
    while (atomic_load(&running) > 0)
        for (int number = LIMIT; number < LIMIT + THREADS * HELD; number++) {
            unsigned char byte = 1;

            take(program, number);
            if (read(number, &byte, 1) != 1 || byte != 0 || close(number) != 0)
                atomic_fetch_add(&wrong, 1);
            taken++;
        }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&wrong), 0);
    assert_true(taken > 0);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(descriptor_next(0), -1);
    close(program);
    setrlimit(RLIMIT_NOFILE, &own);
}

static void *move_to_and_fro(void *unused)
{
    int place;

    for (unsigned round = 0; round < ROUNDS; round++) {
        descriptor_adopt(open("/dev/null", O_RDONLY | O_CLOEXEC), &place);
        descriptor_release(&place);
    }
    atomic_fetch_sub(&running, 1);
    return unused;
}

/* What the kernel answers is the program's limit unless the count of changes says otherwise. */
static void test_changes_of_the_limit_are_counted(void **state)
{
    unsigned before = descriptors_limit_changes(), during;
    struct rlimit own, seen;
    pthread_t thread;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &own);
    if (own.rlim_max < DESCRIPTOR_TABLE ||
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){LIMIT, own.rlim_max}) != 0)
        skip();
    atomic_store(&running, 1);
    pthread_create(&thread, NULL, move_to_and_fro, NULL);
    while (atomic_load(&running) > 0) {
        during = descriptors_limit_changes();
        getrlimit(RLIMIT_NOFILE, &seen);
        if (during % 2 == 0 && during == descriptors_limit_changes())
            assert_int_equal(seen.rlim_cur, LIMIT);
    }
    pthread_join(thread, NULL);
    assert_true(descriptors_limit_changes() >= before + 2 * ROUNDS);
    assert_int_equal(descriptors_limit_changes() % 2, 0);
    setrlimit(RLIMIT_NOFILE, &own);
}

/* A place that was used again keeps what it has now when its old number is wanted. */
static void test_a_forgotten_number(void **state)
{
    int place, first, second;
    sigset_t before;

    (void)state;
    descriptor_adopt(file_of(1), &place);
    first = place;
    descriptor_adopt(file_of(2), &place);
    second = place;
    signals_block(&before);
    descriptors_hold_limit();
    assert_true(descriptor_give_way(first));
    descriptors_let_limit_go();
    signals_restore(&before);
    assert_int_equal(place, second);
    assert_false(descriptor_is_ours(first));
    descriptor_release(&place);
    assert_int_equal(descriptor_next(0), -1);
}

/* Nothing but the profile's own closes it, and it does not move by itself. */
static void test_the_profile(void **state)
{
    int profile = descriptor_adopt_profile(file_of(1)), other = profile;

    (void)state;
    descriptor_release(&other);
    assert_true(descriptor_is_ours(profile));
    assert_false(descriptor_give_way(profile));
    descriptor_release_profile(profile);
    assert_false(descriptor_is_ours(profile));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_taken_while_held),
        cmocka_unit_test(test_changes_of_the_limit_are_counted),
        cmocka_unit_test(test_a_forgotten_number),
        cmocka_unit_test(test_the_profile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
