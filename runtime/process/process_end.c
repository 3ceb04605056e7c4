/* SPDX-License-Identifier: BSD-3-Clause */
/* End of the profiled process: by exit, _exit, abort, exec or a sandbox. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "bursts/bursts.h"
#include "bursts/cost_account.h"
#include "bursts/thread.h"
#include "bursts/thread_pointer.h"
#include "bursts/thread_usage.h"
#include "interposition/interpose.h"
#include "interposition/interpose_signal.h"
#include "memory/fault_guard.h"
#include "memory/memory.h"
#include "output/output.h"
#include "output/say.h"
#include "own/raw_call.h"
#include "perf_events/level_counts.h"
#include "perf_events/pmu.h"
#include "perf_events/pmu_notes.h"
#include "perf_events/timebase.h"
#include "process/kernel_use.h"
#include "process/preload.h"
#include "process/process.h"
#include "process/process_internal.h"
#include "process/settings.h"
#include "process/tree.h"
#include "recording/tape.h"
#include "unwinding/attribution.h"

/* What at_quick_exit() is made of; of no object that could be unloaded. */
int __cxa_at_quick_exit(void (*)(void *), void *);

static void tell_count(struct line *line, uint64_t count, const char *one, const char *many)
{
    line_number(line, count);
    line_text(line, count == 1 ? one : many);
}

/* In so much CPU time there were bursts, if there was anything to look at. */
static const uint64_t SILENT_NS = 1000000000;

static void tell_samples(struct line *line, const struct tree_sums *sums)
{
    if (sums->samples > 0)
        line_number(line, sums->samples);
    line_text(line, sums->samples > 0 ? " samples" : "no sample");
    if (sums->processes > 1) {
        line_text(line, " of ");
        line_number(line, sums->processes);
        line_text(line, " processes in ");
        tell_count(line, sums->profiles, " profile", " profiles");
    }
    if (sums->failed > 1) {
        line_text(line, ", ");
        line_number(line, sums->failed);
        line_text(line, " processes could not write theirs, or not to its end");
    }
    if (sums->running > 0) {
        line_text(line, ", ");
        tell_count(line, sums->running, " of them has not ended", " of them have not ended");
    }
    if (sums->samples == 0 && sums->wants_memory > 0) {
        line_text(line, " (no memory to look ahead with)");
    } else if (sums->samples == 0) {
        line_text(line,
                  sums->app_ns < SILENT_NS ? " (too short: " : " (no memory access was met in ");
        line_fixed(line, sums->app_ns / 100000, 1);
        line_text(line, " ms of CPU time)");
    }
}

/* Which of a job's processes the figures are of. */
static void tell_rank(struct line *line)
{
    if (settings.job.rank[0] == '\0')
        return;
    line_text(line, "rank ");
    line_text(line, settings.job.rank);
    if (settings.job.size > 0) {
        line_text(line, " of ");
        line_number(line, settings.job.size);
    }
    line_text(line, ": ");
}

/* For all processes of the tree, by the first one. What is taken is said in relation to the time
 * that the program would need alone, as in the report. */
static void closing_line(const struct tree_sums *sums)
{
    bool of_job = settings.job.id[0] != '\0';
    struct line line;

    if (process_is_follower && !settings.options.verbose)
        return;
    line_begin(&line);
    line_text(&line, pmu_in_use() ? "pmu engine, " : "clock engine, ");
    tell_rank(&line);
    tell_samples(&line, sums);
    line_text(&line, ", ");
    line_fixed(&line, sums->app_ns ? sums->overhead_ns * 1000 / sums->app_ns : 0, 1);
    line_text(&line, " % of CPU time taken; look at ");
    line_text(&line, of_job ? "the job" : "it");
    line_text(&line, " with: reuse-report ");
    line_text(&line, of_job || sums->profiles > 1 ? output_all() : output_path());
    if (process_is_follower)
        say_verbose(&line);
    else
        say(&line);
}

void process_before_stderr_closes(void)
{
    static _Atomic bool told;
    sigset_t before;
    struct line line;

    if (process_is_follower || !process_is_ours() || atomic_exchange(&told, true))
        return;
    signals_block(&before);
    line_begin(&line);
    line_text(&line, "the program closes its standard error; once it has ended, look at it with: "
                     "reuse-report ");
    line_text(&line, output_path());
    if (output_usable())
        say(&line);
    signals_restore(&before);
}

static unsigned char *own_stack; /* mapped at start-up */

/* The first to be registered is the last to be called. */
static void at_quick_exit_finish(void *unused)
{
    (void)unused;
    process_finish();
}

void process_end_begin(void)
{
    __cxa_at_quick_exit(at_quick_exit_finish, NULL);
    own_stack = memory_map_stack(HANDLER_STACK);
}

void process_on_own_stack(void (*function)(void *))
{
    if (own_stack)
        arch_call_on_stack(own_stack + HANDLER_STACK, function, NULL);
    else
        function(NULL);
}

/* Threads that the C library creates for itself, or that were there before us, are not profiled. */
static void note_unprofiled(uint64_t profiled_ns)
{
    enum { LEAST_NS = 50 * 1000 * 1000, LEAST_SHARE = 20 };
    uint64_t all_ns = tape_mode == TAPE_OFF ? clock_ns(CLOCK_PROCESS_CPUTIME_ID) : 0;
    struct line line;

    all_ns = all_ns > process_former.process_ns ? all_ns - process_former.process_ns : 0;
    if (all_ns < profiled_ns + LEAST_NS || (all_ns - profiled_ns) * LEAST_SHARE < all_ns)
        return;
    line_begin(&line);
    line_number(&line, (all_ns - profiled_ns) / 1000000);
    line_text(&line, " of ");
    line_number(&line, all_ns / 1000000);
    line_text(&line, " ms of CPU time were used by threads that are not in the profile: the C "
                     "library's own (timers, input/output), or created past it");
    output_note(NOTE_WARNING, line.text + strlen("libreuse: "));
    say_verbose(&line);
}

static void note_lost_events(void)
{
    struct line line;

    if (thread_pointer_events_lost() == 0)
        return;
    line_begin(&line);
    line_text(&line, "the program had a thread pointer of its own (arch_prctl): what it did "
                     "meanwhile is not in the profile (");
    tell_count(&line, thread_pointer_events_lost(), " event", " events");
    line_text(&line, " passed over)");
    output_note(NOTE_WARNING, line.text + strlen("libreuse: "));
    say_verbose(&line);
}

/* Servers close their standard error: who looks at the first process's profile is told there. */
static void note_failures(const struct tree_sums *sums)
{
    struct line line;

    if (process_is_follower || sums->failed == 0)
        return;
    line_begin(&line);
    tell_count(&line, sums->failed, " process", " processes");
    line_text(&line, " of this run could not write a profile, or not to its end: is the directory "
                     "writable for the user that they run as?");
    output_note(NOTE_WARNING, line.text + strlen("libreuse: "));
}

static void finish(void *unused)
{
    uint64_t app_ns = 0, overhead_ns = 0;
    struct tree_sums sums;
    struct line line;

    (void)unused;
    if (!process_is_follower)
        output_insist();
    for (struct thread *thread = thread_first(); thread; thread = thread->next)
        thread_finish(thread, WATCH_PROCESS_ENDED);
    if (pmu_in_use())
        pmu_note_losses();
    thread_totals(&app_ns, &overhead_ns);
    note_unprofiled(app_ns + overhead_ns);
    note_lost_events();
    attribution_finish();
    level_counts_write();
    kernel_use_write();
    tree_report(app_ns, overhead_ns);
    tree_end(&sums);
    note_failures(&sums);
    if (output_usable() || (sums.failed > 1 && sums.profiles > 1)) {
        process_tell_limits();
        closing_line(&sums);
    } else {
        line_begin(&line);
        line_text(&line, "the profile is incomplete");
        say_verbose(&line);
    }
    output_finish();
    tape_flush();
    cost_print();
}

void process_finish(void)
{
    static _Atomic pid_t finished;
    sigset_t before;
    pid_t own = atomic_load(&process_pid);

    /* No system call once it has ended: in a sandbox none may be made. */
    if (!process_is_ours() || atomic_exchange(&finished, own) == own)
        return;
    signals_block(&before);
    process_on_own_stack(finish);
    /* From here on the wrappers pass through. */
    attribution_stop();
    atomic_store(&process_pid, 0);
    signals_restore(&before);
}

static void __attribute__((destructor)) stop(void)
{
    process_finish();
}

INTERPOSED void _exit(int status)
{
    static void (*next)(int);

    process_finish();
    if (!next)
        next = interpose_real("_exit");
    next(status);
    __builtin_unreachable();
}

INTERPOSED void _Exit(int status)
{
    _exit(status);
}

INTERPOSED void abort(void)
{
    static void (*next)(void);

    /* The target may survive through a handler of SIGABRT that jumps away: nothing ends here. */
    if (process_is_ours()) {
        output_flush();
        tape_flush();
    }
    if (!next)
        next = interpose_real("abort");
    next();
    __builtin_unreachable();
}

/* The next program's, too, unless it subtracts them. */
static struct tree_former kernel_counts(void)
{
    struct thread_usage thread;
    struct rusage process = {0};

    /* A recording is of one program. */
    if (tape_mode != TAPE_OFF)
        return (struct tree_former){0};
    thread = thread_usage_now();
    raw_call(SYS_getrusage, RUSAGE_SELF, (long)&process, 0, 0, 0, 0);
    return (struct tree_former){
        .cpu_ns = thread_cpu_ns(),
        .user_ns = thread.user_ns,
        .kernel_ns = thread.kernel_ns,
        .switches = thread.switches,
        .process_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
        .process_faults = (uint64_t)process.ru_minflt + (uint64_t)process.ru_majflt,
    };
}

void process_before_exec(void)
{
    struct tree_former former;
    uint64_t app_ns, overhead_ns;
    sigset_t before;

    if (!process_is_ours())
        return;
    signals_block(&before);
    for (struct thread *thread = thread_first(); thread; thread = thread->next)
        bursts_end_thread(thread);
    threads_write_totals();
    thread_before_exec();
    level_counts_write();
    kernel_use_write();
    thread_totals(&app_ns, &overhead_ns);
    tree_report(app_ns, overhead_ns);
    former = kernel_counts();
    tree_before_exec(&former);
    output_before_exec();
    tape_flush();
    signals_restore(&before);
}

/* False: there is no profile of this process. */
static bool end_here(const char *why)
{
    struct line line;

    if (!process_is_ours())
        return false;
    line_begin(&line);
    line_text(&line, "the program ");
    line_text(&line, why);
    line_text(&line, ": profiling ends here");
    output_note(NOTE_WARNING, line.text + strlen("libreuse: "));
    say(&line);
    process_finish();
    return true;
}

void process_before_sandbox(const char *what)
{
    bool is_alone = thread_alive_count() <= 1;

    /* Other threads may be in handlers of ours, or about to enter them. */
    if (!end_here(what) || !is_alone)
        return;
    /* They would make system calls there before they call the program's. */
    fault_guard_end();
    signal_end();
}

void process_before_signalfd(void)
{
    end_here("was sent a SIGTRAP that it reads from a signalfd");
}

void process_before_tracing(void)
{
    struct line line;

    if (!process_is_ours())
        return;
    line_begin(&line);
    line_text(&line, "the program is traced from here on: profiling ends");
    output_note(NOTE_WARNING, line.text + strlen("libreuse: "));
    say_verbose(&line);
    process_finish();
    fault_guard_end();
    signal_end();
    preload_leave();
}
