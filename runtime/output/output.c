/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe but for output_begin(). */
#include "output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bursts/cost_account.h"
#include "bursts/first_cache.h"
#include "bursts/thread.h"
#include "host_caches.h"
#include "interposition/descriptors.h"
#include "interposition/interpose_signal.h"
#include "large_table.h"
#include "memory/maps.h"
#include "memory/memory.h"
#include "memory/modules.h"
#include "memory/regions.h"
#include "output/output_name.h"
#include "output/profile_file.h"
#include "output/say.h"
#include "output/snapshot.h"
#include "perf_events/timebase.h"
#include "process/process.h"
#include "process/run_record.h"
#include "process/settings.h"
#include "process/tree.h"
#include "profile/writer.h"
#include "recording/tape.h"
#include "unwinding/attribution.h"

#include "signal_safe.h"

enum { FLUSH_INTERVAL_NS = 100 * 1000 * 1000 };

enum output_state { OUTPUT_CLOSED, OUTPUT_LAZY, OUTPUT_OPENING, OUTPUT_OPEN, OUTPUT_FAILED };

/* Moves by compare-and-swap; OUTPUT_OPENING belongs to the thread that opens the file. */
static _Atomic int state;
static struct profile_writer writer; /* has its own lock */
static unsigned char *buffer;
static LARGE_TABLE struct output_name name; /* written before the file is opened */
static _Atomic uint64_t samples;
static uint64_t started_ns; /* CLOCK_MONOTONIC; written at start-up and after fork */
static _Atomic bool loss_told;

const char *output_path(void)
{
    return atomic_load(&state) == OUTPUT_OPEN ? name.path : "";
}

uint64_t output_samples(void)
{
    return atomic_load_explicit(&samples, memory_order_relaxed);
}

void output_count_sample(void)
{
    atomic_fetch_add_explicit(&samples, 1, memory_order_relaxed);
    tree_count_sample();
}

uint64_t output_bytes(void)
{
    return tape_value(TAPE_COUNT, writer.written_bytes);
}

bool output_usable(void)
{
    int now = atomic_load_explicit(&state, memory_order_relaxed);

    return now != OUTPUT_FAILED && now != OUTPUT_CLOSED;
}

const char *output_all(void)
{
    static LARGE_TABLE char all[OUTPUT_NAME_ALL_MAX]; /* asked for once, at the process's end */

    output_name_all(&name, settings.options.output, all);
    return all;
}

/* The words of an errno that a user of files meets. */
static const char *advice(int error)
{
    switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
        return "): choose another place with REUSE_OUTPUT or reuse-run -o";
    case ENOENT:
    case ENOTDIR:
        return "): create the directory, or choose another with REUSE_OUTPUT";
    case ENOSPC:
    case EDQUOT:
        return "): make room, or choose another place with REUSE_OUTPUT";
    default:
        return ")";
    }
}

/* Once in a tree: a folder that cannot be written to is the same for all. */
static void tell_open_failure(int error)
{
    struct line line;

    if (!tree_first_failure(TREE_WANTS_FILE))
        return;
    line_begin(&line);
    line_text(&line, "no profile: cannot create ");
    line_text(&line, name.path);
    line_text(&line, " (");
    line_error(&line, error);
    line_text(&line, advice(error));
    say_error(&line);
}

static bool append(enum record_type type, const void *fixed, size_t size, const void *tail,
                   size_t tail_size)
{
    enum cost_part before = cost_enter(COST_WRITING);
    bool taped = tape_record(type, fixed, size, tail, tail_size);
    bool appended =
        profile_writer_append(&writer, type, fixed, size, tail, tail_size, monotonic_ns());

    if (taped)
        tape_record_done();
    cost_leave(before);
    return appended;
}

static void append_cache(void *user, const struct record_cache *cache)
{
    (void)user;
    /* A replay has no machine: what is recorded for it does not hang on one, either. */
    if (cache->level == 1 && tape_mode == TAPE_OFF)
        first_cache_describe(cache);
    append(RECORD_CACHE, cache, sizeof *cache, NULL, 0);
}

static bool is_regular(int descriptor)
{
    struct stat status;

    return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

/* Opens the file and writes what describes the run. The caller has moved state to OPENING. */
static bool open_file(void)
{
    struct run_text text;
    int created = profile_file_create(name.path, sizeof name.path, name.by_process);
    bool is_new = created >= 0 && is_regular(created);
    int descriptor = descriptor_adopt_profile(created), error = -descriptor;

    if (!buffer)
        buffer = memory_map(PROFILE_WRITER_BUFFER);
    if (descriptor < 0 || !buffer) {
        if (is_new)
            syscall(SYS_unlinkat, AT_FDCWD, name.path, 0);
        tell_open_failure(error);
        atomic_store(&state, OUTPUT_FAILED);
        return false;
    }
    profile_writer_open(&writer, descriptor, buffer, FLUSH_INTERVAL_NS);
    tree_count_profile(true);
    if (tape_mode == TAPE_REPLAYS) {
        /* The tape has the records of its own run. */
        atomic_store(&state, OUTPUT_OPEN);
        return true;
    }
    run_record_make(&text, started_ns);
    append(RECORD_RUN, text.bytes, text.length, NULL, 0);
    host_caches_each(append_cache, NULL);
    atomic_store(&state, OUTPUT_OPEN);
    modules_announce();
    return true;
}

bool output_begin(const struct options *options, bool eager)
{
    started_ns = monotonic_ns();
    atomic_store(&samples, 0);
    if (!output_name_choose(&name, options)) {
        atomic_store(&state, OUTPUT_FAILED);
        return false;
    }
    if (!eager) {
        atomic_store(&state, OUTPUT_LAZY);
        return true;
    }
    atomic_store(&state, OUTPUT_OPENING);
    return open_file();
}

/* The first record of a lazily opened file. What was announced before is announced again. */
static bool open_lazily(void)
{
    int expected = OUTPUT_LAZY;

    if (!atomic_compare_exchange_strong(&state, &expected, OUTPUT_OPENING))
        return expected == OUTPUT_OPEN;
    if (!open_file())
        return false;
    process_announce();
    attribution_announce();
    threads_announce();
    for (uint32_t i = 1; i <= regions_count(); i++)
        region_announce(i);
    return true;
}

void output_insist(void)
{
    open_lazily();
}

static void tell_write_failure(void)
{
    struct line line;
    bool nothing;

    if (atomic_exchange(&loss_told, true))
        return;
    /* Without a single record it would be a file that the report refuses. */
    nothing = writer.written_bytes <= sizeof(struct profile_file_header);
    if (nothing && writer.regular) {
        syscall(SYS_unlinkat, AT_FDCWD, name.path, 0);
        tree_count_profile(false);
    }
    atomic_store(&state, OUTPUT_FAILED);
    if (!tree_first_failure(TREE_WANTS_FILE))
        return;
    line_begin(&line);
    line_text(&line,
              nothing ? "no profile: cannot write to " : "the profile ends here: cannot write to ");
    line_text(&line, name.path);
    line_text(&line, " (");
    line_error(&line, writer.error);
    line_text(&line, writer.state == WRITER_DISK_FULL ? ", disk full)" : ")");
    if (!nothing)
        line_text(&line, "; what is written stays readable");
    say_error(&line);
}

bool output_append(enum record_type type, const void *fixed, size_t size, const void *tail,
                   size_t tail_size)
{
    int now = atomic_load_explicit(&state, memory_order_acquire);

    if (now == OUTPUT_LAZY) {
        /* Only what was sampled is worth a file. */
        if ((type != RECORD_BURST && type != RECORD_SAMPLE) || !open_lazily())
            return false;
    } else if (now != OUTPUT_OPEN) {
        return false;
    }
    if (append(type, fixed, size, tail, tail_size))
        return true;
    if (writer.state == WRITER_DISK_FULL || writer.state == WRITER_FAILED)
        tell_write_failure();
    return false;
}

void output_note(enum note_severity severity, const char *text)
{
    struct record_note note = {.severity = severity};
    sigset_t before;

    signals_block(&before);
    output_append(RECORD_NOTE, &note, offsetof(struct record_note, text), text, strlen(text) + 1);
    signals_restore(&before);
}

void output_flush(void)
{
    if (atomic_load(&state) == OUTPUT_OPEN)
        profile_writer_flush(&writer, monotonic_ns());
}

void output_settle(void)
{
    /* A tape repeats what was recorded, clocks included. */
    if (tape_mode == TAPE_OFF && atomic_load(&state) == OUTPUT_OPEN)
        profile_writer_settle(&writer, monotonic_ns());
}

/* Mapped files and the heap, for naming addresses that are in no object we know. */
static bool append_mapping(void *filter, const struct maps_entry *entry)
{
    bool (*wanted)(const struct maps_entry *) = *(bool (**)(const struct maps_entry *))filter;
    struct record_mapping record = {
        .start = entry->start,
        .end = entry->end,
        .offset = entry->offset,
        .monotonic_ns = monotonic_ns(),
        .flags = entry->shared ? MAPPING_SHARED : 0,
    };

    if (wanted && !wanted(entry))
        return true;
    if (entry->path[0] == '\0')
        record.flags |= MAPPING_ANONYMOUS;
    else if (strcmp(entry->path, "[heap]") == 0)
        record.flags |= MAPPING_HEAP | MAPPING_ANONYMOUS;
    else if (strcmp(entry->path, "[stack]") == 0)
        record.flags |= MAPPING_STACK | MAPPING_ANONYMOUS;
    output_append(RECORD_MAPPING, &record, offsetof(struct record_mapping, path), entry->path,
                  strlen(entry->path) + 1);
    return output_usable();
}

void output_mappings(bool (*wanted)(const struct maps_entry *))
{
    if (atomic_load(&state) == OUTPUT_OPEN)
        maps_each(append_mapping, &wanted);
}

void output_before_exec(void)
{
    struct record_end end = {.monotonic_ns = monotonic_ns()};
    int expected = OUTPUT_OPEN;

    if (atomic_load(&state) != OUTPUT_OPEN)
        return;
    if (output_samples() == 0) {
        /* Should exec fail, the next sample opens the file again. */
        if (atomic_compare_exchange_strong(&state, &expected, OUTPUT_LAZY)) {
            descriptor_release_profile(writer.descriptor);
            syscall(SYS_unlinkat, AT_FDCWD, name.path, 0);
            tree_count_profile(false);
        }
        return;
    }
    end.wall_ns = end.monotonic_ns - started_ns;
    output_append(RECORD_END, &end, sizeof end, NULL, 0);
    output_flush();
}

bool output_move_descriptor(int from, int to)
{
    enum output_state now = atomic_load(&state);

    /* Until it is open, its number is known to its opener alone. */
    if (now == OUTPUT_OPENING) {
        sched_yield();
        return false;
    }
    return now != OUTPUT_OPEN || writer.descriptor != from ||
           profile_writer_set_descriptor(&writer, to);
}

void output_forget(void)
{
    atomic_store(&state, OUTPUT_CLOSED);
}

void output_finish(void)
{
    struct record_end end = {.monotonic_ns = monotonic_ns()};

    if (atomic_load(&state) != OUTPUT_OPEN) {
        atomic_store(&state, OUTPUT_CLOSED);
        return;
    }
    if (tape_mode != TAPE_REPLAYS) {
        output_mappings(NULL);
        end.wall_ns = end.monotonic_ns - started_ns;
        output_append(RECORD_END, &end, sizeof end, NULL, 0);
    }
    profile_writer_flush(&writer, end.monotonic_ns);
    if (writer.state == WRITER_DISK_FULL || writer.state == WRITER_FAILED)
        tell_write_failure();
    atomic_store(&state, OUTPUT_CLOSED);
    descriptor_release_profile(writer.descriptor);
}

void output_reset_after_fork(void)
{
    memset(&writer, 0, sizeof writer);
    atomic_store(&loss_told, false);
    output_begin(&settings.options, false);
    snapshot_after_fork();
}
