/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records that count: what the hardware says of its own samples and of whole runs, histograms and
 * transfers of the exact engine. What all records have in common: format.h.
 */
#ifndef REUSE_PROFILE_FORMAT_COUNTS_H
#define REUSE_PROFILE_FORMAT_COUNTS_H

#include <stdint.h>

enum served_flags {
    SERVED_LATENCY = 1,            /* the unit told latencies */
    SERVED_REMOTE = 2,             /* by another NUMA node or socket */
    SERVED_MODIFIED_ELSEWHERE = 4, /* the line was modified in another core's cache (HITM) */
};

/* Addresses of globals are kept apart by as much: an array has a record for each such piece. */
enum { SERVED_GLOBAL_BYTES = 1 << 20 };

/*
 * Accesses of a thread that a hardware unit sampled and that are alike: same instruction, object,
 * source of the data, translation and class of latency. Records of one kind add up. They are
 * samples of their own, beside those of RECORD_SAMPLE, and say nothing of reuse.
 */
struct record_served {
    uint32_t thread_id;
    uint32_t object_reference;
    uint64_t monotonic_ns; /* when it was written: not before the last of its samples */
    uint64_t ip;           /* of the access; 0 not told */
    /* OBJECT_GLOBAL: the lowest and the highest address touched; of others 0 */
    uint64_t address_low, address_high;
    uint8_t object_kind;   /* enum object_kind */
    uint8_t level;         /* enum access_level (pmu/access_record.h) */
    uint8_t translation;   /* enum access_translation */
    uint8_t kind;          /* flags of enum access_kind: both for a read-modify-write */
    uint8_t latency_class; /* 4 to an octave; 0 without SERVED_LATENCY */
    uint8_t flags;         /* enum served_flags */
    uint16_t reserved;
    uint64_t samples;
    uint64_t weight;  /* events of the unit that they stand for: accesses, loads or operations */
    uint64_t latency; /* sum over the samples, cycles */
};

enum counter_kind {
    COUNTER_FILLS = 1,       /* lines that come into a level */
    COUNTER_WRITE_BACKS = 2, /* lines that leave it because they were written to */
};

enum counter_flags {
    COUNTER_HAS_PREFETCHES = 1,
    COUNTER_MAY_HAVE_PREFETCHES = 2, /* the core decides */
    COUNTER_HAS_CODE = 4,
    COUNTER_LOADS_ONLY = 8,
    COUNTER_SUBTRACTED = 16, /* to be taken off what others of that level and kind count */
};

/* What a trial at the start of the run said: see src/observe/pmu/level_counters.h. */
enum counter_trust {
    COUNTER_TRUSTED = 1, /* counted as many as there were */
    COUNTER_UNTRIED = 2, /* nothing is known that it must count */
    COUNTER_SILENT = 3,  /* opened, but counted nothing */
    COUNTER_WRONG = 4,   /* counted, but not that */
};

/*
 * A hardware event of the whole process, user space, from the start of the profiler to its end;
 * cumulative, the last one of each name, type and config counts. In a merged file the sum.
 */
struct record_counter {
    uint32_t type;  /* perf_event_attr */
    uint16_t flags; /* enum counter_flags */
    uint8_t kind;   /* enum counter_kind */
    uint8_t trust;  /* enum counter_trust */
    uint64_t config;
    uint64_t levels; /* bit n: of cache level n; bit 0: of the outermost */
    uint64_t count;  /* as it was read */
    /* Sums over threads: how long the event was wanted, and on a counter. Where the latter is less,
     * counters were shared out. */
    uint64_t enabled_ns, running_ns;
    uint64_t estimate;  /* count, scaled up by the two */
    uint64_t processes; /* that this is of */
    char name[];        /* libpfm4's */
};

/* Which accesses a histogram counts. key and key2 depend on it. */
enum histogram_scope {
    SCOPE_PROCESS = 1, /* all threads, private caches; keys 0 */
    SCOPE_THREAD = 2,  /* key = thread_id */
    SCOPE_OBJECT = 3,  /* key = object_kind << 32 | reference; key2 = symbol address for globals */
    SCOPE_LINE = 4,    /* key = ip of the access (mapped to source by the report) */
    SCOPE_REGION = 5,  /* key = region_id */
    SCOPE_SHARED = 6,  /* merged clock of a group of threads; key = group number */
    /* A cache split in two, all threads; the keys are those of SCOPE_OBJECT. Distances hold for any
     * division: the object's uses in a part of its own, and all others' in the rest. Where several
     * objects share a part, key has the number of their group above (HISTOGRAM_GROUP_SHIFT): one
     * histogram for the uses of each member, one, of no object, for the rest. */
    SCOPE_PARTITION = 7,
    SCOPE_PARTITION_REST = 8,
};

/* Groups count from 1; 0 is an object by itself. */
enum { HISTOGRAM_GROUP_SHIFT = 40 };

enum histogram_measure {
    MEASURE_STACK_DISTANCE = 1, /* distinct other lines in between */
    MEASURE_REUSE_TIME = 2,     /* accesses; 1 = the very next */
    MEASURE_COHERENCE = 3,      /* stack distance of uses whose line was invalidated meanwhile */
    MEASURE_WIDTH = 4,          /* bytes of each access, at any line size; nothing is cold */
    /* Stores by the largest stack distance of a use of the line after the store before, without
     * those where it is below 8; cold: first stores to a line. Write-backs of a cache are the cold
     * ones and those at its size or more. */
    MEASURE_DIRTY = 5,
};

/*
 * Bins cover [0, 2^63): values 0..127 have a bin each; above, every octave has 64 equal bins.
 * Only bins in use are stored, in increasing order. A count whose value is known less well stands
 * for several bins: from `bin` on, `more` after it (histograms of objects, instructions, regions
 * and partitions of the exact engine: eight to an octave from 16 on).
 */
enum { HISTOGRAM_BIN_COUNT = 128 + 56 * 64 };

struct histogram_bin {
    uint32_t bin;
    uint32_t more; /* bins that follow and are counted in this one */
    uint64_t count;
};

struct record_histogram {
    uint8_t scope;
    uint8_t measure;
    /* Of SCOPE_OBJECT, SCOPE_LINE, SCOPE_PARTITION and its rest: only uses made in that region
     * count, those of functions called from it included, at their distances among all; 0: all uses.
     */
    uint16_t region_id;
    uint32_t line_size;
    uint64_t key, key2;
    uint64_t accesses; /* cold included */
    uint64_t cold;
    uint32_t bin_count;
    uint32_t
        rate_denominator; /* 1: every line; n: a spatially hashed 1/n of the lines, counts scaled */
    struct histogram_bin bins[];
};

enum transfer_kind { TRANSFER_RAW = 1, TRANSFER_WAR = 2, TRANSFER_WAW = 3 };

/* Coherence transfers between two threads, per object and line of source; cumulative per key. */
struct record_transfer {
    uint32_t source_thread, destination_thread;
    uint8_t kind; /* enum transfer_kind */
    uint8_t true_sharing;
    uint8_t object_kind;
    uint8_t reserved;
    uint32_t object_reference;
    uint16_t line_size;
    uint8_t source_width, destination_width;    /* bytes within the line; 0 unknown or aggregated */
    uint16_t source_offset, destination_offset; /* of their first byte, from the line's start */
    uint64_t object_address;            /* line address, or symbol address, or 0 when aggregated */
    uint64_t source_ip, destination_ip; /* 0 when aggregated */
    uint64_t object_base, object_size;  /* of the block, where one is known, else 0 */
    double transfers;                   /* count or estimate */
    double variance;                    /* 0 when exact */
};

#endif
