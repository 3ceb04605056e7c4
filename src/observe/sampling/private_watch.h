/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private watches: the life of the debug registers with which one thread waits for the next use of
 * lines that bursts left open. All decisions are here: which registers take new watches and who is
 * evicted for them, what the end of a watch means and what is written of it. What a register, a
 * clock, a record or the near future is, a mechanism knows: the runtime's perf events and
 * interpreter, the simulated hardware of the engine `simulate`, or a test's.
 *
 *     free --start--> running --trap, eviction ...--> ending --> free
 *       `---take--> taken --trap, release, eviction--> free
 *
 * A watch starts when the thread has made all uses of the line that its burst foresaw: at the trap
 * of the burst's marker (burst.h), or at once where the thread is past them. Until then a register
 * may be taken for the marker, as for whatever else a thread wants to be told of.
 *
 * Signal-safe; no allocation. A set of watches is used by its own thread with signals blocked;
 * private_watch_end(), private_watch_invalidate() and
 * private_watch_block_freed() may also be called by other threads.
 */
#ifndef REUSE_SAMPLING_PRIVATE_WATCH_H
#define REUSE_SAMPLING_PRIVATE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"
#include "sampling/random.h"
#include "sampling/slots.h"

enum {
    WATCHES_MAX = 4,                    /* most private registers per thread */
    WATCH_GENERATION_MASK = 0x00ffffff, /* what of a generation a mechanism needs to keep */
    WATCH_OWN_TRAPS_MAX = 8,            /* see private_watch_own_trap() */
};

/* Changed by compare-and-swap, by the owner and by other threads. */
enum watch_state {
    WATCH_FREE = 0,
    WATCH_RUNNING, /* the next touch is the reuse */
    WATCH_ENDING,  /* somebody is taking it down */
    WATCH_TAKEN,   /* serves something else than a sample: private_watch_take() */
};

struct private_watch {
    _Atomic uint32_t state;      /* enum watch_state */
    uint32_t generation;         /* changes with every use: tells traps of earlier uses */
    struct record_sample sample; /* as written; of a taken register watch_address alone */
    _Atomic bool invalidated;    /* another thread stored to the line; that record is written */
    unsigned own_traps;          /* on what the profiler itself touched */
    unsigned purpose;            /* of a taken register */
};

/* A trap as the mechanism sees it. */
struct watch_trap {
    uint64_t ip;      /* x86: after the accessing instruction, or a string instruction under way;
                         where registers trap before the access: the accessing instruction */
    uint64_t app_now; /* thread's application time */
    void *machine;    /* the mechanism's own: passed back to it, else unused */
};

/* How a watch ended. */
struct watch_ending {
    enum watch_end reason;
    uint64_t app_now;   /* owner's application time */
    uint32_t by_thread; /* whose doing it was */
    uint64_t ip;
};

/*
 * What the policy needs done. `thread` is the user pointer of the set whose watch it is about.
 * Functions marked optional may be NULL.
 */
struct watch_mechanism {
    /* Puts the slot's register on register_size bytes. False: it cannot be had. */
    bool (*arm)(void *thread, unsigned slot, uint64_t address, uint32_t generation);
    void (*disarm)(void *thread, unsigned slot);

    /* Writes a record; RECORD_SAMPLE, RECORD_WATCH_END or RECORD_INVALIDATION. */
    void (*append)(void *thread, enum record_type, const void *record, size_t size);
    uint64_t (*monotonic_ns)(void *thread);
    /* Application time of the thread now; whoever calls. */
    uint64_t (*app_ns)(void *thread);
    uint16_t (*cpu)(void *thread);

    /*
     * A running watch ended by reuse; its register is disarmed. Fills context_id, and flags and
     * words_after by following the visit to the line that has just begun. False: the future is not
     * known yet; the mechanism keeps the record and writes it itself when it is.
     */
    bool (*follow_visit)(void *thread, const struct record_sample *, const struct watch_trap *,
                         struct record_watch_end *);

    /* Optional. A watch is about to be armed for the sample: whoever else wants to follow the
     * line (registers shared by all threads, say) may join and note it in the sample. */
    void (*accompany)(void *thread, unsigned slot, struct record_sample *);
    /* Optional. The watch that was accompanied is over. */
    void (*leave)(void *thread, unsigned slot, const struct record_sample *);
    /* Optional. The watch is armed: from now on private_watch_block_freed() concerns it. */
    void (*armed)(void *thread, unsigned slot, const struct record_sample *);
    void (*disarmed)(void *thread, unsigned slot, const struct record_sample *);

    /* Optional. A taken register trapped. It stays armed until private_watch_release(). */
    void (*taken_trap)(void *thread, unsigned slot, unsigned purpose, const struct watch_trap *);
    /* Optional. A taken register goes: it is wanted for something else, or has trapped too often on
     * what the profiler touches. Whoever took it may release its other registers here; this one is
     * released on return. */
    void (*taken_cancel)(void *thread, unsigned slot, unsigned purpose);
};

struct private_watches {
    const struct watch_mechanism *mechanism;
    void *thread; /* passed to the mechanism */
    uint32_t thread_id;
    struct random *random;
    struct record_totals
        *totals;            /* armed, reused, invalidated, evicted, ended, lost[] are counted */
    unsigned count;         /* registers there are */
    uint32_t register_size; /* bytes that one covers; see watch_plan_make() */
    struct slots slots;
    struct private_watch watch[WATCHES_MAX];
};

/* No watch is running; count <= WATCHES_MAX registers are to be had. Generations go on counting,
 * so that traps of an earlier thread's use of the same memory stay strangers. */
void private_watches_begin(struct private_watches *, const struct watch_mechanism *, void *thread,
                           uint32_t thread_id, struct random *, struct record_totals *,
                           unsigned count, uint32_t register_size);

/*
 * The slots that take new watches at the end of a burst, a bit for each: all that are free, the
 * others by chance (slots_accept()). Decide before the lines are drawn. Nothing changes yet: a slot
 * keeps what it holds until private_watch_start() or private_watch_take() puts something else
 * there.
 */
uint32_t private_watches_accept(struct private_watches *);

/* The slots that hold something, a bit for each. Any thread may call. */
uint32_t private_watches_busy(const struct private_watches *);

/*
 * Gives the slot to an open sample (watch_plan_make() has been called): whatever the slot holds is
 * evicted, the register armed, watch_slot and app_ns (app_now) filled in and the sample's record
 * written. The thread has made every use of the line that the burst foresaw. False, and counted as
 * LOSS_NO_REGISTER, if the register could not be had: then no record is written.
 */
bool private_watch_start(struct private_watches *, unsigned slot, struct record_sample *,
                         uint64_t app_now);

/*
 * As private_watch_start(), but no register may be put on the line: whatever the slot holds is
 * evicted, and the sample's record written with its end, at once, for want of a register
 * (WATCH_EVICTED: censored). That line's next use is as likely to be far off as others', for all
 * that is known.
 */
void private_watch_decline(struct private_watches *, unsigned slot, struct record_sample *,
                           uint64_t app_now);

/* The slot's register trapped. Traps all watches on the same word: a mechanism may report one trap
 * for several registers. A generation that is not in force is counted as LOSS_TRAP_UNKNOWN. */
void private_watch_trap(struct private_watches *, unsigned slot, uint32_t generation,
                        const struct watch_trap *);

/*
 * A register trapped on what the profiler itself touched. Goes on watching, unless that happens
 * WATCH_OWN_TRAPS_MAX times: then the profiler needs the word (a variable of the C library behind
 * clock_gettime, say), and each trap would be the cause of the next.
 */
void private_watch_own_trap(struct private_watches *, unsigned slot, uint32_t generation);

/* Ends a watch other than by reuse, whoever calls; false if it was not running. Frees the register.
 */
bool private_watch_end(struct private_watches *, unsigned slot, const struct watch_ending *);

/* Whether nobody is taking the slot's watch down. Whoever does so, another thread perhaps, disarms
 * the register: until then it must not be closed, nor its number given to anything else. */
bool private_watch_is_settled(const struct private_watches *, unsigned slot);

/* Another thread has stored to the line that the slot watches for the sample: writes `record`,
 * whose sample_id says which, once. The watch goes on. Without effect if it has ended meanwhile. */
void private_watch_invalidate(struct private_watches *, unsigned slot,
                              const struct record_invalidation *record);

/* The block [base, base + size) ceases to exist, by the doing of thread by_thread. */
void private_watch_block_freed(struct private_watches *, uint64_t base, uint64_t size,
                               uint32_t by_thread);

/*
 * Takes a slot for something else than a sample, evicting whatever it holds, and arms it on the
 * word (register_size bytes) of the address. `purpose` is the mechanism's own: it comes back with
 * taken_trap() and taken_cancel(). False if the register could not be had.
 */
bool private_watch_take(struct private_watches *, unsigned slot, unsigned purpose, uint64_t address,
                        uint64_t app_now);

/* Without effect if the slot is not taken. */
void private_watch_release(struct private_watches *, unsigned slot);

#endif
