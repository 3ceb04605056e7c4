/* SPDX-License-Identifier: BSD-3-Clause */
/* Start of the profiled process. Not signal-safe but for process_is_ours(). */
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bursts/handler.h"
#include "bursts/look_ahead.h"
#include "bursts/processor_speed.h"
#include "bursts/thread.h"
#include "interposition/descriptors.h"
#include "interposition/interpose.h"
#include "interposition/interpose_signal.h"
#include "interposition/interpose_syscall.h"
#include "interposition/interpose_thread.h"
#include "large_table.h"
#include "memory/fault_guard.h"
#include "memory/memory.h"
#include "memory/modules.h"
#include "memory/scratch.h"
#include "output/output.h"
#include "output/say.h"
#include "output/snapshot.h"
#include "own/bound.h"
#include "own/c_library.h"
#include "own/clock.h"
#include "perf_events/level_counts.h"
#include "perf_events/pmu.h"
#include "perf_events/timebase.h"
#include "process/environment.h"
#include "process/inheritance.h"
#include "process/kernel_refusal.h"
#include "process/preload.h"
#include "process/process_internal.h"
#include "process/settings.h"
#include "process/surroundings.h"
#include "process/tree.h"
#include "recording/replay.h"
#include "recording/tape.h"
#include "sampling/sample.h"
#include "unwinding/attribution.h"
#include "watches/watch.h"

/* Its beginning, all that most processes touch of it, lies in one page. */
LARGE_TABLE _Alignas(4096) struct settings settings;

_Atomic pid_t process_pid;
bool process_is_follower;
bool process_is_without_hardware;
struct tree_former process_former;

bool process_is_ours(void)
{
    pid_t pid = atomic_load_explicit(&process_pid, memory_order_relaxed);

    return pid != 0 && pid == (pid_t)syscall(SYS_getpid);
}

bool process_has_ended(void)
{
    return atomic_load_explicit(&process_pid, memory_order_relaxed) == 0;
}

/* ---- start ---- */

static bool bind_functions(void)
{
    const char *missing = bound_begin();
    struct line line;

    if (!missing)
        return true;
    line_begin(&line);
    line_text(&line, "the program runs unprofiled: ");
    line_text(&line, missing);
    line_text(&line, " is missing: install what libreuse depends on");
    say_begin(false, false, true);
    say_error(&line);
    return false;
}

static void tell_surroundings(const char *refusal)
{
    struct line line;

    line_begin(&line);
    line_text(&line, "the program runs unprofiled: ");
    line_text(&line, refusal);
    say(&line);
}

static void read_settings(void)
{
    const struct options *options = &settings.options;
    char message[OPTIONS_MESSAGE_MAX];
    struct line line;

    job_find((const char *const *)environ, &settings.job);
    if (options_read((const char *const *)environ, &settings.options, message, sizeof message)) {
        line_begin(&line);
        line_text(&line, message);
        line_text(&line, "; the default is used");
        say_begin(false, false, job_speaks(&settings.job));
        if (say_is_named() || !tree_is_inherited())
            say_for_job(&line);
    }
    say_begin(options->quiet, options->verbose, job_speaks(&settings.job));
    settings.sharing = options->sharing;
    settings.line_size = options->line_size;
    settings.page_size = getauxval(AT_PAGESZ);
    settings.seed = options->seed;
    if (!options->seed_given &&
        getrandom(&settings.seed, sizeof settings.seed, GRND_NONBLOCK) != sizeof settings.seed)
        settings.seed = monotonic_ns();
    settings.first_least_ns = SAMPLE_FIRST_LEAST;
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
        say_for_job(&line);
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
    if (process_is_without_hardware && settings.options.engine == ENGINE_AUTO &&
        settings.options.event[0] == '\0')
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
}

void process_begin_engine(void)
{
    uint64_t *const values[] = {&settings.seed, &settings.trap_ns,   &settings.trigger_ns,
                                &settings.cpus, &settings.page_size, &settings.stop_ns};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        *values[i] = tape_value(TAPE_SETTING, *values[i]);
    settings.width.instructions = (uint8_t)tape_value(TAPE_SETTING, settings.width.instructions);
    settings.width.accesses = (uint8_t)tape_value(TAPE_SETTING, settings.width.accesses);
    /* What does not trap would be waited for in vain, and "nothing came" be taken for an answer. */
    if (settings.trap_ns == 0)
        settings.options.registers = 0;
    look_ahead_create();
    scratch_create(settings.cpus);
    try_hardware();
    threads_begin();
}

/* The main thread's stack grows down to its limit from where the kernel has put the name of the
 * program's file: last of all, before a null word. */
static void main_stack(uint64_t *low, uint64_t *high)
{
    const char *name = (const char *)getauxval(AT_EXECFN);
    uint64_t page = settings.page_size, size = 8 << 20;
    struct rlimit limit;

    *high = name ? (uintptr_t)name + strlen(name) + 1 + sizeof(uint64_t)
                 : (uintptr_t)__builtin_frame_address(0);
    *high = (*high + page - 1) & -page;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < UINT64_C(1) << 30)
        size = limit.rlim_cur;
    *low = *high > size ? *high - size : 0;
}

static void tell_no_signals(void)
{
    struct line line;

    line_begin(&line);
    line_text(&line,
              "the program runs unprofiled: SIGTRAP, SIGSEGV and SIGBUS cannot be handled: a "
              "seccomp filter forbids it?");
    say_for_job(&line);
}

/* And finds out what an event costs, unless that is known. False: the user knows why. */
static bool take_signals(void)
{
    int result;

    if (signal_begin(handler_enter) != 0) {
        tell_no_signals();
        return false;
    }
    if (settings.width.instructions == 0)
        settings.width = processor_width();
    result = settings.trigger_ns != 0 ? 0 : handler_calibrate();
    if (result < 0)
        kernel_tell_refusal(-result);
    else if (fault_guard_begin())
        return true;
    else
        tell_no_signals();
    signal_end();
    return false;
}

/* What is known from the process that started this one. A recording is to be complete in itself. */
static void take_inheritance(void)
{
    struct inheritance inheritance;

    if (options_has_text(&settings.options, OPTION_RECORD_RAW) || !inheritance_take(&inheritance)) {
        settings.cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
        return;
    }
    settings.cpus = inheritance.cpus;
    settings.width = inheritance.width;
    process_is_without_hardware = !inheritance.has_hardware;
    settings.trigger_ns = inheritance.trigger_ns;
    settings.trap_ns = inheritance.trap_ns;
    settings.registers = inheritance.trap_ns > 0 ? REGISTERS_TRAP : REGISTERS_SILENT;
}

/* Shorter threads are never sampled. A recording is to be repeated on any kernel. */
static void choose_first_least(void)
{
    enum { SHORTEST_NS = 25 * 1000 };

    if (!options_has_text(&settings.options, OPTION_RECORD_RAW) && kernel_ends_events())
        settings.first_least_ns = SHORTEST_NS;
}

/* Or it was not tried. */
static bool has_hardware(void)
{
    return settings.options.engine != ENGINE_AUTO || pmu_in_use() || level_counts_are_made();
}

/* For the programs that this process starts, if they are to be followed. */
static void leave_inheritance(void)
{
    struct inheritance inheritance = {
        .trigger_ns = settings.trigger_ns,
        .trap_ns = settings.trap_ns,
        .registers_are_silent = settings.registers == REGISTERS_SILENT,
        .has_hardware = has_hardware(),
        .cpus = (unsigned)settings.cpus,
        .width = settings.width,
    };

    if (!(settings.options.follow & FOLLOW_EXEC))
        return;
    tree_leave();
    if (!process_is_follower)
        inheritance_leave(&inheritance);
}

void process_tell_limits(void)
{
    struct line line;

    if (process_is_follower)
        return;
    if (passed_over[0] != '\0') {
        line_begin(&line);
        line_text(&line, passed_over);
        /* Who names an event means it to be used. */
        if (settings.options.engine == ENGINE_PMU || settings.options.event[0])
            say_for_job(&line);
        else
            say_verbose(&line);
    }
    if (settings.registers == REGISTERS_TRAP || settings.registers == REGISTERS_UNWANTED ||
        !tree_first_failure(TREE_WANTS_REGISTERS))
        return;
    register_state_line(settings.registers, &line);
    say(&line);
}

void process_announce(void)
{
    struct line line;

    if (settings.registers != REGISTERS_TRAP) {
        register_state_line(settings.registers, &line);
        output_note(NOTE_WARNING, line.text + strlen("libreuse: "));
    }
    if (passed_over[0] != '\0')
        output_note(NOTE_INFORMATION, passed_over);
    if (pmu_witness_refusal()[0] != '\0')
        output_note(NOTE_INFORMATION, pmu_witness_refusal());
}

static void start(void)
{
    const char *refusal;
    sigset_t before;
    uint64_t low, high, entered = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    bool taped;
    int result;

    /* A program with more rights than who started it: it is not theirs to look into. */
    if (getauxval(AT_SECURE) || !c_library_is_known())
        return;
    environment_begin();
    memory_begin_static();
    clock_begin();
    if (!bind_functions())
        return;
    read_settings();
    refusal = surroundings_refusal();
    preload_leave_sanitizer();
    if (!(settings.options.follow & FOLLOW_EXEC))
        preload_leave();
    if (options_has_text(&settings.options, OPTION_REPLAY))
        replay_run(settings.options.replay);
    if (refusal)
        tell_surroundings(refusal);
    if (refusal || !choose_engine())
        return;
    refusal = surroundings_want_of_room();
    if (refusal) {
        tell_surroundings(refusal);
        /* What it starts has no more. */
        preload_leave();
        return;
    }
    if (kernel_filter_kills()) {
        /* What it starts has the same filter. */
        preload_leave();
        return;
    }
    memory_begin();
    descriptors_begin();
    take_inheritance();
    /* Also where costs are inherited: an emulator that a profiled program starts has no events. */
    result = handler_probe();
    if (result == -ENOSYS && surroundings_are_emulated()) {
        tell_surroundings("QEMU runs it, and has no performance events");
        return;
    }
    if (result < 0) {
        kernel_tell_refusal(-result);
        return;
    }
    if (kernel_kills_blocked() || !take_signals())
        return;
    if (settings.options.registers == 0)
        settings.registers = REGISTERS_UNWANTED;
    choose_first_least();
    process_is_follower = !tree_begin(say_is_named());
    /* A recording is to be complete in itself. */
    if (!options_has_text(&settings.options, OPTION_RECORD_RAW))
        process_former = tree_take_former();
    /* Now, for it may change its root. Others open their profiles as late as this. */
    if (!process_is_follower)
        bound_map_decoder();
    taped = replay_begin_recording();
    process_begin_engine();
    if (taped)
        tape_end();
    if (!output_begin(&settings.options, !process_is_follower)) {
        leave_inheritance();
        fault_guard_end();
        signal_end();
        return;
    }
    process_announce();
    process_end_begin();
    snapshot_begin();
    signals_block(&before);
    if (!process_is_without_hardware)
        level_counts_begin();
    /* Children need not try again. */
    process_is_without_hardware = !has_hardware();
    modules_begin();
    attribution_begin();
    interpose_thread_begin();
    interpose_prepare();
    interpose_syscall_begin();
    process_fork_begin();
    atomic_store(&process_pid, getpid());
    main_stack(&low, &high);
    leave_inheritance();
    thread_goes_on_from(&process_former);
    thread_charge_start(thread_start(low, high), entered);
    signals_restore(&before);
}

void process_start(void)
{
    static _Atomic bool started;

    if (!atomic_exchange(&started, true))
        start();
}

/* ---- descriptors ---- */

void process_move_profile(int from)
{
    sigset_t before;
    int copy;

    signals_block(&before);
    /* Adopt a copy, then let the original go: the file lives on in the copy. If the number could
     * not be changed just now, whoever wants it comes again. */
    copy = descriptor_adopt_profile((int)syscall(SYS_dup, from));
    descriptor_release_profile(output_move_descriptor(from, copy) ? from : copy);
    signals_restore(&before);
}
