/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of the sampled engines: accesses, the watches that follow them, turns of threads that
 * poll, access rates. What all records have in common: format.h.
 */
#ifndef REUSE_PROFILE_FORMAT_SAMPLES_H
#define REUSE_PROFILE_FORMAT_SAMPLES_H

#include <stdint.h>

#include "access.h"
#include "profile/format_bursts.h"

enum watch_mode {
    WATCH_NONE = 0,     /* not to be watched, or no register was given */
    WATCH_ACCESSED = 1, /* the accessed word is watched */
    WATCH_OTHER = 2,    /* another word of the run's line, chosen uniformly, is watched */
    WATCH_PURSUED = 3,  /* the line is looked for in what the thread does after the burst */
};

enum sample_flags {
    SAMPLE_OPEN = 1,       /* drawn from the burst's open probes to be watched: it stands for
                              these alone; else drawn from all its probes */
    SAMPLE_ARM_FAILED = 2, /* a register was wanted and could not be had */
    SAMPLE_INVALIDATION_WATCH = 4, /* other threads' stores to invalidation_address are watched */
    SAMPLE_LINE_SHARED = 8,        /* the bulletin board held another thread's access to the line */
    SAMPLE_LINE_VISIT = 16,        /* next_store and the masks of the visit below were determined */
    SAMPLE_LINE_OFFERED = 32,      /* the shared registers could have been given to it */
    SAMPLE_STRADDLES = 64,         /* the access touched two lines; address and width are those of
                                      its part in one of them, the probe */
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
    uint64_t weight_ns; /* app time that its burst stands for (sampled in inverse proportion) */
    uint64_t ip;
    uint64_t address;
    uint64_t loop;        /* identifies the loop for access rates: its head's ip; 0 none */
    uint64_t reuse_ip;    /* next use in the burst at the run's line size; 0 none */
    uint64_t object_base; /* block, symbol-less for globals: 0 */
    uint64_t object_size;
    uint32_t object_reference;
    uint8_t object_kind;     /* enum object_kind */
    uint8_t width;           /* bytes */
    uint8_t kind;            /* enum access_kind */
    uint8_t stop;            /* enum interpreter_stop that ended the window; 0: window complete */
    uint32_t accesses_ahead; /* accesses examined after the sampled one */
    uint16_t cpu;
    uint16_t flags; /* enum sample_flags */
    /* Reuse time (1 = the very next access) per line size 32, 64 ... 4096, within the burst;
     * REUSE_TIME_NONE when not reused in it. */
    uint32_t reuse_time[LINE_SIZE_COUNT];
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
    /* 1 + other lines of the run's size touched in the burst up to the next use of the sample's
     * line, or to its end: 1 + the stack distance, or what it is at least. 0: not counted. */
    uint32_t lines_ahead;
    uint64_t burst_id; /* 0: of no burst (SAMPLE_TURN) */
    /* Accesses from the sampled one to the one at which its watch began (app_ns); 0: with the
     * sampled access itself. */
    uint32_t marker_accesses;
    uint32_t reserved;
    /* What one of the burst's samples of its kind stands for, in units of (accesses of the burst's
     * time / samples of that kind): 1 unless lines that threads share were preferred. */
    double weight_factor;
};

enum watch_end {
    WATCH_REUSED = 1,        /* the owner touched the watched bytes again */
    WATCH_INVALIDATED = 2,   /* not written any more: see struct record_invalidation */
    WATCH_EVICTED = 3,       /* the policy gave the register to a later sample: censored */
    WATCH_THREAD_ENDED = 4,  /* censored */
    WATCH_PROCESS_ENDED = 5, /* censored; also assumed by readers for watches without an end */
    WATCH_FREED = 6,         /* its memory went back to the system; before version 3.2 also: a block
                                was freed, which the allocator would hand out again */
    WATCH_LOST = 7, /* the register was taken away (exec, debugger): censored at last sight */
    WATCH_PURSUIT_ENDED =
        8, /* the pursuit ended before a use in lines of the run's size: censored */
};

/* A heap block this large came from the system and goes back to it when it is freed (glibc's mmap
 * threshold); smaller ones the allocator hands out again, on the same lines. Bytes. */
enum { RETURNED_BLOCK_BYTES = 128 * 1024 };

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
    /* Of a sample with WATCH_PURSUED: accesses looked at after the sampled one, and how many of
     * these up to the next use of its line, at the line sizes of a wide burst (probe_line_size());
     * REUSE_TIME_NONE: it was not used. No time passes: app_ns is the sample's; ip is that of the
     * using instruction itself. Else 0. */
    uint32_t pursued;
    uint32_t used[PROBE_LINE_SIZES];
    uint32_t reserved2;
};

/*
 * Communication (docs/communication.md). A sampled store opens a segment: the time
 * until the next store to the line by any thread. In it, two words of the line are watched for
 * loads and stores of all threads. Written as soon as the sampled store has been executed. Loads
 * are watched so as well, until the next use of the line ("Shared caches").
 */
struct record_line_watch {
    uint64_t sample_id;
    uint64_t monotonic_ns; /* when the store was executed */
    uint64_t address;      /* the word of the sampled store */
    uint64_t address2;     /* the other word, or 0 */
    /* Words of the line that other threads were known to touch, and the next one (bit: word of 8
     * bytes, from the line's start; lines beyond 512 bytes: none). address2 was drawn from them
     * with probability 1/2, else from all words but that of `address`; from the latter only if
     * there are none. */
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
    LINE_END_FREED = 4,   /* as WATCH_FREED */
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

enum progress_kind {
    PROGRESS_REGISTER = 1, /* place: the instruction at which its function went on when another had
                              returned; 0: the function that was interrupted */
    PROGRESS_WORD = 2,     /* place: its address */
    PROGRESS_MODEL = 3,    /* place: enum progress_model */
    PROGRESS_FAULT_NS = 4, /* CPU time that page faults took, about; within: that its accesses take.
                              Before version 3.4 that is not known, `accesses` is 0, and since is of
                              the first burst all before it. */
    PROGRESS_SYSTEM_CALLS = 5, /* within: that its code made */
    PROGRESS_KERNEL_COUNT = 6, /* place: enum progress_kernel_count */
};

/* What the kernel counts for each thread: words that never go back. */
enum progress_kernel_count {
    PROGRESS_READ_CALLS = 0,  /* read(2) and its kin, but for recv(2) and its: syscr of proc(5) */
    PROGRESS_WRITE_CALLS = 1, /* write(2) and its kin, but for send(2) and its: syscw */
    PROGRESS_CALL_COUNTS,
    /* within: of its accesses; since: those of the kernel itself as well, where it reads into new
     * memory. */
    PROGRESS_PAGE_FAULTS = PROGRESS_CALL_COUNTS,
};

/* Clocks of a modelled processor: cycles that so many accesses of the burst would take it, by where
 * lines come from that were not used lately; how many of the accesses went to such lines; and what
 * the processor at hand made of a nanosecond in that burst. They say how loops compare, and about
 * how long they take (docs/estimators.md, section 1). */
enum progress_model {
    /* From the second cache. Before version 3.5 those that nothing prefetches, and from the third
     * if their page was not used lately. */
    PROGRESS_NEAR_CYCLES = 0,
    /* From memory. Before version 3.5 those that nothing prefetches, and from the third cache if
     * their page was used lately. */
    PROGRESS_FAR_CYCLES = 1,
    PROGRESS_CYCLES_PER_NS = 2, /* in `within`; not in profiles before version 3.2 */
    PROGRESS_HELD_CYCLES = 3,   /* from the first cache; from version 3.5 on */
    PROGRESS_NEW_LINES = 4,     /* in `within`: accesses; from version 3.5 on */
    /* From version 4.1 on. Of those accesses (PROGRESS_NEW_LINES) the ones next to no line that was
     * used lately; and of so many such lines in `accesses`, whose loads were timed, those that came
     * from memory. */
    PROGRESS_SCATTERED_LINES = 5,
    PROGRESS_MEMORY_LINES = 6,
    /* Of so many from memory in `accesses`, what they took longer than a line in the first cache:
     * ns, all together. */
    PROGRESS_MEMORY_NS = 7,
};

/* Cycles by which a line that was not used lately is later by PROGRESS_NEAR_CYCLES than by
 * PROGRESS_HELD_CYCLES, if nothing hides it. */
enum { PROGRESS_NEAR_LATENCY = 14 };

enum progress_flags {
    PROGRESS_BEFORE = 1, /* `before` is known */
    PROGRESS_SINCE = 2,  /* `since` is known */
    PROGRESS_SHARED = 4, /* a word that other threads moved meanwhile; from version 3.7 on */
};

/* A variable of the program: how far it moved in a burst, and in the time before it. */
struct progress_variable {
    uint64_t place; /* see enum progress_kind */
    uint8_t kind;   /* enum progress_kind */
    uint8_t width;  /* of the word, bytes; number of the register */
    uint16_t flags; /* enum progress_flags */
    uint32_t accesses;
    double within; /* in so many accesses of the burst */
    double before; /* in the before_ns up to the burst */
    double since;  /* in the since_ns since the beginning of the burst before */
};

enum { TICKS_MAX = 4 };

/*
 * Where the thread was between its burst before and this one, and what the variables of this one
 * did. The part of the burst's weight_ns that each tick stands for is as large as that of the burst
 * itself. All bursts of a variable together tell its progress per
 * access, and so how many accesses were made in the time before them (docs/estimators.md,
 * section 1). A word is listed in each burst while it is known; a register, where it moved.
 */
struct record_progress {
    uint32_t thread_id;
    uint32_t count; /* of variables */
    uint64_t loop;  /* of the burst */
    uint64_t monotonic_ns;
    uint64_t app_ns;   /* of the burst */
    uint64_t since_ns; /* app time since the beginning of the thread's burst before; 0: the first */
    uint64_t before_ns; /* likewise since the look before it; 0: there was none */
    uint64_t burst_id;
    uint64_t ip;               /* at which the burst began */
    uint64_t ticks[TICKS_MAX]; /* instructions that the clock interrupted before it; else 0 */
    struct progress_variable variables[];
};

enum { PROGRESS_VARIABLES_MAX = 64 };

#endif
