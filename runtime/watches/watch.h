/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches: debug registers that wait for the next use of a sampled line. Private ones belong to the
 * sampled thread: here are the perf events behind them, what they do is decided in
 * sampling/private_watch.h. Shared ones exist in every thread and wait for the others. Everything
 * here is signal-safe and called with all signals blocked.
 */
#ifndef REUSE_RUNTIME_WATCH_H
#define REUSE_RUNTIME_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "bursts/thread.h"

/* A thread begins: no register is opened yet. */
void watch_begin_thread(struct thread *);

/* It ends, or the process does: all its watches end for that reason. Any thread may call. */
void watch_end_thread(struct thread *, enum watch_end reason, uint64_t app_now);

/* Of what its lines are watched for only: a register taken for something else stays. */
void watch_end_lines(struct thread *, enum watch_end reason, uint64_t app_now);

/* Whether a register is armed for a sample of the calling thread. */
bool watch_is_armed(const struct thread *);

/* Private registers of a thread. Two more would see hardly more, and cost a trap each at every
 * burst; the other two of most processors are for what all threads share. */
enum { WATCH_PRIVATE = 2 };

/* What private registers are taken for. */
enum watch_purpose { WATCH_FOR_MARKER, WATCH_FOR_BRIDGE };

/* A private register of the calling thread trapped. */
void watch_trap(struct thread *, unsigned slot, uint32_t generation, ucontext_t *,
                uint64_t app_now);

/* A private register trapped on what a handler of ours touched: private_watch_own_trap(). */
void watch_own_trap(struct thread *, unsigned slot, uint32_t generation);

/*
 * Another thread (`by`, the calling one) has stored to the line that the slot watches for the
 * sample. The watch goes on. Without effect if it has ended meanwhile.
 */
void watch_invalidate(struct thread *owner, unsigned slot, uint64_t sample_id,
                      const struct thread *by, uint64_t ip, uint32_t context, unsigned visit_flags,
                      unsigned words_after);

/*
 * Looks at what else of a line the visit that just trapped in the calling thread will touch.
 * Returns flags of enum watch_end_flags; 0 when that cannot be told.
 */
unsigned watch_follow_visit(struct thread *, uint64_t sampled_address, uint64_t trapped_address,
                            const ucontext_t *, unsigned *words_after);

/* Reserves the calling thread's registers if that has not been tried; the number it has. */
unsigned watch_registers(struct thread *);

/* The block [base, base + size) ceases to exist. Any thread; blocks signals itself. */
void watch_block_freed(uint64_t base, uint64_t size);

/* A register on the word at address trapped in the calling thread, which the kernel has told of by
 * another one's signal: private ones on the same word did so as well. */
void watch_trapped_too(struct thread *, uint64_t address, ucontext_t *, uint64_t app_now);

/* For step_over.c: the calling thread's registers on that word, as bits of thread->step, and back.
 */
void watch_put_aside(struct thread *, uint64_t address);
void watch_bring_back(struct thread *, unsigned registers);

/* A register trapped that nobody waits for any more, before the access: it is disarmed. */
void watch_stray_trap(struct thread *, unsigned slot);

/* ---- shared_watch.c: the registers that all threads have ---- */

enum { SHARED_WATCH_SLOTS = 3 }; /* of their cookies: fewer than this */

/* Opens them in the calling thread, before it creates its first thread. */
void shared_watch_open(void);
bool shared_watch_is_open(void);
void shared_watch_reset_after_fork(void);

/* One of them trapped in the calling thread. */
void shared_watch_trap(struct thread *, unsigned slot, uint32_t generation, ucontext_t *,
                       uint64_t app_now);

/* One of them trapped on what a handler of ours touched; see watch_own_trap(). */
void shared_watch_own_trap(unsigned slot, uint32_t generation);

/* As watch_put_aside(): in all threads, until each that has put one aside has brought it back. */
void shared_watch_put_aside(struct thread *, uint64_t address);
void shared_watch_bring_back(unsigned registers, uint32_t use);

/* One of them trapped, before the access, in a thread that is not known: the watch ends. */
void shared_watch_stray_trap(unsigned slot);

/* Lets other threads' stores to the line of a running watch be seen, if a shared register is to be
 * had; fills sample->invalidation_address. */
void shared_watch_offer(struct thread *owner, unsigned slot, struct record_sample *sample);

/* The watch in the slot ended: the shared register is free if it served it. */
void shared_watch_release(const struct thread *owner, unsigned slot);

/* For line watches: both registers, for loads and stores or stores alone. */
bool shared_registers_arm(uint64_t address, uint64_t address2, bool loads, uint32_t generation);
void shared_registers_disarm(void);
/* They accompany a private watch, and are not for a new use of lesser importance; drawn anew with
 * each call. */
bool shared_registers_kept(struct random *);

/* ---- line_sharing.c: what all threads do to a line after a sampled access ---- */

enum {
    /* Delivery of a trap takes 12 us, give or take this: the order of traps of different threads
     * less apart is not certain. Written to the profile. */
    TRAP_TOLERANCE_NS = 1000,
};

struct access_run;
struct own_visit;

void line_sharing_begin(unsigned registers);
void line_sharing_reset_after_fork(void);

/* There are registers, and threads to be told apart. */
bool line_sharing_active(void);

/* A sample was taken, which is still to be executed; visit: of a store, what the thread itself does
 * to the line, else NULL; polls: of a load, the thread does nothing but read the place. Of other
 * loads only those that the run does not resolve are followed. kernel_copies: the line is none for
 * a register (kernel_buffers.h); the sample counts as one that chance refused. Before the sample's
 * record is written. */
void line_sharing_offer(struct thread *, const struct access_run *, const struct own_visit *visit,
                        bool polls, bool kernel_copies, struct record_sample *);

/* The sample of a burst for communication, among the first n of its `count` accesses, of which
 * `uniform` was drawn with equal probability; *weight_factor as in struct record_sample. Tells
 * other threads what this one touches. */
uint32_t line_sharing_prefer(struct thread *, const struct access *, uint32_t n, uint32_t count,
                             uint32_t uniform, double *weight_factor);

/* The thread's handler is about to return. */
void line_sharing_resumed(const struct thread *);

/* Whether the line watch that runs would give way to something else; drawn anew. */
bool line_sharing_yields(struct random *);

/* Whether a line watch is for that sample. */
bool line_sharing_follows(uint64_t sample_id);

/* The words watched now, or 0. */
void line_sharing_words(uint64_t words[2]);

void line_sharing_trap(struct thread *, bool second, uint32_t generation, ucontext_t *);
/* Another register on the word trapped, and the kernel told of that alone. */
void line_sharing_trapped_too(struct thread *, uint64_t address, ucontext_t *);
void line_sharing_own_trap(void);
void line_sharing_stop(enum line_end reason);
void line_sharing_thread_ended(uint32_t thread_id);
/* See line_watch_evict(), line_watch_is_of(). */
void line_sharing_evict(const struct thread *);
bool line_sharing_is_of(const struct thread *);
void line_sharing_block_freed(uint64_t base, uint64_t size);

#endif
