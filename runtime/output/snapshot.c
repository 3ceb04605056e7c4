/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe but for snapshot_begin(). */
#include "output/snapshot.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/alignment_check.h"
#include "arch/arch.h"
#include "bursts/thread.h"
#include "interposition/interpose_signal.h"
#include "memory/maps.h"
#include "memory/memory.h"
#include "output/output.h"
#include "output/say.h"
#include "perf_events/level_counts.h"
#include "perf_events/served.h"
#include "perf_events/timebase.h"
#include "process/kernel_use.h"
#include "process/process.h"
#include "process/settings.h"
#include "recording/tape.h"
#include "unwinding/attribution.h"

#include "signal_safe.h"

enum {
    SITES_REMEMBERED = 64 * 1024,
    MAPPINGS_REMEMBERED = 8 * 1024, /* a power of two; half of it is used */
    LARGEST_PART = 4,               /* snapshots by time take a 1/4 of the profile at most */
};

/* What earlier snapshots have written, so that nothing is written twice. Mapped at start-up; used
 * by the thread that holds `busy`. */
static struct memory {
    uint64_t sites[SITES_REMEMBERED]; /* hash of the last totals; 0: none */
    uint64_t mappings[MAPPINGS_REMEMBERED];
    unsigned mapping_count;
} * memory;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static _Atomic uint64_t next_ns; /* CLOCK_MONOTONIC of the next one by time; 0: none */
static uint64_t every_ns;        /* written at start-up */
static _Atomic uint64_t written; /* bytes, by snapshots */
static _Atomic bool missed;      /* a signal came where none could be taken */

/* The signal; 0: none, or the target has it. Written at start-up. */
static int number;
static _Atomic pid_t owner; /* the process whose profile it is about */
static _Atomic bool taken;  /* the target has a handler of its own, or ignores it */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* ---- what a snapshot writes ---- */

/* Those of the calling thread are its own to write; of others a copy is. */
static void write_thread(struct thread *thread)
{
    uint64_t app_ns = thread_app_ns(thread);
    struct record_totals totals;

    if (app_ns == thread->totals.app_ns)
        return;
    if (thread == thread_current()) {
        thread_write_totals(thread, app_ns);
        return;
    }
    totals = thread->totals;
    totals.monotonic_ns = monotonic_ns();
    totals.app_ns = app_ns;
    totals.handler_ns = atomic_load(&thread->overhead_ns);
    totals.besides_ns = atomic_load(&thread->besides_ns);
    output_append(RECORD_TOTALS, &totals, sizeof totals, NULL, 0);
    served_write(thread);
}

static bool is_new_site(const struct record_site_totals *totals)
{
    uint64_t hash = mix(mix(mix(mix(1, totals->blocks), totals->bytes), totals->largest_bytes),
                        totals->live_bytes_peak);

    if (totals->site_id >= SITES_REMEMBERED || memory->sites[totals->site_id] == hash)
        return false;
    memory->sites[totals->site_id] = hash;
    return true;
}

static bool is_new_mapping(const struct maps_entry *entry)
{
    uint64_t hash = mix(mix(mix(1, entry->start), entry->end), entry->offset);

    for (const char *at = entry->path; *at; at++)
        hash = mix(hash, (unsigned char)*at);
    hash |= 1;
    for (size_t i = hash % MAPPINGS_REMEMBERED;; i = (i + 1) % MAPPINGS_REMEMBERED) {
        if (memory->mappings[i] == hash)
            return false;
        if (memory->mappings[i] != 0)
            continue;
        if (memory->mapping_count >= MAPPINGS_REMEMBERED / 2)
            return false;
        memory->mapping_count++;
        memory->mappings[i] = hash;
        return true;
    }
}

static void write_all(void)
{
    uint64_t before;

    /* Before the first sample there is no file to write to. */
    if (output_path()[0] == '\0')
        return;
    output_flush();
    before = output_bytes();
    for (struct thread *thread = thread_first(); thread; thread = thread->next)
        if (atomic_load(&thread->alive)) {
            if (pmu_in_use())
                served_take(thread);
            write_thread(thread);
        }
    attribution_site_totals(is_new_site);
    output_mappings(is_new_mapping);
    level_counts_write();
    kernel_use_write();
    output_flush();
    atomic_fetch_add(&written, output_bytes() - before);
}

/* On a stack of ours, with signals blocked. False: another thread is at it. */
static bool take(void)
{
    if (atomic_flag_test_and_set(&busy))
        return false;
    write_all();
    atomic_flag_clear(&busy);
    return true;
}

/* ---- by time ---- */

static bool is_time(uint64_t now)
{
    uint64_t due = atomic_load_explicit(&next_ns, memory_order_relaxed);

    return due != 0 && now >= due && atomic_compare_exchange_strong(&next_ns, &due, now + every_ns);
}

void snapshot_if_due(void)
{
    if (every_ns == 0 && number == 0)
        return;
    if (atomic_load_explicit(&missed, memory_order_relaxed) && atomic_exchange(&missed, false)) {
        take();
        return;
    }
    if (every_ns == 0 || !is_time(monotonic_ns()))
        return;
    if (atomic_load(&written) * LARGEST_PART <= output_bytes())
        take();
    else
        output_flush();
}

/* ---- by signal ---- */

static void tell_snapshot(void)
{
    struct line line;

    line_begin(&line);
    if (output_path()[0] == '\0') {
        line_text(&line, "no snapshot: there is no sample yet");
        say_verbose(&line);
        return;
    }
    line_text(&line, "snapshot with ");
    line_number(&line, output_samples());
    line_text(&line, " samples; look at it with: reuse-report ");
    line_text(&line, output_path());
    say(&line);
}

static void take_for_signal(void *unused)
{
    (void)unused;
    if (take())
        tell_snapshot();
}

/* In a process that is no longer ours: what the signal does by default. */
static void pass_on(int signal)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    real_sigaction(signal, &action, NULL);
    syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), signal);
}

static void on_snapshot(int signal, siginfo_t *information, void *context)
{
    struct thread *thread = thread_current();
    int saved = errno;
    uint64_t entered;

    alignment_check_end();
    (void)information;
    (void)context;
    if (atomic_load(&owner) != (pid_t)syscall(SYS_getpid)) {
        pass_on(signal);
    } else if (process_is_ours()) {
        if (!thread || !atomic_load(&thread->alive) || thread->in_handler) {
            atomic_store(&missed, true);
        } else {
            entered = thread_cpu_ns();
            thread->in_handler = true;
            arch_call_on_stack(thread->handler_stack + HANDLER_STACK, take_for_signal, NULL);
            thread->in_handler = false;
            atomic_fetch_add(&thread->overhead_ns, thread_cpu_ns() - entered);
        }
    }
    errno = saved;
}

static const char *signal_name(void)
{
    return number == SIGUSR1 ? "SIGUSR1" : "SIGUSR2";
}

static void tell_taken(const char *how)
{
    struct line line;

    if (atomic_exchange(&taken, true))
        return;
    line_begin(&line);
    line_text(&line, "no snapshot on ");
    line_text(&line, signal_name());
    line_text(&line, how);
    line_text(&line, number == SIGUSR1 ? ": try REUSE_SNAPSHOT=SIGUSR2, or a time such as 60s"
                                       : ": try REUSE_SNAPSHOT=SIGUSR1, or a time such as 60s");
    say_error(&line);
}

static int install(struct sigaction *old)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_snapshot;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    sigdelset(&action.sa_mask, SIGSEGV);
    sigdelset(&action.sa_mask, SIGBUS);
    sigdelset(&action.sa_mask, SIGILL);
    sigdelset(&action.sa_mask, SIGFPE);
    return real_sigaction(number, &action, old);
}

static bool is_default(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

bool snapshot_is_signal(int signal)
{
    return number != 0 && signal == number;
}

int snapshot_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    bool ours = atomic_load(&owner) == (pid_t)syscall(SYS_getpid);
    struct sigaction previous;
    int result;

    /* Its default is to be killed; what is left of that is our handler. */
    if (action && ours && is_default(action))
        result = install(&previous);
    else
        result = next_sigaction(signal, action, &previous);
    if (result != 0)
        return result;
    if (action && ours && !is_default(action))
        tell_taken(!(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_IGN
                       ? " from here on: the program ignores it"
                       : " from here on: the program handles it itself");
    if (old) {
        if (previous.sa_sigaction == on_snapshot)
            memset(&previous, 0, sizeof previous);
        *old = previous;
    }
    return 0;
}

/* ---- beginnings ---- */

static void begin_signal(void)
{
    struct sigaction before;

    number = settings.options.snapshot_signal;
    if (real_sigaction(number, NULL, &before) != 0) {
        number = 0;
        return;
    }
    atomic_store(&owner, (pid_t)syscall(SYS_getpid));
    if (is_default(&before))
        install(NULL);
    else
        tell_taken(": the program was started with it ignored or handled");
}

void snapshot_begin(void)
{
    struct line line;

    if (settings.options.snapshot_signal == 0 && settings.options.snapshot_every <= 0)
        return;
    if (tape_mode != TAPE_OFF) {
        line_begin(&line);
        line_text(&line, "no snapshots while REUSE_RECORD_RAW records the run: a replay could not "
                         "repeat them");
        say_error(&line);
        return;
    }
    memory = memory_map(sizeof *memory);
    if (!memory) {
        line_begin(&line);
        line_text(&line, "no snapshots: out of memory");
        say_error(&line);
        return;
    }
    every_ns = (uint64_t)(settings.options.snapshot_every * 1e9);
    if (every_ns > 0)
        atomic_store(&next_ns, monotonic_ns() + every_ns);
    if (settings.options.snapshot_signal != 0)
        begin_signal();
}

void snapshot_after_fork(void)
{
    if (!memory)
        return;
    memset(memory, 0, sizeof *memory);
    atomic_flag_clear(&busy);
    atomic_store(&written, 0);
    atomic_store(&missed, false);
    if (every_ns > 0)
        atomic_store(&next_ns, monotonic_ns() + every_ns);
    if (number != 0)
        atomic_store(&owner, (pid_t)syscall(SYS_getpid));
}
