/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "process/run_record.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bursts/thread.h"
#include "config.h"
#include "large_table.h"
#include "options.h"
#include "own/small_file.h"
#include "own/text.h"
#include "perf_events/timebase.h"
#include "process/settings.h"
#include "watches/watch.h"

#include "signal_safe.h"

static void put(struct run_text *text, const char *bytes, size_t length)
{
    if (length > sizeof text->bytes - 1 - text->length)
        length = sizeof text->bytes - 1 - text->length;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static void pair(struct run_text *text, const char *key, const char *value)
{
    put(text, key, strlen(key) + 1);
    put(text, value, strlen(value));
    put(text, "", 1);
}

static void number(struct run_text *text, const char *key, uint64_t value)
{
    char digits[24];

    put_number(digits, value);
    pair(text, key, digits);
}

/* value with three decimals */
static void decimal(struct run_text *text, const char *key, double value)
{
    uint64_t thousandths = (uint64_t)(value * 1000 + 0.5);
    char digits[32];
    size_t at = sizeof digits;

    digits[--at] = '\0';
    for (unsigned i = 0; thousandths > 0 || i < 4; i++) {
        if (i == 3)
            digits[--at] = '.';
        digits[--at] = (char)('0' + thousandths % 10);
        thousandths /= 10;
    }
    pair(text, key, digits + at);
}

/* One argument as a shell would need it. */
static void quote(struct run_text *text, const char *argument)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";

    if (argument[0] != '\0' && argument[strspn(argument, plain)] == '\0') {
        put(text, argument, strlen(argument));
        return;
    }
    put(text, "'", 1);
    for (; *argument; argument++) {
        if (*argument == '\'')
            put(text, "'\\''", 4);
        else
            put(text, argument, 1);
    }
    put(text, "'", 1);
}

/* The command line from the kernel: the target may have changed argv. */
static void command(struct run_text *text)
{
    char arguments[8192];
    size_t n = small_file_read("/proc/self/cmdline", arguments, sizeof arguments);

    put(text, "command", sizeof "command");
    for (const char *at = arguments; at < arguments + n; at += strlen(at) + 1) {
        if (at != arguments)
            put(text, " ", 1);
        quote(text, at);
    }
    put(text, "", 1);
}

void run_record_make(struct run_text *text, uint64_t started_ns)
{
    static LARGE_TABLE char path[PATH_MAX];
    struct utsname system;
    ssize_t length;
    uint64_t behind = monotonic_ns() - started_ns;

    text->length = 0;
    pair(text, "engine", pmu_in_use() ? "pmu" : "clock");
    if (pmu_in_use()) {
        pair(text, "clock", "accesses");
        pair(text, "events", pmu_description());
        if (pmu_served_by()[0] != '\0')
            pair(text, "served_by", pmu_served_by());
    }
    pair(text, "version", PACKAGE_VERSION);
    length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    pair(text, "program", path);
    command(text);
    number(text, "pid", (uint64_t)getpid());
    number(text, "ppid", (uint64_t)getppid());
    uname(&system);
    pair(text, "host", system.nodename);
    if (settings.job.rank[0] != '\0')
        pair(text, "rank", settings.job.rank);
    if (settings.job.size > 0)
        number(text, "ranks", settings.job.size);
    if (settings.job.id[0] != '\0')
        pair(text, "job", settings.job.id);
    pair(text, "kernel", system.release);
    if (syscall(SYS_getcwd, path, sizeof path) > 0)
        pair(text, "directory", path);
    number(text, "start_unix_ns", clock_ns(CLOCK_REALTIME) - behind);
    number(text, "start_monotonic_ns", started_ns);
    number(text, "line_size", settings.line_size);
    decimal(text, "budget_percent", settings.options.budget_percent);
    number(text, "period_ns", settings.options.period);
    number(text, "seed", settings.seed);
    number(text, "cpus", settings.cpus);
    number(text, "instructions_per_cycle", settings.width.instructions);
    number(text, "accesses_per_cycle", settings.width.accesses);
    number(text, "page_size", settings.page_size);
    number(text, "trap_cost_ns", settings.trap_ns);
    number(text, "trigger_cost_ns", settings.trigger_ns);
    number(text, "sharing", settings.sharing);
    number(text, "meetings", settings.sharing);
    number(text, "trap_tolerance_ns", TRAP_TOLERANCE_NS);
    number(text, "slots", WATCH_PRIVATE);
    number(text, "registers", settings.options.registers);
    pair(text, "registers_state", register_state_name(settings.registers));
    number(text, "burst", BURST_ACCESSES);
}
