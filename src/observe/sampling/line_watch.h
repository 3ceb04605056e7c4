/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Line watches: what all threads do to a line after a sampled store, seen by two debug registers
 * that every thread of the process has at the same addresses. Policy and state machine; the
 * registers, the clock and the output are the caller's (docs/communication.md, "Communication").
 *
 * A store opens a segment, which the next store to the line by anyone ends. In it the first read of
 * each other thread is a transfer, and so is its end. One watch runs at a time:
 *
 *     FREE --offer--> BEFORE --trap of the sampled store--> RUNNING --end--> FREE
 *
 * How to drive it:
 *  1. line_watch_begin() once, with a mechanism. arm() puts the registers, in all threads, on two
 *     words for loads and stores, or for stores alone; disarm() takes them off.
 *  2. For every sampled store of a process with other threads: line_watch_offer(). When it returns
 *     true the registers are armed, and the sample's record will be followed by RECORD_LINE_WATCH.
 *     If the store has been executed already (a precise hardware record) say so: the watch runs at
 *     once. Else it runs from the first store that the thread makes to the word by the sampled
 *     instruction.
 *  3. For every trap of such a register, in whatever thread: line_watch_trap(). An access that
 *     touches both words is told once for each. If the answer is LINE_TRAP_EVENT, complete the
 *     event that it has filled in (context_id, cpu, and the visit: line_visit.h) and hand it back
 *     with line_watch_event(). That may be later: an engine that sees every access hands it back
 *     when the thread has made VISIT_ACCESSES more or another thread has stored to the line.
 *     Without the visit, a thread that touches several words of the line counts several times
 *     (docs/communication.md).
 *     Loads of threads that poll a word may be offered, too (waits): then the next store of another
 *     thread opens the segment. line_watch_resumed() tells when the thread polls on. Of other loads
 *     (uses) the next use of the line by any thread is watched for, and ends the watch.
 *  4. line_watch_block_freed(), line_watch_thread_ended(), line_watch_stop() when that happens.
 *
 * Times are nanoseconds (or any other unit: accesses, in a simulation) of one clock for all
 * threads: of the access that trapped, hidden cost of the trap subtracted, as well as can be.
 *
 * Threads: any function in any thread at any time; a spin lock is held for some tens of
 * instructions and for the call of arm() or disarm(). Signal-safe; call with signals blocked.
 */
#ifndef REUSE_SAMPLING_LINE_WATCH_H
#define REUSE_SAMPLING_LINE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"
#include "sampling/random.h"
#include "sampling/watch_design.h"

enum {
    LINE_WATCH_THREADS = 64, /* other threads told apart in one watch; with more it ends */
    LINE_WATCH_KEPT = 4,     /* arrivals kept that may have come before the sampled store */
};

struct line_watch_mechanism {
    /*
     * Both registers in all threads: address2 may be 0 (one register). loads: trap on loads and
     * stores, else on stores alone. generation comes back with every trap. False if that failed.
     */
    bool (*arm)(void *context, uint64_t address, uint64_t address2, bool loads,
                uint32_t generation);
    void (*disarm)(void *context);
    /* Writes one record. */
    void (*append)(void *context, enum record_type type, const void *record, size_t size);
    void *context;
    uint32_t line_size;
    /* Traps of different threads that are less apart than this are in no certain order. */
    uint64_t tolerance_ns;
    bool single; /* there is one such register only: no second word */
};

/*
 * Of samples that are too many one in so many is offered. The others have their flag all the same
 * (SAMPLE_LINE_OFFERED, SAMPLE_USE_OFFERED): chance has refused them.
 */
enum {
    /* Loads of a thread that polls: it does nothing else, and a watch on it takes some ten traps.
     */
    LINE_WATCH_WAITS_ONE_IN = 8,
    /* Loads that the burst does not resolve; otherwise the registers tell of invalidation. */
    LINE_WATCH_USES_ONE_IN = 2,
    /* Loads where those that are reused soon are among them. */
    LINE_WATCH_ALL_LOADS_ONE_IN = 4,
};

/* Each access to the word before the sampled one costs a trap: so many a word of bytes has. */
enum { LINE_WATCH_AHEAD_MAX = 7 };

struct line_watch_offer {
    uint32_t thread_id;
    uint64_t others; /* bytes of the line that other threads are known to touch, or 0 */
    bool shared;     /* another thread was seen at the line */
    bool waits;      /* the sample is a load of a thread that polls the word */
    bool uses;       /* the sample is a load, and not reused soon */
    bool executed;   /* the access has been executed, at time_ns */
    bool barred;     /* no register may stand there: refused, as by chance */
    /* So often the sampled instruction touches the watched word before the sampled access. Beyond
     * LINE_WATCH_AHEAD_MAX the first time stands for the sampled one. */
    uint32_t ahead;
    uint64_t time_ns;
    uint64_t delayed_ns; /* as in struct line_trap */
};

struct line_trap {
    uint32_t thread_id;
    uint32_t generation;
    bool second;         /* the register of address2 */
    uint64_t time_ns;    /* of the access */
    uint64_t delayed_ns; /* what the profiler has taken of this thread's time so far, in all */
    uint32_t threads;    /* that there are; 0: not known */
    uint64_t ip;         /* instruction after the access; of the access if kind is known */
    uint8_t kind;        /* enum access_kind, both bits for read-modify-write; 0: not known */
    uint8_t width;       /* bytes; 0: not known */
    uint64_t address;    /* of the access; 0: not known */
};

/* An arrival at a watched word that tells something, and what its visit is to be told from. */
struct line_arrival {
    struct record_line_event event;
    uint64_t line;     /* first byte of the watched line */
    uint64_t words[2]; /* watched */
};

enum line_trap_answer {
    LINE_TRAP_NOTHING, /* late, or nothing new */
    LINE_TRAP_BUSY,    /* another thread has been at work on the watch for too long: let it run */
    LINE_TRAP_STARTED, /* the sampled store itself: RECORD_LINE_WATCH was written */
    LINE_TRAP_EVENT,   /* the event is to be completed and handed back */
};

struct line_watch_seen {
    uint32_t thread_id;
    bool read;
    bool before;         /* the sampled store */
    uint64_t delayed_ns; /* when first seen */
};

/* Fields are private. */
struct line_watch {
    struct line_watch_mechanism mechanism;
    _Atomic uint32_t lock;
    _Atomic uint32_t state;
    _Atomic uint32_t generation; /* 24 bits */
    uint32_t stubbornness;
    bool shared;                     /* others were seen at the line when it was armed */
    uint64_t offers, offers_refused; /* in all; since the running watch was armed */
    bool loads;                      /* are watched as well */
    struct record_line_watch record;
    uint64_t line;
    /* Read without the lock as hints, as are the words. */
    _Atomic uint64_t sampled_ip;
    _Atomic uint32_t owner;
    _Atomic uint64_t words[2]; /* under the registers; the second may be 0 */
    unsigned traps, repeats;
    unsigned ahead; /* traps of the sampled instruction still to come before that of the sample */
    uint64_t start_ns, start_delayed_ns, loads_ns;
    uint64_t seen_until_ns; /* elapsed time of the last arrival that was told of */
    struct line_watch_seen seen[LINE_WATCH_THREADS];
    unsigned seen_count;
    struct record_line_event kept[LINE_WATCH_KEPT];
    unsigned kept_count;
};

/* Zeroed before; the mechanism is copied. */
void line_watch_begin(struct line_watch *, const struct line_watch_mechanism *);

/*
 * A store was sampled, or a load (waits, uses). Sets SAMPLE_LINE_OFFERED (and SHARED), for uses
 * SAMPLE_USE_OFFERED, in its flags. True: the registers are armed for it.
 */
bool line_watch_offer(struct line_watch *, struct random *, const struct line_watch_offer *,
                      struct record_sample *);

/* Whether a running watch would give way to somebody else's now; drawn as for a sample. */
bool line_watch_yields(const struct line_watch *, struct random *);

/* The instruction of the sample, if that thread makes it; else 0. A hint, without the lock. */
uint64_t line_watch_instruction(const struct line_watch *, uint32_t thread_id);

/* Whether it has begun with a load of that thread, which polls; a hint, without the lock. */
bool line_watch_waits(const struct line_watch *, uint32_t thread_id);

/* The thread that polls runs on from now: its wait is timed from here. */
void line_watch_resumed(struct line_watch *, uint32_t thread_id, uint64_t time_ns);

enum line_trap_answer line_watch_trap(struct line_watch *, const struct line_trap *,
                                      struct line_arrival *);

/* The completed event of a trap. */
void line_watch_event(struct line_watch *, const struct record_line_event *);

/* The block [base, base + size) ceases to exist. time as in struct line_trap. */
void line_watch_block_freed(struct line_watch *, uint64_t base, uint64_t size, uint64_t time_ns);
void line_watch_thread_ended(struct line_watch *, uint32_t thread_id, uint64_t time_ns);

/* That thread's time for a watch is over, by a draw that knew nothing of the line. */
void line_watch_evict(struct line_watch *, uint32_t thread_id, uint64_t time_ns);

/* Whether what runs, or is about to, was sampled in that thread; a hint, without the lock. */
bool line_watch_is_of(const struct line_watch *, uint32_t thread_id);

/* Ends whatever runs. */
void line_watch_stop(struct line_watch *, enum line_end reason, uint64_t time_ns);

/* Whether either register is on a word of [address, address + size); a hint, without the lock. */
bool line_watch_covers(const struct line_watch *, uint64_t address, uint64_t size);

#endif
