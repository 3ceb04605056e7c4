/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in for a PMU with IBS or PEBS, preloaded beside libreuse.so, whose system calls it
 * answers: the events of two made-up types become the task clock, so that everything that the
 * engine pmu does in the kernel really happens there, with accesses counted as nanoseconds times a
 * rate.
 *
 *   raw   Arm's LD_SPEC (70) and ST_SPEC (71), which sample and count
 *   4242  samples     ibs_op, or Intel's ALL_LOADS (81d0: two of three accesses) and ALL_STORES
 * (82d0). In the self-test (no signals): records of the known loop, byte for byte as hardware and
 * kernel would leave them; after that: the task clock 4243  counts      AMD's LS_DISPATCH: 0329
 * counts accesses, 0429 nothing
 *
 * PMU_STAND_IN_ARRAY: place of the self-test's array in libreuse.so (hexadecimal).
 * PMU_STAND_IN_RATE: accesses per 1000 ns of CPU time, default 1000.
 * PMU_STAND_IN_LOST: if set, the ring says at the self-test's end that records were lost.
 * PMU_STAND_IN_REFUSE: "ring": no memory may be locked; "busy": the PMU is taken.
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
    COUNTS_LOADS = 0x81d0,
    COUNTS_STORES = 0x82d0,
    ARM_LOADS = 0x70,
    ARM_STORES = 0x71,
    PAGE = 4096,
    RING = 4 * PAGE,
    DESCRIPTORS = 1 << 16,
    /* The self-test's loop: 60 passes over 4096 words, three in each step. */
    TEST_ACCESSES = 60 * 4095,
    TEST_PERIOD = 4000,
};

/* What a descriptor stands for, and how many thirds of all accesses it counts. */
struct role {
    bool known, test, samples;
    unsigned char thirds, reads;
};
static struct role roles[DESCRIPTORS];
static bool testing;
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

static struct role *role_of(long descriptor)
{
    static struct role none;

    return descriptor >= 0 && descriptor < DESCRIPTORS ? &roles[descriptor] : &none;
}

static long with_role(long descriptor, struct role role)
{
    if (descriptor >= 0)
        *role_of(descriptor) = role;
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

static unsigned char thirds_of(const struct perf_event_attr *attributes)
{
    switch (attributes->config) {
    case COUNTS_LOADS:
    case ARM_LOADS:
        return 2;
    case COUNTS_STORES:
    case ARM_STORES:
        return 1;
    case COUNTS_ACCESSES:
        return 3;
    default:
        return attributes->type == TYPE_SAMPLER ? 3 : 0; /* ibs_op: operations, as many */
    }
}

static uint64_t nanoseconds(uint64_t accesses, unsigned thirds)
{
    return accesses * 3000 / (number_from("PMU_STAND_IN_RATE", 10, 1000) * thirds);
}

static bool refuses(const char *what)
{
    const char *refused = getenv("PMU_STAND_IN_REFUSE");

    return refused && strcmp(refused, what) == 0;
}

static long open_event(const struct perf_event_attr *given, const long *a)
{
    struct perf_event_attr attributes = *given;
    struct role role = {
        .known = true, .samples = given->type != TYPE_COUNTER, .thirds = thirds_of(given)};
    long arguments[6];

    memcpy(arguments, a, sizeof arguments);
    if (refuses("busy"))
        return -EBUSY;
    if (role.samples) {
        testing = !given->sigtrap;
        sample_type = given->sample_type;
    }
    role.test = testing;
    if (testing)
        return with_role(memory_file(), role);
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = role.thirds ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_DUMMY;
    attributes.config1 = attributes.config2 = 0;
    attributes.precise_ip = 0;
    if (role.samples)
        attributes.sample_period = nanoseconds(given->sample_period, role.thirds);
    arguments[0] = (long)&attributes;
    return with_role(kernel(SYS_perf_event_open, arguments), role);
}

static int find_library(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    if (!strstr(info->dlpi_name, "libreuse.so"))
        return 0;
    *(uint64_t *)base = info->dlpi_addr;
    return 1;
}

/* What an honest unit would have left of the loop: loads, stores or both. */
static void fill_ring(long descriptor, unsigned thirds)
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

        if ((thirds == 2 && which == 2) || (thirds == 1 && which != 2))
            continue;
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

        head += sample_type & PERF_SAMPLE_RAW
                    ? encode_ibs(&layout, 0xbff, &record, data + head, RING - head)
                    : encode_pebs(&layout, &record, data + head, RING - head);
    }
    if (getenv("PMU_STAND_IN_LOST")) {
        struct perf_sample identity = {0};

        head += encode_perf_lost(&layout, &identity, 17, data + head, RING - head);
    }
    page->data_head = head;
    const long unmap[6] = {(long)page, PAGE + RING};
    kernel(SYS_munmap, unmap);
}

static long read_counter(struct role *role, const long *a)
{
    uint64_t values[3] = {0, 1000, 1000};
    long result = sizeof values;

    if (role->test) {
        /* before and after the loop */
        values[0] = role->reads++ ? (uint64_t)TEST_ACCESSES / 3 * role->thirds : 0;
    } else {
        result = kernel(SYS_read, a);
        memcpy(values, (void *)a[1], sizeof values);
        values[0] = values[0] * number_from("PMU_STAND_IN_RATE", 10, 1000) / 3000 * role->thirds;
    }
    if (result > 0)
        memcpy((void *)a[1], values, sizeof values);
    return result;
}

static long control(long descriptor, const long *a)
{
    const struct role *role = role_of(descriptor);
    uint64_t period;
    long arguments[6];

    memcpy(arguments, a, sizeof arguments);
    if (role->known && role->test) {
        if (role->samples && a[1] == PERF_EVENT_IOC_DISABLE)
            fill_ring(descriptor, role->thirds);
        return 0;
    }
    if (role->known && a[1] == PERF_EVENT_IOC_PERIOD) {
        period = nanoseconds(*(uint64_t *)a[2], role->thirds);
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
        if (attributes->type == TYPE_SAMPLER || attributes->type == TYPE_COUNTER ||
            attributes->type == PERF_TYPE_RAW)
            return open_event(attributes, a);
        break;
    case SYS_ioctl:
        return control(a[0], a);
    case SYS_read:
        if (role_of(a[0])->known && a[2] == 24)
            return read_counter(role_of(a[0]), a);
        break;
    case SYS_mmap:
        if (role_of(a[4])->samples && refuses("ring"))
            return -EPERM;
        break;
    case SYS_fcntl:
        result = kernel(number, a);
        if (a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC)
            with_role(result, *role_of(a[0]));
        return result;
    case SYS_close:
        with_role(a[0], (struct role){0});
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
