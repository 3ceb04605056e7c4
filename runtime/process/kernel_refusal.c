/* SPDX-License-Identifier: BSD-3-Clause */
/* See kernel_refusal.h. Not signal-safe. */
#include "process/kernel_refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interposition/blocked_trap.h"
#include "output/say.h"
#include "own/child_trial.h"
#include "own/raw_call.h"
#include "own/small_file.h"
#include "pmu/refusal.h"
#include "process/process_internal.h"
#include "process/tree.h"

static unsigned running_kernel(void)
{
    struct utsname name;

    return uname(&name) == 0 ? kernel_version(name.release) : 0;
}

/* Distributions mend older versions: which one it is takes the whole of the name. */
static void append_running(struct line *line)
{
    struct utsname name;

    if (uname(&name) != 0)
        return;
    line_text(line, "this is Linux ");
    line_text(line, name.release);
}

bool kernel_kills_blocked(void)
{
    enum trap_outcome outcome;
    struct line line;

    if (process_is_follower || running_kernel() >= KERNEL_SIGTRAP_WAITS)
        return false;
    outcome = blocked_trap_try();
    if (outcome == TRAP_WAITS)
        return false;
    line_begin(&line);
    line_text(
        &line,
        outcome == TRAP_KILLS
            ? "the program runs unprofiled: this kernel kills a program when an event "
              "comes while SIGTRAP is blocked (mended in Linux 5.18, and by distributions in "
              "older versions; "
            : "the program runs unprofiled: this kernel may kill a program when an event "
              "comes while SIGTRAP is blocked, and it cannot be tried (mended in Linux 5.18; ");
    append_running(&line);
    line_text(&line, "): use a newer kernel");
    line_text(&line, kernel_needs_no_events);
    say_for_job(&line);
    return true;
}

/* What few programs call and we do; without arguments nothing comes of them. */
static const long rare_calls[] = {
    SYS_memfd_create, SYS_rt_sigtimedwait, SYS_rt_sigpending,    SYS_rt_tgsigqueueinfo, SYS_getcpu,
    SYS_mincore,      SYS_sigaltstack,     SYS_process_vm_readv, SYS_getrusage,         SYS_gettid,
};

static void try_calls(void)
{
    static const struct timespec now = {0}; /* without one it would wait */
    struct perf_event_attr attributes;

    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    raw_call(SYS_ppoll, 0, 0, (long)&now, 0, 0, 0);
    raw_call(SYS_perf_event_open, (long)&attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
    for (size_t i = 0; i < sizeof rare_calls / sizeof *rare_calls; i++)
        raw_call(rare_calls[i], 0, 0, 0, 0, 0, 0);
}

static const char filter_kills[] =
    "the program runs unprofiled: the seccomp filter that it was started with kills what calls "
    "perf_event_open, or another system call of the profiler's: let the filter allow it, or refuse "
    "it";

static void tell_filter(void)
{
    struct line line;

    line_begin(&line);
    line_text(&line, filter_kills);
    say_for_job(&line);
}

/* Of this process; 0: not known. From Linux 5.9 on. */
static uint64_t count_filters(void)
{
    char status[4096];

    small_file_read("/proc/self/status", status, sizeof status);
    return small_file_number(small_file_field(status, "Seccomp_filters:"));
}

/* Almost no process has a filter: the rest is for those. A container's processes all have the same,
 * and a trial takes longer than to count filters: it is made once. */
bool kernel_filter_kills(void)
{
    uint64_t filters;
    long status;

    if (raw_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
        return false;
    filters = count_filters();
    /* What has no child is not known to be killed either: the call itself will tell. */
    status = filters > 0 && filters == tree_harmless_filters() ? 0 : child_trial(try_calls);
    if (status < 0 || !WIFSIGNALED(status)) {
        tree_found_harmless(filters);
        return false;
    }
    /* Perhaps for the calls that this takes as well. */
    child_trial(tell_filter);
    return true;
}

bool kernel_ends_events(void)
{
    return running_kernel() >= KERNEL_SIGTRAP_ONCE;
}

void kernel_tell_refusal(int error)
{
    struct line line;
    char paranoid[16] = "";
    int descriptor = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);

    if (descriptor >= 0) {
        ssize_t n = read(descriptor, paranoid, sizeof paranoid - 1);

        paranoid[n > 0 ? n - 1 : 0] = '\0';
        close(descriptor);
    }
    line_begin(&line);
    line_text(&line, "the program runs unprofiled: perf_event_open refused the CPU clock (");
    line_error(&line, error);
    if ((error == EACCES || error == EPERM) && paranoid[0] > '2' && paranoid[1] == '\0') {
        line_text(&line, "): kernel.perf_event_paranoid is ");
        line_text(&line, paranoid);
        line_text(&line, ", needed is 2: sysctl kernel.perf_event_paranoid=2");
    } else if (error == EACCES || error == EPERM) {
        line_text(&line, "): a seccomp filter or container policy forbids it: see reuse-doctor");
    } else if (error == ENOSYS) {
        line_text(&line,
                  "): a seccomp filter answers so (docker: --cap-add=PERFMON), or the kernel is "
                  "built without performance events: see reuse-doctor");
    } else if (error == EMFILE) {
        line_text(&line, "): no file descriptor is free: raise `ulimit -n`");
    } else if (kernel_lacks_sigtrap(error, running_kernel())) {
        line_text(&line, "): ");
        append_running(&line);
        line_text(&line, ", and ");
        line_text(&line, kernel_without_sigtrap);
        line_text(&line, kernel_needs_no_events);
    } else {
        line_text(&line, "): see reuse-doctor");
    }
    say_for_job(&line);
}
