/* SPDX-License-Identifier: BSD-3-Clause */
/* See finding.h. */
#include "doctor/finding.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *name, *title;
} descriptions[FINDING_COUNT] = {
    [FINDING_SYSTEM] = {"system", "System"},
    [FINDING_PERMISSION] = {"permission", "Permission to use performance events"},
    [FINDING_PARANOID] = {"paranoid", "kernel.perf_event_paranoid"},
    [FINDING_CAPABILITY] = {"capability", "CAP_PERFMON"},
    [FINDING_SECCOMP] = {"seccomp", "Seccomp filter"},
    [FINDING_DESCRIPTORS] = {"descriptors", "File descriptors"},
    [FINDING_CLOCK] = {"clock", "Sampling by CPU time"},
    [FINDING_REGISTERS] = {"registers", "Debug registers"},
    [FINDING_TRAP] = {"trap", "Watchpoint traps"},
    [FINDING_INHERITED] = {"inherited", "Watchpoints across threads"},
    [FINDING_COUNTING] = {"counting", "Hardware counters"},
    [FINDING_PRECISE] = {"precise", "Hardware samples with addresses"},
    [FINDING_QEMU] = {"qemu", "qemu-user"},
    [FINDING_LIBC] = {"libc", "Debug information of the C library"},
    [FINDING_PROGRAM] = {"program", "The program"},
};

const char *finding_name(enum finding_id id)
{
    return descriptions[id].name;
}

const char *finding_title(enum finding_id id)
{
    return descriptions[id].title;
}

#define FORMAT_INTO(field, format)                                                                 \
    do {                                                                                           \
        va_list arguments;                                                                         \
        va_start(arguments, format);                                                               \
        vsnprintf(field, sizeof(field), format, arguments);                                        \
        va_end(arguments);                                                                         \
    } while (0)

void finding_tried(struct finding *finding, const char *format, ...)
{
    FORMAT_INTO(finding->tried, format);
}

void finding_result(struct finding *finding, enum finding_state state, const char *format, ...)
{
    finding->state = state;
    FORMAT_INTO(finding->result, format);
}

void finding_meaning(struct finding *finding, const char *format, ...)
{
    FORMAT_INTO(finding->meaning, format);
}

void finding_remedy(struct finding *finding, const char *format, ...)
{
    FORMAT_INTO(finding->remedy, format);
}
