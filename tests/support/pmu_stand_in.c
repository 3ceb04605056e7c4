/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in for an AMD PMU with IBS, preloaded beside libreuse.so, whose system calls it answers:
 * the events of two made-up types become the task clock, so that everything that the engine pmu
 * does in the kernel really happens there, with accesses counted as nanoseconds times a rate.
 *
 *   4242  ibs_op      in the self-test (no signals): records of the known loop, byte for byte as
 *                     hardware and kernel would leave them; after that: the task clock
 *   4243  the core    LS_DISPATCH 0329 counts accesses, 0429 nothing
 *
 * PMU_STAND_IN_ARRAY: place of the self-test's array in libreuse.so (hexadecimal).
 * PMU_STAND_IN_RATE: accesses per 1000 ns of CPU time, default 1000.
 * PMU_STAND_IN_LOST: if set, the ring says at the self-test's end that records were lost.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmu/encode.h"
#include "sampling/random.h"

enum {
    TYPE_SAMPLER = 4242,
    TYPE_COUNTER = 4243,
    COUNTS_ACCESSES = 0x329,
    PAGE = 4096,
    RING = 8 * PAGE,
    DESCRIPTORS = 1 << 16,
    /* The self-test's loop: 60 passes over 4096 words, three in each step. */
    TEST_ACCESSES = 60 * 4095,
    TEST_PERIOD = 2000,
};

/* What a descriptor stands for. */
enum role { NONE, TEST_SAMPLER, TEST_COUNTER, TEST_ZERO, CLOCK_COUNTER };
static unsigned char roles[DESCRIPTORS];
static bool testing, counted;
static uint64_t sample_type;

long syscall(long number, ...);

static long kernel(long number, const long *a)
{
    register long r10 __asm__("r10") = a[3];
    register long r8 __asm__("r8") = a[4];
    register long r9 __asm__("r9") = a[5];
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static enum role role_of(long descriptor)
{
    return descriptor >= 0 && descriptor < DESCRIPTORS ? (enum role)roles[descriptor] : NONE;
}

static long with_role(long descriptor, enum role role)
{
    if (descriptor >= 0 && descriptor < DESCRIPTORS)
        roles[descriptor] = (unsigned char)role;
    return descriptor;
}

static uint64_t number_from(const char *variable, int base, uint64_t fallback)
{
    const char *text = getenv(variable);

    return text ? strtoull(text, NULL, base) : fallback;
}

static long memory_file(void)
{
    const long arguments[6] = {(long)"pmu", MFD_CLOEXEC};
    const long size[6] = {kernel(SYS_memfd_create, arguments), PAGE + RING};

    return size[0] >= 0 && kernel(SYS_ftruncate, size) == 0 ? size[0] : -ENOSPC;
}

static long open_event(const struct perf_event_attr *given, const long *a)
{
    struct perf_event_attr attributes = *given;
    long arguments[6];

    memcpy(arguments, a, sizeof arguments);
    if (given->type == TYPE_SAMPLER) {
        testing = !given->sigtrap;
        sample_type = given->sample_type;
        counted = false;
        if (testing)
            return with_role(memory_file(), TEST_SAMPLER);
    } else if (testing) {
        return with_role(memory_file(),
                         given->config == COUNTS_ACCESSES ? TEST_COUNTER : TEST_ZERO);
    }
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = given->type == TYPE_SAMPLER || given->config == COUNTS_ACCESSES
                            ? PERF_COUNT_SW_TASK_CLOCK
                            : PERF_COUNT_SW_DUMMY;
    attributes.config1 = attributes.config2 = 0;
    arguments[0] = (long)&attributes;
    return with_role(kernel(SYS_perf_event_open, arguments),
                     given->type == TYPE_COUNTER && given->config == COUNTS_ACCESSES ? CLOCK_COUNTER
                                                                                     : NONE);
}

static int find_library(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    if (!strstr(info->dlpi_name, "libreuse.so"))
        return 0;
    *(uint64_t *)base = info->dlpi_addr;
    return 1;
}

/* What an honest unit would have left of the loop. */
static void fill_ring(long descriptor)
{
    const long arguments[6] = {0, PAGE + RING, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0};
    struct perf_event_mmap_page *page = (void *)kernel(SYS_mmap, arguments);
    struct perf_layout layout = {.sample_type = sample_type};
    uint8_t *data = (uint8_t *)page + PAGE;
    struct random random;
    uint64_t base = 0, head = 0;

    dl_iterate_phdr(find_library, &base);
    base += number_from("PMU_STAND_IN_ARRAY", 16, 0);
    random_seed(&random, 1);
    for (unsigned i = 0; i < TEST_ACCESSES / TEST_PERIOD; i++) {
        unsigned which = random_below(&random, 3);
        struct access_record record = {
            .ip = 0x401000,
            .address = base + 8 * (3 * random_below(&random, 1365) + which),
            .flags = PMU_HAS_IP | PMU_EXACT_IP | PMU_HAS_ADDRESS,
            .kinds = which == 2 ? ACCESS_STORE : ACCESS_LOAD,
            .width = 8,
            .level = LEVEL_L1,
            .translation = TRANSLATION_L1,
            .privilege = PRIVILEGE_USER,
        };

        head += encode_ibs(&layout, 0xbff, &record, data + head, RING - head);
    }
    if (getenv("PMU_STAND_IN_LOST")) {
        struct perf_sample identity = {0};

        head += encode_perf_lost(&layout, &identity, 17, data + head, RING - head);
    }
    page->data_head = head;
    const long unmap[6] = {(long)page, PAGE + RING};
    kernel(SYS_munmap, unmap);
}

static long read_counter(enum role role, const long *a)
{
    uint64_t values[3] = {0, 1000, 1000};
    long result = sizeof values;

    if (role == CLOCK_COUNTER) {
        result = kernel(SYS_read, a);
        memcpy(values, (void *)a[1], sizeof values);
        values[0] = values[0] * number_from("PMU_STAND_IN_RATE", 10, 1000) / 1000;
    } else if (role == TEST_COUNTER) {
        values[0] = counted ? TEST_ACCESSES : 0;
        counted = true;
    }
    if (result > 0)
        memcpy((void *)a[1], values, sizeof values);
    return result;
}

/* The period is in operations: as many as accesses. */
static long control(long descriptor, const long *a)
{
    enum role role = role_of(descriptor);
    uint64_t period;
    long arguments[6];

    if (role == TEST_SAMPLER && a[1] == PERF_EVENT_IOC_DISABLE)
        fill_ring(descriptor);
    if (role == TEST_SAMPLER || role == TEST_COUNTER || role == TEST_ZERO)
        return 0;
    memcpy(arguments, a, sizeof arguments);
    if (a[1] == PERF_EVENT_IOC_PERIOD && !testing) {
        period = *(uint64_t *)a[2] * 1000 / number_from("PMU_STAND_IN_RATE", 10, 1000);
        arguments[2] = (long)&period;
    }
    return kernel(SYS_ioctl, arguments);
}

static long answer(long number, const long *a)
{
    const struct perf_event_attr *attributes = (const void *)a[0];
    long result;

    switch (number) {
    case SYS_perf_event_open:
        if (attributes->type == TYPE_SAMPLER || attributes->type == TYPE_COUNTER)
            return open_event(attributes, a);
        break;
    case SYS_ioctl:
        return control(a[0], a);
    case SYS_read:
        if (role_of(a[0]) != NONE && a[2] == 24)
            return read_counter(role_of(a[0]), a);
        break;
    case SYS_fcntl:
        result = kernel(number, a);
        if (a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC)
            with_role(result, role_of(a[0]));
        return result;
    case SYS_close:
        with_role(a[0], NONE);
        break;
    default:
        break;
    }
    return kernel(number, a);
}

long syscall(long number, ...)
{
    long arguments[6], result;
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    result = answer(number, arguments);
    if (result < 0 && result >= -4095) {
        errno = (int)-result;
        return -1;
    }
    return result;
}
