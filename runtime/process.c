/* SPDX-License-Identifier: BSD-3-Clause */
/* Start, end, fork and exec of the profiled process. Not signal-safe but for process_is_ours(). */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attribution.h"
#include "descriptors.h"
#include "fault_guard.h"
#include "first_touch.h"
#include "handler.h"
#include "interpose.h"
#include "interpose_allocation.h"
#include "interpose_loader.h"
#include "interpose_signal.h"
#include "interpose_thread.h"
#include "isa/interpreter.h"
#include "level_counts.h"
#include "look_ahead.h"
#include "maps.h"
#include "modules.h"
#include "output.h"
#include "pmu.h"
#include "pmu_notes.h"
#include "replay.h"
#include "say.h"
#include "settings.h"
#include "tape.h"
#include "thread.h"
#include "timebase.h"
#include "unwind.h"
#include "watch.h"

struct settings settings;

/* The process that is profiled; 0 while none is. Written at start-up and by a forked child. */
static _Atomic pid_t our_pid;

bool process_is_ours(void)
{
    pid_t pid = atomic_load_explicit(&our_pid, memory_order_relaxed);

    return pid != 0 && pid == (pid_t)syscall(SYS_getpid);
}

/* ---- start ---- */

/* Why perf refused, and what would change it. */
static void tell_refusal(int error)
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
    } else {
        line_text(&line, "): see reuse-doctor");
    }
    say_error(&line);
}

static void read_settings(void)
{
    const struct options *options = &settings.options;
    char message[OPTIONS_MESSAGE_MAX];
    struct line line;

    if (options_parse((const char *const *)environ, &settings.options, message, sizeof message)) {
        line_begin(&line);
        line_text(&line, message);
        line_text(&line, "; the default is used");
        say_begin(false, false);
        say_error(&line);
    }
    say_begin(options->quiet, options->verbose);
    settings.sharing = options->sharing;
    settings.line_size = options->line_size;
    settings.window = 2000;
    settings.cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    settings.page_size = (uint64_t)sysconf(_SC_PAGESIZE);
    settings.seed = options->seed;
    if (!options->seed_given &&
        getrandom(&settings.seed, sizeof settings.seed, GRND_NONBLOCK) != sizeof settings.seed)
        settings.seed = monotonic_ns();
    if (options->duration > 0)
        settings.stop_ns = monotonic_ns() + (uint64_t)(options->duration * 1e9);
}

/* Which engine can serve the one that was asked for; false: none here. */
static bool choose_engine(void)
{
    struct line line;

    switch (settings.options.engine) {
    case ENGINE_EXACT:
    case ENGINE_SIMULATE:
        line_begin(&line);
        line_text(&line, "the program runs unprofiled: engine ");
        line_text(&line, engine_names[settings.options.engine]);
        line_text(&line, " runs under QEMU: use reuse-run --engine ");
        line_text(&line, engine_names[settings.options.engine]);
        say_error(&line);
        return false;
    case ENGINE_NONE:
        return false;
    default:
        return true;
    }
}

/* Why the engine `pmu` was passed over; empty when it was not asked for or is in use. */
static char passed_over[PMU_REASON_MAX + 64];

/* Tries the hardware's events where they are wanted; without them the CPU clock takes the samples.
 */
static void try_hardware(void)
{
    char reason[PMU_REASON_MAX];
    struct line line;
    size_t kept;

    if (settings.options.engine != ENGINE_PMU && settings.options.engine != ENGINE_AUTO)
        return;
    if (pmu_start(settings.options.event, reason))
        return;
    line_begin(&line);
    line_text(&line, "engine pmu passed over: ");
    line_text(&line, reason);
    line_text(&line, "; going on with clock");
    kept = line.length - strlen("libreuse: ");
    if (kept > sizeof passed_over - 1)
        kept = sizeof passed_over - 1;
    memcpy(passed_over, line.text + strlen("libreuse: "), kept);
    /* Who names an event means it to be used. */
    if (settings.options.engine == ENGINE_PMU || settings.options.event[0])
        say_error(&line);
    else
        say_verbose(&line);
}

void process_begin_engine(void)
{
    uint64_t *const values[] = {&settings.seed, &settings.trap_ns,   &settings.trigger_ns,
                                &settings.cpus, &settings.page_size, &settings.stop_ns};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        *values[i] = tape_value(TAPE_SETTING, *values[i]);
    look_ahead_create();
    try_hardware();
}

static bool is_stack(void *context, const struct maps_entry *entry)
{
    struct maps_entry *found = context;
    uint64_t here = (uintptr_t)__builtin_frame_address(0);

    if (here - entry->start >= entry->end - entry->start)
        return true;
    *found = *entry;
    return false;
}

/* The main thread's stack grows down to its limit. */
static void main_stack(uint64_t *low, uint64_t *high)
{
    struct maps_entry stack = {0};
    struct rlimit limit;
    uint64_t size = 8 << 20;

    maps_each(is_stack, &stack);
    *high = stack.end;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < UINT64_C(1) << 30)
        size = limit.rlim_cur;
    *low = stack.end > size ? stack.end - size : 0;
}

static void tell_no_signals(void)
{
    struct line line;

    line_begin(&line);
    line_text(&line,
              "the program runs unprofiled: SIGTRAP, SIGSEGV and SIGBUS cannot be handled: a "
              "seccomp filter forbids it?");
    say_error(&line);
}

/* And finds out what an event costs. False: the user knows why. */
static bool take_signals(void)
{
    int result;

    if (signal_begin(handler_enter) != 0) {
        tell_no_signals();
        return false;
    }
    result = handler_calibrate();
    if (result < 0)
        tell_refusal(-result);
    else if (fault_guard_begin())
        return true;
    else
        tell_no_signals();
    signal_end();
    return false;
}

static void before_fork(void);
static void after_fork_parent(void);
static void after_fork_child(void);

static void __attribute__((constructor)) start(void)
{
    struct line line;
    sigset_t before;
    uint64_t low, high;
    bool taped;
    int result;

    read_settings();
    if (settings.options.replay[0])
        replay_run(settings.options.replay);
    if (!choose_engine())
        return;
    descriptors_begin();
    result = handler_probe();
    if (result < 0) {
        tell_refusal(-result);
        return;
    }
    if (!take_signals())
        return;
    if (settings.trap_ns == 0) {
        line_begin(&line);
        line_text(&line, "no debug register is free (a debugger?): only reuses within the next ");
        line_number(&line, settings.window);
        line_text(&line, " accesses are seen");
        say_error(&line);
    }
    taped = replay_begin_recording();
    process_begin_engine();
    if (taped)
        tape_end();
    if (!output_begin(&settings.options, true)) {
        fault_guard_end();
        signal_end();
        return;
    }
    if (passed_over[0] != '\0')
        output_note(NOTE_INFORMATION, passed_over);
    if (pmu_witness_refusal()[0] != '\0')
        output_note(NOTE_INFORMATION, pmu_witness_refusal());
    if (settings.trap_ns == 0)
        output_note(NOTE_WARNING, line.text + strlen("libreuse: "));
    signals_block(&before);
    level_counts_begin();
    modules_refresh();
    attribution_begin();
    interpose_thread_begin();
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    atomic_store(&our_pid, getpid());
    main_stack(&low, &high);
    thread_start(low, high);
    signals_restore(&before);
}

/* ---- end ---- */

static void closing_line(uint64_t samples, uint64_t app_ns, uint64_t overhead_ns)
{
    struct line line;

    line_begin(&line);
    if (samples == 0) {
        line_text(&line, "no sample in ");
        line_number(&line, app_ns / 1000000);
        line_text(&line, " ms of CPU time; no profile written");
        /* Every short command of a script would say so. */
        if (app_ns < 20000000)
            say_verbose(&line);
        else
            say(&line);
        return;
    }
    line_text(&line, pmu_in_use() ? "pmu engine, " : "clock engine, ");
    line_number(&line, samples);
    line_text(&line, " samples, ");
    line_fixed(&line, app_ns ? overhead_ns * 1000 / app_ns : 0, 1);
    line_text(&line, " % of CPU time taken; look at it with: reuse-report ");
    line_text(&line, output_path());
    say(&line);
}

void process_finish(void)
{
    static _Atomic pid_t finished;
    uint64_t app_ns = 0, overhead_ns = 0, samples;
    sigset_t before;
    struct line line;

    if (!process_is_ours() || atomic_exchange(&finished, getpid()) == getpid())
        return;
    loader_refresh();
    signals_block(&before);
    for (struct thread *thread = thread_first(); thread; thread = thread->next)
        thread_finish(thread, WATCH_PROCESS_ENDED);
    if (pmu_in_use())
        pmu_note_losses();
    thread_totals(&app_ns, &overhead_ns);
    attribution_finish();
    level_counts_write();
    samples = output_samples();
    if (output_usable() || samples == 0) {
        closing_line(samples, app_ns, overhead_ns);
    } else {
        line_begin(&line);
        line_text(&line, "the profile is incomplete");
        say_verbose(&line);
    }
    output_finish();
    tape_flush();
    /* From here on the wrappers pass through. */
    atomic_store(&our_pid, 0);
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

void process_before_exec(void)
{
    sigset_t before;

    if (!process_is_ours())
        return;
    signals_block(&before);
    threads_write_totals();
    level_counts_write();
    output_before_exec();
    tape_flush();
    signals_restore(&before);
}

void process_before_sandbox(void)
{
    struct line line;

    if (!process_is_ours())
        return;
    line_begin(&line);
    line_text(&line, "the program enters a seccomp sandbox: profiling ends here");
    output_note(NOTE_WARNING, line.text + strlen("libreuse: "));
    say(&line);
    process_finish();
}

/* ---- fork ---- */

/* Signals stay blocked over the fork, so that nothing of ours is half done in the child. */
static __thread sigset_t fork_mask __attribute__((tls_model("initial-exec")));

static void before_fork(void)
{
    signals_block(&fork_mask);
}

static void after_fork_parent(void)
{
    signals_restore(&fork_mask);
}

static void after_fork_child(void)
{
    if (atomic_load(&our_pid) != 0) {
        bool follow = settings.options.follow & FOLLOW_FORK;

        tape_forget();
        descriptor_close_all();
        level_counts_forget();
        fault_guard_reset();
        decode_cache_after_fork();
        first_touch_reset_after_fork();
        shared_watch_reset_after_fork();
        atomic_store(&our_pid, follow ? getpid() : 0);
        if (follow) {
            output_reset_after_fork();
            attribution_reset_after_fork();
            thread_reset_after_fork();
            level_counts_begin();
        } else {
            output_forget();
            thread_forget_all();
        }
    }
    signals_restore(&fork_mask);
}

/* ---- descriptors ---- */

void process_yield_descriptor(int descriptor)
{
    sigset_t before;
    int copy;

    signals_block(&before);
    /* Adopt a copy, then let the original go: the event or file lives on in the copy. */
    copy = descriptor_adopt((int)syscall(SYS_dup, descriptor));
    output_move_descriptor(descriptor, copy);
    tape_move_descriptor(descriptor, copy);
    thread_move_descriptor(descriptor, copy);
    shared_watch_move_descriptor(descriptor, copy);
    level_counts_move_descriptor(descriptor, copy);
    descriptor_release(descriptor);
    signals_restore(&before);
}
