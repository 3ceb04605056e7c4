/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. System calls are made directly, so that no wrapper of the target sees them. */
#include "perf_events/perf_event.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bursts/cost_account.h"
#include "own/raw_call.h"
#include "recording/tape.h"

#include "signal_safe.h"

/* High half of every cookie: marks a signal as ours among those of other users of perf events. */
static const uint64_t cookie_mark = 0x5245u; /* "RE" */

/* A place that nobody touches: where a register points while it waits for work. */
static uint64_t parking_place __attribute__((aligned(8)));

/* Negative errno instead of -1, and errno as it was: the caller may be inside a handler. */
static int keep_errno(long result, int saved_errno)
{
    int error = errno;

    errno = saved_errno;
    return result == -1 ? -error : (int)result;
}

uint64_t event_cookie_pack(struct event_cookie cookie)
{
    return cookie_mark << 48 | (uint64_t)(cookie.generation & 0xffffff) << 16 |
           (uint64_t)cookie.kind << 8 | cookie.slot;
}

bool event_cookie_unpack(uint64_t data, struct event_cookie *cookie)
{
    if (data >> 48 != cookie_mark)
        return false;
    cookie->generation = data >> 16 & 0xffffff;
    cookie->kind = (enum event_kind)(data >> 8 & 0xff);
    cookie->slot = data & 0xff;
    return true;
}

int perf_event_open(const struct perf_event_attr *attributes, int group)
{
    int saved = errno, result = 0;

    if (!tape_supplies())
        result = keep_errno(
            syscall(SYS_perf_event_open, attributes, 0, -1, group, PERF_FLAG_FD_CLOEXEC), saved);
    return (int)tape_value(TAPE_CALL, (uint64_t)result);
}

/* It may have got another number before the call reached it (descriptors.h): the call is made
 * again, then. */
static int number_now(const int *descriptor)
{
    return __atomic_load_n(descriptor, __ATOMIC_RELAXED);
}

int perf_event_control(const int *descriptor, unsigned long request, void *argument)
{
    int saved = errno, result = 0;
    int number = number_now(descriptor), before;

    do {
        before = number;
        if (!tape_supplies())
            result = keep_errno(syscall(SYS_ioctl, number, request, argument), saved);
        number = number_now(descriptor);
    } while (number != before);
    return (int)tape_value(TAPE_CALL, (uint64_t)result);
}

/* The same for what handlers do all the time: by no code that the target may use as well, for an
 * execute breakpoint may wait for it there (bridge.h). */
static int control(const int *descriptor, unsigned long request, void *argument)
{
    enum cost_part before =
        cost_enter(request == PERF_EVENT_IOC_PERIOD ? COST_PERIOD : COST_ARMING);
    long result = 0;
    int number = number_now(descriptor), asked;

    do {
        asked = number;
        if (!tape_supplies())
            result = raw_call(SYS_ioctl, number, (long)request, (long)argument, 0, 0, 0);
        number = number_now(descriptor);
    } while (number != asked);
    cost_leave(before);
    return (int)tape_value(TAPE_CALL, (uint64_t)result);
}

/* What all our events have in common: user mode only, a synchronous signal, gone after exec. */
static struct perf_event_attr common_attributes(uint32_t type, uint64_t cookie)
{
    struct perf_event_attr attributes;

    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = type;
    attributes.disabled = 1;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    attributes.sigtrap = 1;
    attributes.remove_on_exec = 1;
    attributes.sig_data = cookie;
    return attributes;
}

int perf_clock_open(uint64_t period_ns, uint64_t cookie)
{
    struct perf_event_attr attributes = common_attributes(PERF_TYPE_SOFTWARE, cookie);

    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    attributes.sample_period = period_ns;
    return perf_event_open(&attributes, -1);
}

int perf_clock_set_period(const int *descriptor, uint64_t period_ns)
{
    return control(descriptor, PERF_EVENT_IOC_PERIOD, &period_ns);
}

static struct perf_event_attr watch_attributes(uint64_t address, unsigned length,
                                               enum watch_access access, uint64_t cookie,
                                               bool inherited)
{
    struct perf_event_attr attributes = common_attributes(PERF_TYPE_BREAKPOINT, cookie);

    attributes.bp_addr = address;
    attributes.bp_len = length;
    attributes.bp_type = access == WATCH_STORES ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
    attributes.sample_period = 1;
    attributes.inherit = inherited;
    attributes.inherit_thread = inherited;
    return attributes;
}

int perf_watch_open(bool inherited)
{
    struct perf_event_attr attributes =
        watch_attributes((uintptr_t)&parking_place, 8,
                         inherited ? WATCH_STORES : WATCH_LOADS_AND_STORES, 0, inherited);

    return perf_event_open(&attributes, -1);
}

int perf_watch_arm(const int *descriptor, uint64_t address, unsigned length,
                   enum watch_access access, uint64_t cookie, bool inherited)
{
    struct perf_event_attr attributes =
        watch_attributes(address, length, access, cookie, inherited);

    attributes.disabled = 0;
    return control(descriptor, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attributes);
}

static struct perf_event_attr breakpoint_attributes(uint64_t address, uint64_t cookie)
{
    struct perf_event_attr attributes = common_attributes(PERF_TYPE_BREAKPOINT, cookie);

    attributes.bp_addr = address;
    attributes.bp_len = sizeof(long); /* the kernel's convention, whatever an instruction has */
    attributes.bp_type = HW_BREAKPOINT_X;
    attributes.sample_period = 1;
    return attributes;
}

int perf_breakpoint_open(void)
{
    struct perf_event_attr attributes = breakpoint_attributes((uintptr_t)&parking_place, 0);

    return perf_event_open(&attributes, -1);
}

int perf_breakpoint_arm(const int *descriptor, uint64_t address, uint64_t cookie)
{
    struct perf_event_attr attributes = breakpoint_attributes(address, cookie);

    attributes.disabled = 0;
    return control(descriptor, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attributes);
}

int perf_event_enable(const int *descriptor)
{
    return control(descriptor, PERF_EVENT_IOC_ENABLE, NULL);
}

int perf_event_enable_once(const int *descriptor)
{
    return control(descriptor, PERF_EVENT_IOC_REFRESH, (void *)1);
}

int perf_event_disable(const int *descriptor)
{
    return control(descriptor, PERF_EVENT_IOC_DISABLE, NULL);
}
