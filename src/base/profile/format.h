/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The profile file: layout of every record. docs/profile-format.md is the prose for other readers.
 *
 * A file is one struct profile_file_header and then records back to back. Each record is one struct
 * record_header and `length` payload bytes (a multiple of 8). Little endian. Records are only ever
 * appended; a reader stops at the first record that is incomplete or whose checksum is wrong and
 * says how much it dropped. Unknown record types are skipped. A payload may be longer than the
 * structure a reader knows: new fields are appended within a major version (minor version bump).
 * Structures that end in text carry a NUL-terminated string, zero-padded to a multiple of 8.
 *
 * Structures that end in text or bins cannot grow; those of fixed size can.
 *
 * Identifiers (thread, context, site, module, sample, region, origin, shared mapping) are unique in
 * a file,
 * start at 1, and are defined by a record before any record refers to them; 0 means none or
 * unknown.
 *
 * A merged file holds the runs of several processes (origins, RECORD_ORIGIN). Its RECORD_RUN has
 * the keys on which all origins agree; a thread names its origin, and through it every sample does.
 * Data addresses and monotonic_ns compare only within an origin. Code addresses (and those of
 * globals) were moved so that a module has one place for all origins, at or above
 * PROFILE_MERGED_ADDRESS where no process has any.
 *
 * Times: *_ns are nanoseconds. monotonic_ns is CLOCK_MONOTONIC of the host. app_ns is CPU time of
 * one thread without the time that the profiler itself took in it (handlers and their kernel
 * entry).
 */
#ifndef REUSE_PROFILE_FORMAT_H
#define REUSE_PROFILE_FORMAT_H

#include <stdint.h>

#include "profile/format_bursts.h"
#include "profile/format_counts.h"
#include "profile/format_run.h"
#include "profile/format_samples.h"
#include "profile/format_shared.h"

#define PROFILE_MAGIC "\x89RPROF\r\n" /* 8 bytes, no terminator in the file */
enum { PROFILE_VERSION_MAJOR = 4, PROFILE_VERSION_MINOR = 2 };
#define PROFILE_BYTE_ORDER 0x01020304u
#define PROFILE_MERGED_ADDRESS 0x4000000000000000u

struct profile_file_header {
    char magic[8];
    uint32_t byte_order; /* PROFILE_BYTE_ORDER as the writer stores it */
    uint16_t version_major;
    uint16_t version_minor;
    uint32_t header_size; /* offset of the first record */
    uint32_t reserved;
};

struct record_header {
    uint16_t type;     /* enum record_type */
    uint16_t flags;    /* 0 */
    uint32_t length;   /* payload bytes, multiple of 8, at most PROFILE_RECORD_MAX */
    uint32_t sequence; /* 0, 1, 2 ...: a gap means records lost before they reached the file */
    uint32_t checksum; /* CRC-32C of the header with checksum = 0, then of the payload */
};

enum { PROFILE_RECORD_MAX = 1 << 20 };

enum record_type {
    RECORD_SCHEMA = 1,   /* text: every record type and field of the writer, for foreign readers */
    RECORD_RUN,          /* text pairs: key NUL value NUL ... ; the keys are listed below */
    RECORD_CACHE,        /* struct record_cache: one cache of the run's machine */
    RECORD_MODULE,       /* struct record_module: a loaded ELF object */
    RECORD_MODULE_END,   /* struct record_module_end: unloaded */
    RECORD_MAPPING,      /* struct record_mapping: a mapped file or anonymous mapping */
    RECORD_THREAD,       /* struct record_thread */
    RECORD_THREAD_END,   /* struct record_thread_end */
    RECORD_CONTEXT,      /* struct record_context: one node of the calling-context tree */
    RECORD_SITE,         /* struct record_site: an allocation context = a heap data object */
    RECORD_SITE_TOTALS,  /* struct record_site_totals: cumulative, the last one counts */
    RECORD_SAMPLE,       /* struct record_sample */
    RECORD_WATCH_END,    /* struct record_watch_end */
    RECORD_PROGRESS,     /* struct record_progress: what the variables of a burst did */
    RECORD_TOTALS,       /* struct record_totals: per thread, cumulative, the last one counts */
    RECORD_NOTE,         /* struct record_note: one line for the user */
    RECORD_END,          /* struct record_end: the run ended in order */
    RECORD_HISTOGRAM,    /* struct record_histogram: counts from an engine that saw every access */
    RECORD_TRANSFER,     /* struct record_transfer: coherence traffic between two threads */
    RECORD_REGION,       /* struct record_region: names a region */
    RECORD_ORIGIN,       /* struct record_origin: one process of a merged file */
    RECORD_INVALIDATION, /* struct record_invalidation: a watched line lost to another thread */
    RECORD_LINE_WATCH,   /* struct record_line_watch: all threads watched after a sampled store */
    RECORD_LINE_EVENT,   /* struct record_line_event: one visit that such a watch saw */
    RECORD_LINE_END,     /* struct record_line_end: how such a watch ended */
    RECORD_TURN,         /* struct record_turn: what a thread that polls did between two waits */
    RECORD_SERVED,       /* struct record_served: how the hardware says that accesses were served */
    RECORD_COUNTER,      /* struct record_counter: a hardware event counted over the whole run */
    RECORD_BURST,        /* struct record_burst: a run of interpreted accesses and its probes */
    RECORD_SHARED_MAPPING,   /* struct record_shared_mapping: memory shared with other processes */
    RECORD_SHARED_USE,       /* struct record_shared_use: what a burst does to a line of it */
    RECORD_PROCESS_TRANSFER, /* struct record_process_transfer: coherence traffic between processes
                              */
    RECORD_STEPS,            /* struct record_steps: how addresses follow each other in a burst */
    RECORD_TIMED_LOADS,      /* struct record_timed_loads: lines of a burst that came from memory */
    RECORD_TYPE_COUNT
};

/*
 * Keys of RECORD_RUN (values are text; numbers in decimal): engine, version, program (path of the
 * executable), command (arguments joined by blanks, quoted as a shell would need), pid, ppid, host,
 * rank (MPI), kernel, directory, start_unix_ns, start_monotonic_ns, line_size, budget_percent,
 * period_ns (fixed period or 0), seed, cpus (online), page_size, trap_cost_ns, trigger_cost_ns
 * (calibrated hidden costs), slots (debug registers per thread), registers (to be used at most),
 * registers_state (trap, taken, absent, silent, unwanted), burst (accesses),
 * sharing (1: communication was watched, 0: not), meetings (1: where no register watched it, bursts
 * told which lines threads have in common), served_by (unit and event whose records made
 * RECORD_SERVED).
 * Unknown keys are kept and shown by `reuse-report --summary -v`.
 */

#endif
