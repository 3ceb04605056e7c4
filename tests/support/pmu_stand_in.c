/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in for a PMU with IBS, PEBS or SPE, preloaded beside libreuse.so, whose system calls it
 * answers: the events of made-up types become the task clock, so that everything that the
 * engine pmu does in the kernel really happens there, with accesses counted as nanoseconds times a
 * rate.
 *
 *   raw   Arm's LD_SPEC (70) and ST_SPEC (71), which sample and count
 *   4242  samples: ibs_op, or Intel's ALL_LOADS (81d0: two of three accesses) and ALL_STORES
 *         (82d0), or its load latencies (01cd), which bring no signal
 *   4243  counts: AMD's LS_DISPATCH: 0329 counts accesses, 0429 nothing
 *   4244  arm_spe_0
 *   4250  the same as 4242, on CPU 0 alone; 4251 on CPU 1: kinds of cores, of which the kernel
 *         gives a thread the events of one at a time. The self-test counts for the first.
 *
 * In the self-test (no signals) their buffers get records of the known loop, byte for byte as
 * hardware and kernel would leave them. After it, buffers of what brings signals are the kernel's,
 * which has no addresses to put in; or, as those of what brings none, get records of accesses to
 * the program's data, if the environment says where that is (pmu_stand_in_records.c).
 *
 * Events that count traffic between levels (src/observe/pmu/level_counters.h), raw ones as
 * PMU_STAND_IN_LEVELS names them: "151=0.125,7f1=0.0625:0.5,412e=silent" gives a code (hexadecimal)
 * so many counts per access, the second part of the time on a counter; silent: it opens and counts
 * nothing; wrong: not what it should. Others are refused.
 *
 * The caches are those below cache/ of the folder that REUSE_PMU_SYSFS names, if it has that.
 *
 * PMU_STAND_IN_ARRAY: place of the self-test's array in libreuse.so (hexadecimal).
 * PMU_STAND_IN_RATE: accesses per 1000 ns of CPU time, default 1000.
 * PMU_STAND_IN_OPERATIONS: operations that SPE counts for each access, default 4.
 * PMU_STAND_IN_PASSES: of the self-test's loop, default 60.
 * PMU_STAND_IN_LOST: if set, the ring says at the self-test's end that records were lost.
 * PMU_STAND_IN_REFUSE: "ring": no memory may be locked; "aux": no AUX area; "witness": no event
 * that brings no signal after the self-test; "busy": the PMU is taken; "threads": other threads
 * than the first get no events; "signals": an event brings none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmu/encode.h"
#include "support/pmu_stand_in.h"

enum {
    TYPE_SAMPLER = 4242,
    TYPE_COUNTER = 4243,
    TYPE_SPE = 4244,
    TYPE_KIND_0 = 4250,
    TYPE_KIND_1 = 4251,
    COUNTS_ACCESSES = 0x329,
    COUNTS_LOADS = 0x81d0,
    COUNTS_STORES = 0x82d0,
    LOAD_LATENCIES = 0x1cd,
    ARM_LOADS = 0x70,
    ARM_STORES = 0x71,
    DESCRIPTORS = 1 << 16,
    /* The task clock goes on in handlers and in the kernel, which the counters that it stands for
     * do not, and a virtual machine may take 0.1 ms for each interrupt. In the trial of signals
     * several have to come in some 3 ms; in a run, handlers have to end before the next one. */
    PERIOD_LEAST_NS = 150 * 1000,
    PERIOD_LEAST_IN_RUN_NS = 1000 * 1000,
};

/* What a descriptor stands for, and how many thirds of all accesses it counts. */
struct role {
    bool level, trial; /* counts traffic of a level; in the trial of known lines */
    double per_access, running;
    bool known, test, samples;
    bool silent;     /* brings no signal */
    bool other_kind; /* of core than the self-test's */
    unsigned char thirds, reads;
    struct maker *maker; /* of its buffers; NULL: the kernel */
};
static struct role roles[DESCRIPTORS];
static bool running; /* the self-test is over */

long syscall(long number, ...);

long stand_in_kernel(long number, const long a[6])
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

uint64_t stand_in_number(const char *variable, int base, uint64_t fallback)
{
    const char *text = getenv(variable);

    return text ? strtoull(text, NULL, base) : fallback;
}

uint64_t stand_in_test_accesses(void)
{
    return stand_in_number("PMU_STAND_IN_PASSES", 10, 60) * 4095;
}

static unsigned char thirds_of(const struct perf_event_attr *attributes)
{
    switch (attributes->config) {
    case COUNTS_LOADS:
    case LOAD_LATENCIES:
    case ARM_LOADS:
        return 2;
    case COUNTS_STORES:
    case ARM_STORES:
        return 1;
    case COUNTS_ACCESSES:
        return 3;
    default:
        /* ibs_op: operations, as many */
        return attributes->type == TYPE_SAMPLER || attributes->type == TYPE_SPE ? 3 : 0;
    }
}

static uint64_t nanoseconds(uint64_t accesses, unsigned thirds, uint64_t least)
{
    uint64_t period = accesses * 3000 / (stand_in_number("PMU_STAND_IN_RATE", 10, 1000) * thirds);

    return period < least ? least : period;
}

static bool refuses(const char *what)
{
    const char *refused = getenv("PMU_STAND_IN_REFUSE");

    return refused && strcmp(refused, what) == 0;
}

static enum made_unit unit_of(const struct perf_event_attr *attributes)
{
    if (attributes->type == TYPE_SPE)
        return MADE_SPE;
    switch (attributes->config) {
    case COUNTS_LOADS:
    case COUNTS_STORES:
    case ARM_LOADS:
    case ARM_STORES:
        return MADE_COUNTS;
    case LOAD_LATENCIES:
        return MADE_LATENCIES;
    default:
        return MADE_IBS;
    }
}

enum { TRIAL_LINES = 1024, PER_SILENT = -1, PER_WRONG = -2 };

/* An event of PMU_STAND_IN_LEVELS; false: it is not among them. */
static bool find_level(uint64_t config, struct role *role)
{
    const char *at = getenv("PMU_STAND_IN_LEVELS");

    for (; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char *value;

        if (strtoull(at, &value, 16) != config || *value++ != '=')
            continue;
        *role = (struct role){.level = true, .running = 1};
        if (strncmp(value, "silent", 6) == 0)
            role->per_access = PER_SILENT;
        else if (strncmp(value, "wrong", 5) == 0)
            role->per_access = PER_WRONG;
        else
            role->per_access = strtod(value, &value);
        if (*value == ':')
            role->running = strtod(value + 1, NULL);
        return true;
    }
    return false;
}

static long open_level(const struct perf_event_attr *given, const long *a)
{
    struct perf_event_attr attributes = *given;
    struct role role;
    long arguments[6];

    if (!find_level(given->config, &role))
        return -ENOENT;
    role.trial = !given->inherit;
    memcpy(arguments, a, sizeof arguments);
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    arguments[0] = (long)&attributes;
    return with_role(stand_in_kernel(SYS_perf_event_open, arguments), role);
}

static long read_level(const struct role *role, const long *a)
{
    uint64_t values[3];
    long result = stand_in_kernel(SYS_read, a);
    double accesses;

    if (result != sizeof values)
        return result;
    memcpy(values, (void *)a[1], sizeof values);
    accesses = (double)values[0] * (double)stand_in_number("PMU_STAND_IN_RATE", 10, 1000) / 1000;
    values[0] = role->per_access == PER_SILENT  ? 0
                : role->per_access == PER_WRONG ? 3
                : role->trial                   ? TRIAL_LINES
                              : (uint64_t)(accesses * role->per_access * role->running);
    values[2] = (uint64_t)((double)values[2] * role->running);
    memcpy((void *)a[1], values, sizeof values);
    return result;
}

/* Raw events that neither sample nor count accesses. */
static bool is_level(const struct perf_event_attr *attributes)
{
    return attributes->type == PERF_TYPE_RAW && attributes->sample_period == 0 &&
           attributes->config != ARM_LOADS && attributes->config != ARM_STORES;
}

static bool is_kind_of_core(unsigned type)
{
    return type == TYPE_KIND_0 || type == TYPE_KIND_1;
}

static long open_event(const struct perf_event_attr *given, const long *a)
{
    struct perf_event_attr attributes = *given;
    struct role role = {
        .known = true, .samples = given->sample_period > 0, .thirds = thirds_of(given)};
    long arguments[6];

    memcpy(arguments, a, sizeof arguments);
    role.other_kind = given->type == TYPE_KIND_1;
    if (is_kind_of_core(given->type))
        arguments[2] = given->type - TYPE_KIND_0;
    role.silent = role.samples && !given->sigtrap;
    running |= given->sigtrap;
    role.test = !running;
    if (refuses("busy") || (role.silent && running && refuses("witness")))
        return -EBUSY;
    if (refuses("threads") && stand_in_kernel(SYS_gettid, a) != stand_in_kernel(SYS_getpid, a))
        return -EBUSY;
    if (role.samples && (role.silent || getenv("PMU_STAND_IN_DATA"))) {
        role.maker = maker_create(unit_of(given), role.thirds, given);
        if (!role.maker)
            return -ENOMEM;
    }
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config =
        role.thirds && !role.silent ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_DUMMY;
    attributes.config1 = attributes.config2 = 0;
    attributes.precise_ip = 0;
    if (role.silent || refuses("signals"))
        attributes.sample_period = 0;
    else if (role.samples)
        attributes.sample_period = nanoseconds(given->sample_period, role.thirds, PERIOD_LEAST_NS);
    arguments[0] = (long)&attributes;
    return with_role(stand_in_kernel(SYS_perf_event_open, arguments), role);
}

static void tell_lost(struct maker *maker)
{
    struct perf_layout layout = {.sample_type = maker->sample_type};
    struct perf_sample identity = {0};
    uint8_t *data = (uint8_t *)maker->page + STAND_IN_PAGE;
    uint64_t head = maker->page->data_head;

    maker->page->data_head +=
        encode_perf_lost(&layout, &identity, 17, data + head, STAND_IN_RING - head);
}

static long read_counter(struct role *role, const long *a)
{
    uint64_t values[3] = {0, 1000, 1000};
    long result = sizeof values;

    if (role->test) {
        /* before and after the loop */
        values[0] =
            role->reads++ && !role->other_kind ? stand_in_test_accesses() / 3 * role->thirds : 0;
    } else {
        result = stand_in_kernel(SYS_read, a);
        memcpy(values, (void *)a[1], sizeof values);
        values[0] = values[0] * stand_in_number("PMU_STAND_IN_RATE", 10, 1000) / 3000;
        if (!role->silent)
            makers_advance(values[0] * 3);
        values[0] *= role->thirds;
    }
    if (result > 0)
        memcpy((void *)a[1], values, sizeof values);
    return result;
}

static void control_maker(struct maker *maker, bool test, const long *a)
{
    switch (a[1]) {
    case PERF_EVENT_IOC_ENABLE:
        maker->enabled = true;
        break;
    case PERF_EVENT_IOC_DISABLE:
        maker->enabled = false;
        if (test)
            maker_fill_test(maker);
        if (test && getenv("PMU_STAND_IN_LOST") && maker->unit != MADE_SPE)
            tell_lost(maker);
        maker_flush(maker);
        break;
    case PERF_EVENT_IOC_PERIOD:
        maker_flush(maker);
        maker->period = *(const uint64_t *)a[2];
        break;
    default:
        break;
    }
}

static long control(long descriptor, const long *a)
{
    const struct role *role = role_of(descriptor);
    uint64_t period;
    long arguments[6];

    memcpy(arguments, a, sizeof arguments);
    if (role->maker)
        control_maker(role->maker, role->test, a);
    if (role->known && a[1] == PERF_EVENT_IOC_PERIOD) {
        if (role->silent)
            return 0;
        period = nanoseconds(*(uint64_t *)a[2], role->thirds, PERIOD_LEAST_IN_RUN_NS);
        arguments[2] = (long)&period;
    }
    return stand_in_kernel(SYS_ioctl, arguments);
}

/* Memory of the maker's in place of the kernel's; what is not to be had, as the kernel says it. */
static long map(const struct role *role, const long *a)
{
    if (role->samples && (refuses("ring") || (a[5] > 0 && refuses("aux"))))
        return -EPERM;
    if (!role->maker)
        return stand_in_kernel(SYS_mmap, a);
    return a[1] + a[5] <= STAND_IN_BUFFERS ? (long)role->maker->page + a[5] : -EINVAL;
}

/* Nothing more is to be written there. */
static void unmap(const long *a)
{
    for (unsigned i = 0; i < DESCRIPTORS; i++)
        if (roles[i].maker && (long)roles[i].maker->page == a[0])
            roles[i].maker->page = NULL;
}

/* /sys/devices/system/cpu/cpu0/cache/... is the made-up machine's own. */
static long open_file(const long *a)
{
    static const char real[] = "/sys/devices/system/cpu/cpu0/cache/";
    const char *path = (const char *)a[1], *machine = getenv("REUSE_PMU_SYSFS");
    char caches[512], made_up[1024];
    long arguments[6];

    memcpy(arguments, a, sizeof arguments);
    if (machine && strncmp(path, real, sizeof real - 1) == 0) {
        snprintf(caches, sizeof caches, "%s/cache", machine);
        if (access(caches, F_OK) == 0) {
            snprintf(made_up, sizeof made_up, "%s/%s", caches, path + sizeof real - 1);
            arguments[1] = (long)made_up;
        }
    }
    return stand_in_kernel(SYS_openat, arguments);
}

static long answer(long number, const long *a)
{
    const struct perf_event_attr *attributes = (const void *)a[0];
    long result;

    switch (number) {
    case SYS_perf_event_open:
        if (is_level(attributes))
            return open_level(attributes, a);
        if (attributes->type == TYPE_SAMPLER || attributes->type == TYPE_COUNTER ||
            attributes->type == PERF_TYPE_RAW || attributes->type == TYPE_SPE ||
            is_kind_of_core(attributes->type))
            return open_event(attributes, a);
        break;
    case SYS_ioctl:
        return control(a[0], a);
    case SYS_read:
        if (role_of(a[0])->level && a[2] == 24)
            return read_level(role_of(a[0]), a);
        if (role_of(a[0])->known && a[2] == 24)
            return read_counter(role_of(a[0]), a);
        break;
    case SYS_mmap:
        return map(role_of(a[4]), a);
    case SYS_openat:
        return open_file(a);
    case SYS_munmap:
        unmap(a);
        break;
    case SYS_fcntl:
        result = stand_in_kernel(number, a);
        if (a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC)
            with_role(result, *role_of(a[0]));
        return result;
    case SYS_close:
        with_role(a[0], (struct role){0});
        break;
    default:
        break;
    }
    return stand_in_kernel(number, a);
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
