/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The writer under what a target does to it: many threads and signal handlers at once, a full disk,
 * a file size limit, SIGKILL, descriptors closed and reused.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/profile_builder.h"
#include "support/scratch_file.h"

static unsigned char buffer[PROFILE_WRITER_BUFFER];
static struct profile_writer writer;

static void open_writer(const char *name, uint64_t interval_ns)
{
    int descriptor = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(descriptor >= 0);
    profile_writer_open(&writer, descriptor, buffer, interval_ns);
}

static int begin(void **state)
{
    (void)state;
    open_writer(scratch_path, UINT64_MAX);
    return writer.state != WRITER_OPEN;
}

static bool append_sample(uint64_t id, uint64_t now_ns)
{
    struct record_sample sample = {.sample_id = id, .address = id * 3};
    return profile_writer_append(&writer, RECORD_SAMPLE, &sample, sizeof(sample), NULL, 0, now_ns);
}

enum { THREADS = 6, PER_THREAD = 20000 };

static void *append_many(void *argument)
{
    uint64_t thread = (uint64_t)(uintptr_t)argument;
    uintptr_t appended = 0;
    for (uint64_t i = 0; i < PER_THREAD; i++)
        appended += append_sample(1 + thread * PER_THREAD + i, 0);
    return (void *)appended;
}

static void test_threads_append_at_once(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    size_t appended = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, append_many, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        appended += (uintptr_t)result;
    }
    profile_writer_close(&writer, 0);
    assert_int_equal(writer.state, WRITER_CLOSED);
    assert_int_equal(appended + writer.lost_records, THREADS * PER_THREAD);

    struct profile *profile = profile_builder_load(scratch_path);
    assert_int_equal(profile->dropped_bytes, 0);
    assert_int_equal(profile->samples.count, appended);
    /* Every sample once and whole, and those of one thread in their order. */
    uint64_t last[THREADS] = {0};
    for (size_t i = 0; i < profile->samples.count; i++) {
        const struct record_sample *sample = &profile->samples.items[i];
        uint64_t thread = (sample->sample_id - 1) / PER_THREAD;
        assert_true(thread < THREADS && sample->sample_id > last[thread]);
        assert_int_equal(sample->address, sample->sample_id * 3);
        last[thread] = sample->sample_id;
    }
    assert_true(profile->lost_records <= writer.lost_records);
    profile_free(profile);
}

/* Closed under the feet of the threads: what was accepted is in the file, the rest is counted. */
static void test_close_while_threads_append(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        pthread_t threads[THREADS];
        size_t appended = 0;
        open_writer(scratch_path, UINT64_MAX);
        for (uintptr_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, append_many, (void *)i), 0);
        struct timespec wait = {.tv_nsec = 100000L * round};
        nanosleep(&wait, NULL);
        profile_writer_close(&writer, 0);
        for (int i = 0; i < THREADS; i++) {
            void *result;
            assert_int_equal(pthread_join(threads[i], &result), 0);
            appended += (uintptr_t)result;
        }
        struct profile *profile = profile_builder_load(scratch_path);
        assert_int_equal(writer.state, WRITER_CLOSED);
        assert_int_equal(profile->dropped_bytes, 0);
        assert_int_equal(profile->samples.count, appended);
        assert_int_equal(appended + writer.lost_records, THREADS * PER_THREAD);
        profile_free(profile);
    }
}

static volatile sig_atomic_t handled;
static volatile uint64_t handler_appended;

static void append_in_handler(int signal)
{
    (void)signal;
    handled++;
    handler_appended += append_sample(1000000 + (uint64_t)handled, 0);
}

static void test_signal_handler_appends(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = append_in_handler};
    struct itimerval every = {.it_interval = {.tv_usec = 100}, .it_value = {.tv_usec = 100}};
    struct itimerval never = {.it_value = {.tv_sec = 0}};
    struct timespec now;
    struct timespec start;
    sigset_t alarms;
    uint64_t appended = 0;
    uint64_t id = 0;
    sigfillset(&action.sa_mask);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    handled = 0;
    handler_appended = 0;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        /* As the contract asks: what could re-enter is blocked around an append. */
        pthread_sigmask(SIG_BLOCK, &alarms, NULL);
        appended += append_sample(++id, 0);
        pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (id < 200000 && now.tv_sec - start.tv_sec < 2);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    (void)signal(SIGALRM, SIG_IGN); /* drops one that is pending */
    profile_writer_close(&writer, 0);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    assert_true(handled > 10);
    assert_int_equal(appended, id);
    assert_int_equal(handler_appended, handled);
    struct profile *profile = profile_builder_load(scratch_path);
    assert_int_equal(profile->samples.count, appended + handler_appended);
    assert_int_equal(profile->lost_records, 0);
    assert_int_equal(profile->dropped_bytes, 0);
    profile_free(profile);
}

/* Appends until the writer refuses; returns how many it took. */
static uint64_t append_until_full(uint64_t most)
{
    uint64_t taken = 0;
    while (taken < most && append_sample(taken + 1, taken + 1))
        taken++;
    return taken;
}

static void check_cut_file(const char *name, uint64_t taken)
{
    struct stat status;
    struct profile *profile = profile_builder_load(name);
    assert_int_equal(profile->dropped_bytes, 0);
    assert_false(profile->complete);
    assert_true(profile->samples.count > 0);
    assert_int_equal(profile->samples.count + writer.lost_records, taken + 1);
    for (size_t i = 0; i < profile->samples.count; i++)
        assert_int_equal(profile->samples.items[i].sample_id, i + 1);
    assert_int_equal(stat(name, &status), 0);
    assert_int_equal(status.st_size, writer.written_bytes);
    profile_free(profile);
}

static void test_full_disk(void **state)
{
    (void)state;
    char directory[] = "/tmp/reuse-full-XXXXXX";
    char name[64];
    assert_non_null(mkdtemp(directory));
    if (mount("none", directory, "tmpfs", 0, "size=65536") != 0) {
        rmdir(directory);
        print_message("mounting a small file system needs root\n");
        skip();
    }
    (void)snprintf(name, sizeof(name), "%s/x.rprof", directory);
    open_writer(name, UINT64_MAX);
    assert_int_equal(writer.state, WRITER_OPEN);
    uint64_t taken = append_until_full(100000);
    assert_int_equal(writer.state, WRITER_DISK_FULL);
    assert_int_equal(writer.error, ENOSPC);
    assert_false(append_sample(1, 0));
    assert_false(profile_writer_flush(&writer, 0));
    writer.lost_records--; /* the one that was tried in vain just now */
    profile_writer_close(&writer, 0);
    assert_int_equal(writer.state, WRITER_DISK_FULL);
    check_cut_file(name, taken);
    assert_int_equal(umount(directory), 0);
    assert_int_equal(rmdir(directory), 0);
}

static void test_device_full(void **state)
{
    (void)state;
    open_writer("/dev/full", UINT64_MAX);
    assert_int_equal(writer.state, WRITER_DISK_FULL);
    assert_int_equal(writer.error, ENOSPC);
    assert_false(append_sample(1, 0));
    assert_int_equal(writer.lost_records, 1);
    profile_writer_close(&writer, 0);
}

/* In a child, because SIGXFSZ would end the process: that it does not is the test. */
static void test_file_size_limit(void **state)
{
    (void)state;
    /* The smallest one holds the schema and some samples. */
    for (rlim_t limit = 30000; limit <= 320000; limit += 57001) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct rlimit file_size = {.rlim_cur = limit, .rlim_max = limit};
            (void)signal(SIGXFSZ, SIG_DFL);
            if (setrlimit(RLIMIT_FSIZE, &file_size) != 0)
                _exit(10);
            open_writer(scratch_path, UINT64_MAX);
            uint64_t taken = append_until_full(100000);
            if (writer.state != WRITER_DISK_FULL || writer.error != EFBIG)
                _exit(11);
            if (writer.written_bytes > limit || writer.written_bytes + 1024 < limit)
                _exit(12);
            check_cut_file(scratch_path, taken);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    profile_writer_close(&writer, 0);
}

/* No room even for the file header: nothing is left that could be taken for a profile. */
static void test_file_size_limit_below_header(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit file_size = {.rlim_cur = 10, .rlim_max = 10};
        struct stat status;
        if (setrlimit(RLIMIT_FSIZE, &file_size) != 0)
            _exit(10);
        open_writer(scratch_path, UINT64_MAX);
        _exit(writer.state == WRITER_DISK_FULL && stat(scratch_path, &status) == 0 &&
                      status.st_size == 0
                  ? 0
                  : 11);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    profile_writer_close(&writer, 0);
}

static void test_killed_while_writing(void **state)
{
    (void)state;
    profile_writer_close(&writer, 0);
    for (int round = 0; round < 10; round++) {
        int ready[2];
        assert_int_equal(pipe(ready), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            open_writer(scratch_path, 1); /* now grows: every append is written at once */
            for (uint64_t id = 1;; id++) {
                (void)append_sample(id, id);
                if (id == 100)
                    (void)!write(ready[1], "x", 1);
            }
        }
        char byte;
        assert_int_equal(read(ready[0], &byte, 1), 1);
        struct timespec wait = {.tv_nsec = 1000 * 1000 + round * 321 * 1000};
        nanosleep(&wait, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        close(ready[0]);
        close(ready[1]);
        struct profile *profile = profile_builder_load(scratch_path);
        assert_true(profile->samples.count >= 99);
        assert_true(profile->dropped_bytes < 1024);
        for (size_t i = 0; i < profile->samples.count; i++)
            assert_int_equal(profile->samples.items[i].sample_id, i + 1);
        profile_free(profile);
    }
}

static void test_flush_interval(void **state)
{
    (void)state;
    profile_writer_close(&writer, 0);
    open_writer(scratch_path, 1000);
    assert_true(append_sample(1, 1000)); /* due: the last flush was at 0 */
    assert_true(append_sample(2, 1500));
    assert_true(append_sample(3, 1999));
    assert_true(append_sample(4, 900)); /* a thread whose time was read earlier */
    struct profile *profile = profile_builder_load(scratch_path);
    assert_int_equal(profile->samples.count, 1);
    profile_free(profile);
    assert_true(append_sample(5, 2000));
    profile = profile_builder_load(scratch_path);
    assert_int_equal(profile->samples.count, 5);
    profile_free(profile);
    assert_true(append_sample(6, 2001));
    assert_true(profile_writer_flush(&writer, 2001));
    profile = profile_builder_load(scratch_path);
    assert_int_equal(profile->samples.count, 6);
    profile_free(profile);
    profile_writer_close(&writer, 0);
}

static size_t samples_in_file(void)
{
    struct profile *profile = profile_builder_load(scratch_path);
    size_t count = profile->samples.count;

    profile_free(profile);
    return count;
}

/* Whoever settles leaves nothing behind, long before the interval has passed. */
static void test_settled(void **state)
{
    (void)state;
    profile_writer_close(&writer, 0);
    open_writer(scratch_path, 1000);
    profile_writer_flush(&writer, 0);
    assert_true(append_sample(1, 1));
    assert_int_equal(samples_in_file(), 0);
    profile_writer_settle(&writer, 1);
    assert_int_equal(samples_in_file(), 1);
    /* Another thread appends, and will settle itself: nobody waits for it. */
    assert_true(append_sample(2, 2));
    writer.lock = 1;
    profile_writer_settle(&writer, 2);
    assert_int_equal(samples_in_file(), 1);
    writer.lock = 0;
    writer.writing = 1;
    profile_writer_settle(&writer, 2);
    assert_int_equal(samples_in_file(), 1);
    assert_int_equal(writer.lock, 0);
    writer.writing = 0;
    profile_writer_settle(&writer, 2);
    assert_int_equal(samples_in_file(), 2);
    profile_writer_close(&writer, 0);
}

static void test_errno_is_kept(void **state)
{
    (void)state;
    errno = 77;
    assert_true(append_sample(1, 1));
    assert_int_equal(errno, 77);
    assert_true(profile_writer_flush(&writer, 2));
    assert_int_equal(errno, 77);
    profile_writer_close(&writer, 3);
    assert_int_equal(errno, 77);
    int descriptor = open("/dev/full", O_WRONLY | O_CLOEXEC);
    errno = 77;
    profile_writer_open(&writer, descriptor, buffer, 0);
    assert_int_equal(errno, 77);
    assert_int_equal(writer.state, WRITER_DISK_FULL);
    assert_false(append_sample(1, 1));
    assert_int_equal(errno, 77);
    profile_writer_close(&writer, 3);
    assert_int_equal(errno, 77);
    assert_int_equal(fcntl(descriptor, F_GETFD), -1);
}

/* The program closed our descriptor and opened its own file, which got the same number. */
static void test_reused_descriptor_is_left_alone(void **state)
{
    (void)state;
    char other[] = "/tmp/reuse-other-XXXXXX";
    int descriptor = writer.descriptor;
    assert_true(append_sample(1, 1));
    assert_true(profile_writer_flush(&writer, 1));
    assert_int_equal(close(descriptor), 0);
    assert_int_equal(mkstemp(other), descriptor);
    assert_true(append_sample(2, 2));
    assert_false(profile_writer_flush(&writer, 2));
    assert_int_equal(writer.state, WRITER_FAILED);
    assert_int_equal(writer.error, EBADF);
    assert_int_equal(writer.lost_records, 1);
    profile_writer_close(&writer, 2);
    struct stat status;
    assert_int_equal(fstat(descriptor, &status), 0);
    assert_int_equal(status.st_size, 0);
    assert_int_equal(close(descriptor), 0);
    assert_int_equal(unlink(other), 0);
    struct profile *profile = profile_builder_load(scratch_path);
    assert_int_equal(profile->samples.count, 1);
    profile_free(profile);
}

static void test_moved_descriptor(void **state)
{
    (void)state;
    int moved = fcntl(writer.descriptor, F_DUPFD_CLOEXEC, 100);
    int before = writer.descriptor;
    assert_true(moved >= 100);
    assert_true(append_sample(1, 1));
    profile_writer_set_descriptor(&writer, moved);
    assert_int_equal(close(before), 0);
    assert_true(append_sample(2, 2));
    profile_writer_close(&writer, 3);
    assert_int_equal(writer.state, WRITER_CLOSED);
    assert_int_equal(fcntl(moved, F_GETFD), -1);
    struct profile *profile = profile_builder_load(scratch_path);
    assert_int_equal(profile->samples.count, 2);
    profile_free(profile);
}

static void test_pipe_is_refused(void **state)
{
    (void)state;
    int ends[2];
    profile_writer_close(&writer, 0);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]); /* a write would raise SIGPIPE */
    profile_writer_open(&writer, ends[1], buffer, 0);
    assert_int_equal(writer.state, WRITER_FAILED);
    assert_int_equal(writer.error, ESPIPE);
    assert_false(append_sample(1, 1));
    profile_writer_close(&writer, 0);
    assert_int_equal(fcntl(ends[1], F_GETFD), -1);
}

static void test_longest_record(void **state)
{
    (void)state;
    static char text[PROFILE_WRITER_PAYLOAD_MAX + 1];
    memset(text, 'x', sizeof(text) - 1);
    struct record_note note = {.severity = NOTE_WARNING};
    size_t most = PROFILE_WRITER_PAYLOAD_MAX - sizeof(note);
    assert_true(append_sample(1, 1));
    assert_false(
        profile_writer_append(&writer, RECORD_NOTE, &note, sizeof(note), text, most + 1, 1));
    assert_false(
        profile_writer_append(&writer, RECORD_NOTE, &note, sizeof(note), text, SIZE_MAX, 1));
    assert_true(profile_writer_append(&writer, RECORD_NOTE, &note, sizeof(note), text, most, 1));
    assert_true(append_sample(2, 1));
    assert_int_equal(writer.lost_records, 2);
    profile_writer_close(&writer, 2);
    struct profile *profile = profile_builder_load(scratch_path);
    assert_int_equal(profile->notes.count, 1);
    assert_int_equal(strlen(profile->notes.items[0]->text), most);
    assert_int_equal(profile->samples.count, 2);
    assert_int_equal(profile->lost_records, 2); /* seen in the file, as a gap */
    profile_free(profile);
}

/* A holder of the lock that never comes back costs records, not the target's life. */
static void test_lock_wait_is_bounded(void **state)
{
    (void)state;
    struct timespec start;
    struct timespec end;
    writer.lock = 1;
    clock_gettime(CLOCK_MONOTONIC, &start);
    assert_false(append_sample(1, 1));
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - start.tv_sec < 2);
    assert_int_equal(writer.lost_records, 1);
    writer.lock = 0;
    assert_true(append_sample(2, 1));
    profile_writer_close(&writer, 2);
    struct profile *profile = profile_builder_load(scratch_path);
    assert_int_equal(profile->samples.count, 1);
    assert_int_equal(profile->lost_records, 1);
    profile_free(profile);
}

static void test_never_opened(void **state)
{
    (void)state;
    profile_writer_close(&writer, 0);
    memset(&writer, 0, sizeof(writer));
    assert_false(append_sample(1, 1));
    assert_false(profile_writer_flush(&writer, 1));
    profile_writer_close(&writer, 1);
    profile_writer_open(&writer, -1, buffer, 0);
    assert_int_equal(writer.state, WRITER_FAILED);
    assert_int_equal(writer.error, EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_threads_append_at_once, begin),
        cmocka_unit_test(test_close_while_threads_append),
        cmocka_unit_test_setup(test_signal_handler_appends, begin),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_device_full),
        cmocka_unit_test_setup(test_file_size_limit, begin),
        cmocka_unit_test_setup(test_file_size_limit_below_header, begin),
        cmocka_unit_test_setup(test_killed_while_writing, begin),
        cmocka_unit_test_setup(test_flush_interval, begin),
        cmocka_unit_test_setup(test_settled, begin),
        cmocka_unit_test_setup(test_errno_is_kept, begin),
        cmocka_unit_test_setup(test_reused_descriptor_is_left_alone, begin),
        cmocka_unit_test_setup(test_moved_descriptor, begin),
        cmocka_unit_test_setup(test_pipe_is_refused, begin),
        cmocka_unit_test_setup(test_longest_record, begin),
        cmocka_unit_test_setup(test_lock_wait_is_bounded, begin),
        cmocka_unit_test_setup(test_never_opened, begin),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
