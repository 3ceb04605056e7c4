/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See surroundings.h. */
#include "process/surroundings.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "own/raw_call.h"
#include "own/text.h"

#include "signal_safe.h"

/* Address space that profiling takes: 85 MB with one thread. */
enum { OURS_BYTES = 96 * 1000 * 1000, ROOM_ONE_IN = 10 };

static bool contains(const char *text, const char *part)
{
    for (; *text; text++)
        if (begins_with(text, part))
            return true;
    return false;
}

static void read_text(const char *path, char *text, size_t size)
{
    long descriptor = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long length = 0;

    if (descriptor >= 0) {
        length = syscall(SYS_read, descriptor, text, size - 1);
        syscall(SYS_close, descriptor);
    }
    text[length > 0 ? length : 0] = '\0';
}

/* The name of the process that traces this one, "" if none does. Others than debuggers, such as
 * strace, pass signals on. */
static void tracer_name(char *name, size_t size)
{
    static const char field[] = "TracerPid:\t";
    char status[2048], path[32] = "/proc/";
    size_t at = strlen(path);

    name[0] = '\0';
    read_text("/proc/self/status", status, sizeof status);
    for (const char *line = status; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!begins_with(line, field))
            continue;
        line += sizeof field - 1;
        if (*line == '0') /* none */
            return;
        while (*line >= '0' && *line <= '9' && at < sizeof path - sizeof "/comm")
            path[at++] = *line++;
        memcpy(path + at, "/comm", sizeof "/comm");
        read_text(path, name, size);
        return;
    }
}

/* Little enough for a program not to miss it, whatever it does. */
static bool leaves_room(int resource)
{
    struct rlimit limit;

    return raw_call(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0) != 0 ||
           limit.rlim_cur / ROOM_ONE_IN >= OURS_BYTES;
}

const char *surroundings_want_of_room(void)
{
    if (leaves_room(RLIMIT_AS) && leaves_room(RLIMIT_DATA))
        return NULL;
    return "profiling takes 96 MB of address space, more than a tenth of what it may have: raise "
           "`ulimit -v` and `ulimit -d` to 1 GB";
}

bool surroundings_are_emulated(void)
{
#if defined(__x86_64__)
    enum { HYPERVISOR_LEAF = 0x40000000 };
    unsigned highest, words[3];

    __cpuid(HYPERVISOR_LEAF, highest, words[0], words[1], words[2]);
    return memcmp(words, "TCGTCGTCGTCG", sizeof words) == 0;
#else
    return false;
#endif
}

const char *surroundings_refusal(void)
{
    char tracer[32];

    for (char **variable = environ; variable && *variable; variable++) {
        if (begins_with(*variable, "LD_PRELOAD=") && contains(*variable, "vgpreload_"))
            return "valgrind runs it, and has no performance events";
        if (begins_with(*variable, "RUNNING_UNDER_RR="))
            return "rr records it, and takes the performance events for itself";
    }
    tracer_name(tracer, sizeof tracer);
    if (begins_with(tracer, "gdb") || begins_with(tracer, "lldb"))
        return "a debugger runs it, and would stop at every sample";
    return NULL;
}
