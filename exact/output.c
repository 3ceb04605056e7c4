/* SPDX-License-Identifier: BSD-3-Clause */
/* See output.h. */
#include "output.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "heap.h"
#include "histograms.h"
#include "locality.h"
#include "modules.h"
#include "output_profile.h"
#include "output_run.h"
#include "partition_groups.h"
#include "partitions.h"
#include "process_sharing.h"
#include "profile/writer.h"
#include "regions.h"
#include "say.h"
#include "shared_cache.h"
#include "sharing.h"
#include "simulate/simulate.h"

static const uint64_t second_ns = 1000000000;

static const struct settings *settings;
static uint32_t modules_written; /* within a writing */

/* One snapshot at a time; next_snapshot_ns is read without it. */
static pthread_mutex_t snapshot_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t next_snapshot_ns;

static void write_new_modules(void)
{
    /* The list has the latest first: look for the ones not written, in the order of their numbers.
     */
    for (;;) {
        struct module *module = modules_all();
        while (module != NULL && module->module_id != modules_written + 1)
            module = module->following;
        if (module == NULL)
            return;
        struct record_module record = {.module_id = module->module_id,
                                       .build_id_size = module->image.build_id_size,
                                       .load_bias = module->load_bias,
                                       .start = module->start,
                                       .end = module->end,
                                       .monotonic_ns = module->loaded_ns};
        memcpy(record.build_id, module->image.build_id, sizeof record.build_id);
        output_append(RECORD_MODULE, &record, sizeof record, module->path);
        modules_written++;
    }
}

static void write_unloaded_modules(void)
{
    for (const struct module *module = modules_all(); module != NULL; module = module->following) {
        struct record_module_end record = {.module_id = module->module_id,
                                           .monotonic_ns = module->unloaded_ns};
        if (module->unloaded_ns != 0)
            output_append(RECORD_MODULE_END, &record, sizeof record, NULL);
    }
}

static void announce(struct guest_thread *thread)
{
    if (thread->announced)
        return;
    struct record_thread record = {.thread_id = thread->thread_id,
                                   .tid = thread->tid,
                                   .monotonic_ns = thread->started_ns,
                                   .stack_low = thread->stack_low,
                                   .stack_high = thread->stack_high};
    /* A thread that was never given a name has QEMU's: the program's is meant. */
    const char *program = output_run_program(), *slash = strrchr(program, '/');
    if (strncmp(thread->name, "qemu-", 5) == 0)
        snprintf(record.name, sizeof record.name, "%s", slash != NULL ? slash + 1 : program);
    else
        memcpy(record.name, thread->name, sizeof record.name);
    output_append(RECORD_THREAD, &record, sizeof record, NULL);
    thread->announced = true;
}

/* From the end of a thread, under its lock: its last word. */
static void write_thread(struct guest_thread *thread, const struct locality_histograms *histograms)
{
    struct profile_writer *writer = output_begin();
    if (writer == NULL)
        return;
    announce(thread);
    histograms_write(writer, SCOPE_THREAD, thread->thread_id, histograms, output_now_ns());
    output_end();
}

static void write_thread_end(struct guest_thread *thread,
                             const struct locality_histograms *histograms)
{
    write_thread(thread, histograms);
    if (output_begin() == NULL)
        return;
    struct record_thread_end record = {
        .thread_id = thread->thread_id, .monotonic_ns = output_now_ns(), .app_ns = thread->cpu_ns};
    output_append(RECORD_THREAD_END, &record, sizeof record, NULL);
    output_end();
}

/* What simulated hardware has recorded: after everything that the records refer to. */
static void write_simulated(bool finishing)
{
    struct recorder collected = {0};
    if (!simulate_is_on())
        return;
    for (struct guest_thread *thread = stream_all_threads(); thread != NULL;
         thread = thread->following) {
        pthread_mutex_lock(&thread->lock);
        if (finishing && !thread->ended)
            simulate_end(thread);
        if (!thread->announced && output_begin() != NULL) {
            announce(thread);
            output_end();
        }
        simulate_collect(thread, &collected);
        pthread_mutex_unlock(&thread->lock);
    }
    simulate_collect_shared(&collected, finishing);
    struct profile_writer *writer = output_begin();
    if (writer != NULL) {
        uint64_t now = output_now_ns();
        write_new_modules();
        heap_write(writer, now);
        recorder_write(&collected, writer, now);
        output_end();
    }
    recorder_free(&collected);
}

static void snapshot(bool all)
{
    struct locality_histograms *total = calloc(1, sizeof *total), *one = malloc(sizeof *one);
    struct partition_sums *partitions = partition_sums_create();
    struct exact_counts counts;
    bool counted = exact_counts_create(&counts, locality_line_sizes());
    if (total == NULL || one == NULL || partitions == NULL || !counted) {
        output_note("out of memory for a snapshot of the counts");
    } else {
        locality_add_ended(total, &counts);
        locality_add_ended_partitions(partitions);
        for (struct guest_thread *thread = stream_all_threads(); thread != NULL;
             thread = thread->following) {
            pthread_mutex_lock(&thread->lock);
            if (!thread->ended) {
                memset(one, 0, sizeof *one);
                locality_add_thread(thread->consumer[LOCALITY_CONSUMER], one, &counts);
                locality_add_partitions(thread->consumer[LOCALITY_CONSUMER], partitions);
                histograms_add(total, one);
                write_thread(thread, one);
            }
            pthread_mutex_unlock(&thread->lock);
        }
        struct profile_writer *writer = output_begin();
        if (writer != NULL) {
            uint64_t now = output_now_ns();
            write_new_modules();
            heap_write(writer, now);
            if (all)
                write_unloaded_modules();
            histograms_write(writer, SCOPE_PROCESS, 0, total, now);
            partition_sums_write(partitions, writer, &counts, now);
            shared_cache_write(writer, all, now);
            sharing_write(writer, all, now);
            process_sharing_write(writer, now);
            regions_write(writer, now);
            histograms_write_by(writer, SCOPE_REGION, &counts, now);
            histograms_write_by(writer, SCOPE_OBJECT, &counts, now);
            histograms_write_by(writer, SCOPE_LINE, &counts, now);
            output_end();
        }
    }
    if (counted)
        exact_counts_destroy(&counts);
    partition_sums_destroy(partitions);
    free(total);
    free(one);
    write_simulated(all);
}

void output_start(const struct settings *given)
{
    settings = given;
    output_profile_start(given);
    next_snapshot_ns = output_start_ns() + 2 * second_ns;
    locality_thread_done = write_thread_end;
    stream_after_batch = output_when_due;
}

void output_snapshot(void)
{
    pthread_mutex_lock(&snapshot_lock);
    snapshot(false);
    pthread_mutex_unlock(&snapshot_lock);
}

/*
 * Every snapshot repeats all counts. Each comes twice as long after the start as the one before, so
 * their total stays within twice the last one.
 */
void output_when_due(struct guest_thread *thread)
{
    uint64_t now = output_now_ns();
    if (simulate_is_due(thread) && pthread_mutex_trylock(&snapshot_lock) == 0) {
        write_simulated(false);
        pthread_mutex_unlock(&snapshot_lock);
    }
    if (now < __atomic_load_n(&next_snapshot_ns, __ATOMIC_RELAXED) ||
        pthread_mutex_trylock(&snapshot_lock) != 0)
        return;
    snapshot(false);
    uint64_t elapsed = output_now_ns() - output_start_ns();
    __atomic_store_n(&next_snapshot_ns, output_start_ns() + 2 * elapsed, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&snapshot_lock);
}

void output_note(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!settings->options.quiet)
        say("%s", text);
    if (output_begin() == NULL)
        return;
    struct record_note record = {.severity = NOTE_WARNING};
    output_append(RECORD_NOTE, &record, sizeof record, text);
    output_end();
}

/* What a sample of the lines is worth, at 95 %. */
static void note_error(const struct locality_histograms *total)
{
    char text[512];
    double accesses = (double)total->accesses[0];
    if (locality_rate() == 1 || accesses <= 0 || output_begin() == NULL)
        return;
    snprintf(text, sizeof text,
             "Only 1 in %" PRIu32
             " lines was followed. Of the whole program, the share of accesses "
             "that reuse a line late is good to %.2f points, cache sizes and numbers of lines to "
             "%.1f %% (95 %%). Source lines and objects have no such bound: a cache line that is "
             "used very often, as of a stack, counts with all its accesses or with none, and a "
             "share may be off by as much as that line has",
             locality_rate(), 196 * sqrt(total->share_error2) / accesses,
             196 * sqrt(total->lines_error2) / accesses);
    struct record_note record = {.severity = NOTE_INFORMATION};
    output_append(RECORD_NOTE, &record, sizeof record, text);
    output_end();
}

/* Threads that end with the process have no end of their own. */
static void write_ends_of_live_threads(void)
{
    for (struct guest_thread *thread = stream_all_threads(); thread != NULL;
         thread = thread->following) {
        /* The clock of a thread of this process by its number: clock_getcpuclockid(3). */
        clockid_t clock = (clockid_t)(~(unsigned)thread->tid << 3 | 6);
        struct timespec cpu;
        if (thread->ended || clock_gettime(clock, &cpu) != 0 || output_begin() == NULL)
            continue;
        struct record_thread_end record = {.thread_id = thread->thread_id,
                                           .monotonic_ns = output_now_ns(),
                                           .app_ns = (uint64_t)cpu.tv_sec * 1000000000u +
                                                     (uint64_t)cpu.tv_nsec};
        output_append(RECORD_THREAD_END, &record, sizeof record, NULL);
        output_end();
    }
}

static void finish(int exit_status)
{
    pthread_mutex_lock(&snapshot_lock);
    uint64_t accesses = 0, bytes = 0, lost = 0, threads = 0, lines = 0;
    struct locality_histograms *total = calloc(1, sizeof *total);
    for (struct guest_thread *thread = stream_all_threads(); thread != NULL;
         thread = thread->following, threads++) {
        bytes += locality_bytes(thread->consumer[LOCALITY_CONSUMER]);
        lost += locality_lost(thread->consumer[LOCALITY_CONSUMER]);
    }
    lost += sharing_lost() + process_sharing_lost() + shared_cache_lost();
    const char *name;
    for (unsigned i = 0; (name = regions_unknown_name(i)) != NULL; i++)
        output_note("no function '%s' was loaded: it is inlined, or its name was stripped", name);
    partition_groups_note_missing();
    if (lost > 0)
        output_note("%" PRIu64 " accesses could not be followed for want of memory", lost);
    snapshot(true);
    for (struct guest_thread *thread = stream_all_threads(); thread != NULL && total != NULL;
         thread = thread->following)
        if (!thread->ended)
            locality_add_thread(thread->consumer[LOCALITY_CONSUMER], total, NULL);
    if (total != NULL) {
        locality_add_ended(total, NULL);
        accesses = total->accesses[0];
        lines = total->cold[0];
        note_error(total);
    }
    free(total);
    write_ends_of_live_threads();
    if (output_begin() != NULL) {
        uint64_t now = output_now_ns();
        struct record_end record = {.monotonic_ns = now,
                                    .wall_ns = now - output_start_ns(),
                                    .exit_status = (uint32_t)exit_status};
        output_append(RECORD_END, &record, sizeof record, NULL);
        output_end();
        const char *path = output_profile_path();
        if (path != NULL && !settings->options.quiet &&
            (!output_profile_is_of_child() || settings->options.verbose))
            say("%" PRIu64 " accesses of %" PRIu64
                " thread%s in %.1f s -> %s; see it with: reuse-report %s",
                accesses, threads, threads == 1 ? "" : "s",
                (double)(now - output_start_ns()) / (double)second_ns, path, path);
        if (settings->options.verbose)
            say("analysis took %.1f MB for %" PRIu64 " distinct lines, summed over the threads",
                (double)bytes / 1e6, lines);
    }
    pthread_mutex_unlock(&snapshot_lock);
}

void output_finish(int exit_status)
{
    finish(exit_status);
}

static void drain_all(void)
{
    for (struct guest_thread *thread = stream_all_threads(); thread != NULL;
         thread = thread->following)
        stream_drain(thread);
}

void output_before_exec(void)
{
    if (!output_profile_is_of_child() || output_profile_is_created()) {
        drain_all();
        finish(0);
    }
}

void output_killed(int number)
{
    drain_all();
    output_note("the program was ended by signal %d%s", number,
                number == SIGILL ? " (QEMU cannot run AVX-512; build with -march=x86-64-v3 at most)"
                                 : "");
    finish(128 + number);
}

void output_after_fork(bool go_on)
{
    pthread_mutex_init(&snapshot_lock, NULL);
    say_after_fork();
    output_profile_after_fork(!go_on);
    modules_written = 0;
    next_snapshot_ns = output_start_ns() + 2 * second_ns;
}
