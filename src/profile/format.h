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
 * Identifiers (thread, context, site, module, sample, region, origin) are unique within a file,
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

#include "access.h"

#define PROFILE_MAGIC "\x89RPROF\r\n" /* 8 bytes, no terminator in the file */
enum { PROFILE_VERSION_MAJOR = 1, PROFILE_VERSION_MINOR = 0 };
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
    RECORD_RATE,         /* struct record_rate: one reading of the access rate */
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
    RECORD_TYPE_COUNT
};

/*
 * Keys of RECORD_RUN (values are text; numbers in decimal): engine, version, program (path of the
 * executable), command (arguments joined by blanks, quoted as a shell would need), pid, ppid, host,
 * rank (MPI), kernel, directory, start_unix_ns, start_monotonic_ns, line_size, budget_percent,
 * period_ns (fixed period or 0), seed, cpus (online), page_size, trap_cost_ns, trigger_cost_ns
 * (calibrated hidden costs), slots (debug registers per thread), window (look-ahead, accesses),
 * sharing (1: communication was watched, 0: not), served_by (unit and event whose records made
 * RECORD_SERVED).
 * Unknown keys are kept and shown by `reuse-report --summary -v`.
 */

enum cache_type { CACHE_DATA = 1, CACHE_UNIFIED = 2, CACHE_INSTRUCTION = 3 };

struct record_cache {
    uint8_t level; /* 1.. */
    uint8_t type;  /* enum cache_type */
    uint16_t ways; /* 0: unknown or fully associative */
    uint32_t line_size;
    uint64_t bytes;
    uint32_t sharing_cpus; /* how many CPUs share one such cache */
    uint32_t origin_id;    /* whose machine; 0: that of every origin */
};

struct record_module {
    uint32_t module_id;
    uint32_t build_id_size; /* 0..20 */
    uint64_t load_bias;     /* add to a link-time address to get the run-time one */
    uint64_t start, end;    /* extent in memory */
    uint64_t monotonic_ns;
    uint8_t build_id[24];
    char path[]; /* absolute, as the target saw it */
};

struct record_module_end {
    uint32_t module_id;
    uint32_t reserved;
    uint64_t monotonic_ns;
};

enum mapping_flags {
    MAPPING_ANONYMOUS = 1,
    MAPPING_SHARED = 2,
    MAPPING_HEAP = 4,
    MAPPING_STACK = 8
};

struct record_mapping {
    uint64_t start, end;
    uint64_t offset;
    uint64_t monotonic_ns;
    uint32_t flags; /* enum mapping_flags */
    uint32_t origin_id;
    char path[]; /* empty when anonymous */
};

struct record_thread {
    uint32_t thread_id;
    int32_t tid;                    /* the kernel's */
    uint64_t monotonic_ns;          /* when the runtime first saw it */
    uint64_t stack_low, stack_high; /* 0 when unknown */
    char name[16];                  /* comm, NUL-padded */
    uint32_t origin_id;             /* 0: the process that RECORD_RUN describes */
    uint32_t reserved;
};

struct record_thread_end {
    uint32_t thread_id;
    uint32_t reserved;
    uint64_t monotonic_ns;
    uint64_t app_ns;
};

/* Contexts form a tree; ip is the sampled instruction at the leaf, a return address above it. */
struct record_context {
    uint32_t context_id;
    uint32_t parent_id; /* 0: outermost frame */
    uint64_t ip;
};

enum object_kind {
    OBJECT_UNKNOWN = 0,
    OBJECT_HEAP,           /* reference = site_id */
    OBJECT_GLOBAL,         /* reference = module_id; the report finds the symbol by address */
    OBJECT_STACK,          /* reference = thread_id of the stack's owner */
    OBJECT_MAPPING,        /* reference = site_id of the mmap call */
    OBJECT_HEAP_UNTRACKED, /* heap memory whose block was not tracked (table full, or older) */
    OBJECT_NAMED,          /* reference = site_id; named through the API */
};

enum allocator {
    ALLOCATOR_MALLOC = 1,
    ALLOCATOR_CALLOC,
    ALLOCATOR_REALLOC,
    ALLOCATOR_MEMALIGN,
    ALLOCATOR_POSIX_MEMALIGN,
    ALLOCATOR_ALIGNED_ALLOC,
    ALLOCATOR_VALLOC,
    ALLOCATOR_PVALLOC,
    ALLOCATOR_MMAP,
    ALLOCATOR_MREMAP,
    ALLOCATOR_API,
};

struct record_site {
    uint32_t site_id;
    uint32_t context_id; /* leaf: return address into the caller of the allocator */
    uint16_t allocator;  /* enum allocator */
    uint16_t reserved[3];
    char name[]; /* given through the API, else empty */
};

struct record_site_totals {
    uint32_t site_id;
    uint32_t reserved;
    uint64_t blocks, bytes;   /* allocated since the start */
    uint64_t largest_bytes;   /* largest single block */
    uint64_t live_bytes_peak; /* 0 when not tracked */
};

enum watch_mode {
    WATCH_NONE = 0,     /* resolved in the window, or no register was given */
    WATCH_ACCESSED = 1, /* the accessed word is watched */
    WATCH_OTHER = 2,    /* another word of the run's line, chosen uniformly, is watched */
};

enum sample_flags {
    SAMPLE_SHORT_SKIP = 1,         /* the interpreter stopped before the random skip was used up */
    SAMPLE_ARM_FAILED = 2,         /* a register was wanted and could not be had */
    SAMPLE_INVALIDATION_WATCH = 4, /* other threads' stores to invalidation_address are watched */
    SAMPLE_LINE_SHARED = 8,        /* the bulletin board held another thread's access to the line */
    SAMPLE_LINE_VISIT = 16,        /* next_store and the masks of the visit below were determined */
    SAMPLE_LINE_OFFERED = 32,      /* the shared registers could have been given to it */
    SAMPLE_STRADDLES = 64,         /* the access touched two lines; address and width are those of
                                      its part in one of them, chosen by a fair coin */
    SAMPLE_USE_OFFERED = 128,      /* a load: the shared registers could have been given to it */
    SAMPLE_TURN = 256, /* a store of a turn (struct record_turn), of no weight by time */
};

enum { REUSE_TIME_NONE = 0xffffffffu };

struct record_sample {
    uint64_t sample_id;
    uint32_t thread_id;
    uint32_t context_id;
    uint64_t monotonic_ns;
    uint64_t app_ns;    /* at the sampled access */
    uint64_t weight_ns; /* app time that this sample stands for (sampled in inverse proportion) */
    uint64_t ip;
    uint64_t address;
    uint64_t loop;        /* identifies the loop for access rates: its head's ip; 0 none */
    uint64_t reuse_ip;    /* next use in the window at the run's line size; 0 none */
    uint64_t object_base; /* block, symbol-less for globals: 0 */
    uint64_t object_size;
    uint32_t object_reference;
    uint8_t object_kind;      /* enum object_kind */
    uint8_t width;            /* bytes */
    uint8_t kind;             /* enum access_kind */
    uint8_t stop;             /* enum interpreter_stop that ended the window; 0: window complete */
    uint32_t window_accesses; /* accesses examined after the sampled one */
    uint16_t cpu;
    uint16_t flags; /* enum sample_flags */
    /* Reuse time (1 = the very next access) per line size 32, 64 ... 4096, within the window;
     * REUSE_TIME_NONE when not reused in it. */
    uint32_t window_reuse[LINE_SIZE_COUNT];
    uint8_t watch_mode; /* enum watch_mode */
    uint8_t watch_slot;
    uint8_t watch_length;   /* bytes */
    uint8_t words_accessed; /* words of watch_length bytes of the line that the access touched */
    uint32_t region_id;     /* innermost span of the API that the thread was in; 0 none */
    uint64_t watch_address;
    uint64_t invalidation_address; /* watched in all threads, or 0; 8 bytes */
    /* What the look-ahead tells of the thread's own visit to the line, with SAMPLE_LINE_VISIT.
     * Masks have 64 bits: each for line_size / 64 bytes of the run's line (a byte in lines of up to
     * 64). */
    uint64_t visit_accessed; /* touched up to and including the sampled access */
    uint64_t visit_written;  /* stored to, likewise */
    uint32_t next_store;     /* accesses to the thread's next store to the line; REUSE_TIME_NONE */
    /* 1 + other lines of the run's size touched in the window up to the next use of the sample's
     * line, or in all of it: 1 + the stack distance, or what it is at least. 0: not counted. */
    uint32_t window_lines;
};

enum watch_end {
    WATCH_REUSED = 1,        /* the owner touched the watched bytes again */
    WATCH_INVALIDATED = 2,   /* not written any more: see struct record_invalidation */
    WATCH_EVICTED = 3,       /* the policy gave the register to a later sample: censored */
    WATCH_THREAD_ENDED = 4,  /* censored */
    WATCH_PROCESS_ENDED = 5, /* censored; also assumed by readers for watches without an end */
    WATCH_FREED = 6,         /* the block was freed or unmapped: never reused as this object */
    WATCH_LOST = 7, /* the register was taken away (exec, debugger): censored at last sight */
};

enum watch_end_flags {
    WATCH_END_VISIT_KNOWN = 1, /* the two fields below were determined by looking ahead */
    WATCH_END_VISIT_TOUCHES_ACCESSED = 2, /* the visit also touches the originally accessed word */
    WATCH_END_VISIT_ENDS_HERE = 4, /* the last access of the visit touches the watched word */
    INVALIDATION_NOT_SEEN = 8,     /* see struct record_invalidation */
};

/*
 * While a watch with SAMPLE_INVALIDATION_WATCH ran, another thread stored to invalidation_address.
 * The watch goes on: its own end (struct record_watch_end, later in the file) tells when the line
 * would have been used again. At most one per sample: the first store. With the flag
 * INVALIDATION_NOT_SEEN nobody stored until then, and from then on it was not watched for (the
 * watch's own thread stored to the word, or the register was wanted elsewhere).
 */
struct record_invalidation {
    uint64_t sample_id;
    uint32_t thread_id;  /* that stored */
    uint32_t context_id; /* of the store; 0 when not taken */
    uint64_t monotonic_ns;
    uint64_t app_ns;     /* of the owner of the watch */
    uint64_t ip;         /* of the store (x86: the instruction after it) */
    uint8_t flags;       /* enum watch_end_flags, of the storing thread's visit */
    uint8_t words_after; /* as in struct record_watch_end */
    uint16_t cpu;
    uint32_t reserved;
};

struct record_watch_end {
    uint64_t sample_id;
    uint32_t thread_id;  /* whose access ended it; the owner's for censored ends */
    uint32_t context_id; /* of the ending access; 0 when not taken */
    uint64_t monotonic_ns;
    uint64_t app_ns;     /* of the owner; app_ns - sample.app_ns is the time watched */
    uint64_t ip;         /* of the ending access (x86: the instruction after it) */
    uint8_t reason;      /* enum watch_end */
    uint8_t flags;       /* enum watch_end_flags */
    uint8_t words_after; /* other words of the line touched after the trap in the same visit */
    uint8_t kind;        /* enum access_kind, 0 unknown */
    uint16_t cpu;
    uint16_t reserved;
};

/*
 * Communication (docs/estimators.md, "Communication"). A sampled store opens a segment: the time
 * until the next store to the line by any thread. In it, two words of the line are watched for
 * loads and stores of all threads. Written as soon as the sampled store has been executed. Loads
 * are watched so as well, until the next use of the line ("Shared caches").
 */
struct record_line_watch {
    uint64_t sample_id;
    uint64_t monotonic_ns; /* when the store was executed */
    uint64_t address;      /* the word of the sampled store */
    uint64_t address2;     /* the other word, or 0 */
    /* Words of the line that other threads were known to touch (bit: word of 8 bytes, from the
     * line's start; lines beyond 512 bytes: none). address2 was drawn from them with probability
     * 1/2, else from all words but that of `address`; from the latter only if there are none. */
    uint64_t proposed;
    double probability; /* that the sample was given the registers when it asked for them */
    uint32_t flags;     /* enum line_watch_flags */
    uint32_t reserved;
};

enum line_watch_flags {
    LINE_WATCH_POLLED = 1, /* another thread came to the words again and again before the store */
    /* The sample is a load of a thread that polls: what is watched for first is the next store of
     * another thread (LINE_EVENT_OPENS), which opens the segment. monotonic_ns is that of the
     * sample. */
    LINE_WATCH_WAITS = 2,
    /* The sample is a load: what is watched for is the next use of the line by any thread, which
     * ends the watch. No segment, and no transfer, is told from it. */
    LINE_WATCH_USE = 4,
    /* Another thread came to the words between arming and the sampled access: both use the line at
     * the same time. */
    LINE_WATCH_MET = 8,
};

enum line_event_flags {
    LINE_EVENT_SECOND = 1,      /* address2 trapped, else address */
    LINE_EVENT_KIND_KNOWN = 2,  /* kind, offset and width are those of the instruction */
    LINE_EVENT_VISIT_KNOWN = 4, /* the flags below and the masks were determined by looking ahead */
    LINE_EVENT_STORES = 8,      /* the visit stores to the line, now or later */
    /* The visit's last read before any store of it touches address, address2. */
    LINE_EVENT_READ_ENDS = 16,
    LINE_EVENT_READ_ENDS2 = 32,
    /* Its last store touches address, address2. */
    LINE_EVENT_STORE_ENDS = 64,
    LINE_EVENT_STORE_ENDS2 = 128,
    LINE_EVENT_OPENS = 256, /* elapsed_ns is since the sample; of later events, since this store */
};

/* A thread came to a watched word. */
struct record_line_event {
    uint64_t sample_id; /* of the watch */
    uint32_t thread_id; /* that came */
    uint32_t context_id;
    uint64_t monotonic_ns;
    uint64_t elapsed_ns; /* since the sampled store, without what the profiler took of the thread */
    uint64_t ip;         /* of the access; of the instruction after it unless KIND_KNOWN */
    uint64_t visit_read; /* by the visit, this access on; masks as in struct record_sample */
    uint64_t visit_written;
    uint16_t offset; /* of the access's first byte in the line; of the word unless KIND_KNOWN */
    uint8_t width;   /* bytes; 0 unknown */
    uint8_t kind;    /* enum access_kind; ACCESS_LOAD | ACCESS_STORE: reads and writes; 0 unknown */
    uint16_t flags;  /* enum line_event_flags */
    uint16_t cpu;
};

enum line_end {
    LINE_END_STORE = 1,   /* its last event was a store: the segment is over */
    LINE_END_TRAPS = 2,   /* trapped too often: censored, as all below */
    LINE_END_EVICTED = 3, /* the registers went to a later sample */
    LINE_END_FREED = 4,   /* the block was freed or unmapped */
    LINE_END_THREAD = 5,  /* the sampled thread ended */
    LINE_END_PROCESS = 6, /* also assumed where no end was written */
    LINE_END_LOST = 7,    /* the registers were taken away */
    LINE_END_USED = 8,    /* LINE_WATCH_USE: its only event was a use by another thread, or, without
                             an event, the thread itself came back */
};

struct record_line_end {
    uint64_t sample_id;
    uint64_t monotonic_ns;
    uint64_t elapsed_ns; /* as in struct record_line_event, of the sampled thread */
    uint64_t loads_ns;   /* up to this time loads were watched as well; afterwards stores alone */
    uint32_t traps;      /* taken by the watch, in all threads */
    uint8_t reason;      /* enum line_end */
    uint8_t reserved[3];
};

/*
 * A thread that waits by polling was interrupted there, and its turn after the wait was looked at.
 * The store of the sample is one of its stores, all equally likely.
 */
enum { TURN_COUNTERS = 6 };

struct record_turn {
    uint64_t sample_id; /* of the store; 0: the turn has none, or was not seen to its end */
    uint64_t monotonic_ns;
    uint64_t app_ns;
    uint64_t wait_ip; /* lowest instruction of the loop that waits: which wait it was */
    uint64_t loop;    /* as in struct record_sample */
    uint32_t thread_id;
    uint32_t stores;     /* in the turn */
    uint8_t complete;    /* seen to its end */
    uint8_t reserved[3]; /* zero */
    /* What may count turns: registers, numbered from 1, then words of the stack; 0 none. They stand
     * still during waits; their values at the wait after the turn, and what the turn added. */
    uint32_t places[TURN_COUNTERS];
    uint32_t reserved2; /* zero */
    uint64_t values[TURN_COUNTERS];
    uint64_t steps[TURN_COUNTERS];
};

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

enum rate_method {
    RATE_WATCH_AHEAD = 1, /* predicted accesses, timed by watches */
    RATE_ODOMETER = 2,    /* a register or memory word with a constant step per loop visit */
    RATE_EXACT = 3,       /* counted */
};

enum rate_flags {
    RATE_UNPROVEN = 1, /* an odometer of which it is not known when it will be set back */
};

/*
 * Accesses made by the thread in elapsed_ns of its app time, in code of the given loop: what a long
 * stretch has more than a short one, so that what each loses at its beginning is in neither, but in
 * loss_ns.
 */
struct record_rate {
    uint32_t thread_id;
    uint8_t method;   /* enum rate_method */
    uint8_t accepted; /* 1: passed the method's own checks; 0: kept for diagnosis only */
    uint16_t flags;   /* enum rate_flags */
    uint64_t loop;
    uint64_t head; /* loop head that carried the odometer, 0 for watches */
    uint64_t monotonic_ns;
    uint64_t app_ns; /* at the start of the reading */
    uint64_t accesses;
    uint64_t elapsed_ns;
    int64_t loss_ns; /* below 0 where signals cost less than calibrated */
};

/* What was lost and why; cumulative. Indexes of record_totals.lost. */
enum loss {
    LOSS_UNREADABLE = 0, /* the interpreter found no access before it had to stop */
    LOSS_ASYNCHRONOUS,   /* signal delivered late (SIGTRAP was blocked): place unknown */
    LOSS_IN_RUNTIME,     /* expiry inside the profiler itself or the loader */
    LOSS_BUFFER,         /* no room in the output buffer */
    LOSS_NO_REGISTER,    /* debug registers taken by somebody else */
    LOSS_TRAP_UNKNOWN,   /* trap of a watch that had ended already */
    LOSS_CONTEXT,        /* calling context could not be taken or stored */
    LOSS_THREAD,         /* threads that could not be profiled (no descriptor, no permission) */
    LOSS_OWN_TRAP,       /* a register trapped on what the profiler read: no loss, but a cost */
    LOSS_COUNT = 12      /* room for more */
};

struct record_totals {
    uint32_t thread_id;
    uint32_t reserved;
    uint64_t monotonic_ns;
    uint64_t app_ns;
    uint64_t
        handler_ns; /* time taken by the profiler in this thread, hidden kernel cost included */
    uint64_t expirations; /* clock expiries seen */
    uint64_t samples;
    uint64_t armed, reused, invalidated, evicted,
        ended; /* watches; ended: thread, process, freed, lost */
    uint64_t lost[LOSS_COUNT];
};

enum note_severity { NOTE_INFORMATION = 1, NOTE_WARNING = 2 };

struct record_note {
    uint32_t severity;
    uint32_t origin_id;
    char text[];
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

/* What a trial at the start of the run said: see src/pmu/level_counters.h. */
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

struct record_end {
    uint64_t monotonic_ns;
    uint64_t wall_ns;     /* length of the run */
    uint32_t exit_status; /* 0 when unknown */
    uint32_t reserved;
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

struct record_region {
    uint32_t region_id;
    uint32_t reserved;
    uint64_t entry_ip; /* function entry, or 0 for a span of the API */
    char name[];
};

enum origin_flags { ORIGIN_COMPLETE = 1 /* its RECORD_END was seen */ };

/* Only in merged files: what the origin's own file said about its run. */
struct record_origin {
    uint32_t origin_id;
    uint32_t flags; /* enum origin_flags */
    uint64_t wall_ns;
    uint64_t dropped_bytes; /* cut off at the end of its file */
    uint64_t lost_records;
    uint32_t exit_status;
    uint32_t reserved;
    char pairs[]; /* its RECORD_RUN: key NUL value NUL ... */
};

#endif
