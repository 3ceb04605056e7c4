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
#include "own/small_file.h"
#include "own/text.h"

#include "signal_safe.h"

/* Address space that profiling takes: 85 MB with one thread. */
enum { ROOM_ONE_IN = 10 };

static bool contains(const char *text, const char *part)
{
    for (; *text; text++)
        if (begins_with(text, part))
            return true;
    return false;
}

/* The name of the process that traces this one, "" if none does. Others than debuggers, such as
 * strace, pass signals on. */
static void tracer_name(char *name, size_t size)
{
    char status[2048], path[40];
    uint64_t tracer;

    name[0] = '\0';
    small_file_read("/proc/self/status", status, sizeof status);
    tracer = small_file_number(small_file_field(status, "TracerPid:"));
    if (tracer == 0)
        return;
    put_text(put_number(put_text(path, "/proc/"), tracer), "/comm");
    small_file_read(path, name, size);
}

/* Little enough for a program not to miss it, whatever it does. */
static bool leaves_room(int resource)
{
    struct rlimit limit;

    return raw_call(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0) != 0 ||
           limit.rlim_cur / ROOM_ONE_IN >= SURROUNDINGS_OURS_BYTES;
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
