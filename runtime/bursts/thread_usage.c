/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/thread_usage.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "interposition/descriptors.h"
#include "own/own_calls.h"
#include "own/raw_call.h"
#include "own/small_file.h"
#include "perf_events/timebase.h"
#include "recording/tape.h"

#include "signal_safe.h"

enum {
    PAGE = 4096,
    REFUSED = -2, /* a file, for good */
    TELLING = 8,  /* faults that say what one costs, at least */
    PARTS = 4,    /* of what is touched: the second fastest tells, as others were interrupted */
};

static _Atomic uint64_t fault_ns; /* as the last memory that was touched had it */

static uint64_t nanoseconds(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

struct thread_usage thread_usage_now(void)
{
    struct rusage usage = {0};

    if (!tape_supplies())
        raw_call(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0, 0, 0);
    return (struct thread_usage){
        .switches = tape_value(TAPE_COUNT, (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw),
        .faults = tape_value(TAPE_COUNT, (uint64_t)usage.ru_minflt),
        .user_ns = tape_value(TAPE_COUNT, nanoseconds(&usage.ru_utime)),
        .kernel_ns = tape_value(TAPE_COUNT, nanoseconds(&usage.ru_stime)),
    };
}

static void open_calls(int *file)
{
    int opened = tape_supplies() ? -1 : open("/proc/thread-self/io", O_RDONLY | O_CLOEXEC);

    if (descriptor_adopt((int)tape_value(TAPE_CALL, (uint64_t)opened), file) < 0)
        *file = REFUSED;
}

/* What proc(5) says of the thread's reading and writing; "" where it does not. */
static void read_calls(int *file, char *text, size_t size)
{
    long length = 0;

    if (*file == -1)
        open_calls(file);
    if (*file >= 0 && !tape_supplies())
        length = descriptor_read_at(file, text, size - 1, 0);
    text[length > 0 ? length : 0] = '\0';
}

bool thread_usage_calls(int *file, uint64_t calls[PROGRESS_CALL_COUNTS])
{
    struct own_calls ours;
    char text[256];
    bool known;

    read_calls(file, text, sizeof text);
    /* The reading just made is not counted yet in what it read. */
    ours = own_calls_now();
    known = text[0] != '\0';

    known = tape_value(TAPE_COUNT, known);
    calls[PROGRESS_READ_CALLS] = tape_value(
        TAPE_COUNT, small_file_number(small_file_field(text, "syscr:")) - (ours.reads - 1));
    calls[PROGRESS_WRITE_CALLS] =
        tape_value(TAPE_COUNT, small_file_number(small_file_field(text, "syscw:")) - ours.writes);
    return known;
}

unsigned thread_usage_counts(uint64_t number)
{
    const unsigned reads = 1U << PROGRESS_READ_CALLS, writes = 1U << PROGRESS_WRITE_CALLS;

    switch (number) {
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
    case SYS_preadv:
    case SYS_preadv2:
        return reads;
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
        return writes;
    case SYS_sendfile:
    case SYS_copy_file_range:
        return reads | writes;
    default:
        return 0;
    }
}

/* Touches as many pages as a part has. Their CPU time, ns. */
static uint64_t touch_part(volatile unsigned char *at, size_t bytes)
{
    uint64_t before = thread_cpu_ns();

    for (size_t i = 0; i < bytes; i += PAGE)
        at[i] = 0;
    return thread_cpu_ns() - before;
}

void thread_usage_touch(void *memory, size_t bytes)
{
    uint64_t faults = thread_usage_now().faults, least = UINT64_MAX, second = UINT64_MAX;

    for (size_t i = 0; i < PARTS; i++) {
        uint64_t taken = touch_part((unsigned char *)memory + i * (bytes / PARTS), bytes / PARTS);

        second = taken < least ? least : taken < second ? taken : second;
        least = taken < least ? taken : least;
    }
    faults = thread_usage_now().faults - faults;
    if (faults >= TELLING)
        atomic_store(&fault_ns, second * PARTS / faults);
}

uint64_t thread_usage_fault_ns(void)
{
    return atomic_load(&fault_ns);
}
