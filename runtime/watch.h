/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches: debug registers that wait for the next use of a sampled line. Private ones belong to the
 * sampled thread: here are the perf events behind them, what they do is decided in
 * sampling/private_watch.h. The shared one exists in every thread and waits for stores of the
 * others. Everything here is signal-safe and called with all signals blocked.
 */
#ifndef REUSE_RUNTIME_WATCH_H
#define REUSE_RUNTIME_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

/* A thread begins: no register is opened yet. */
void watch_begin_thread(struct thread *);

/* It ends, or the process does: all its watches end for that reason. Any thread may call. */
void watch_end_thread(struct thread *, enum watch_end reason, uint64_t app_now);

/* The sample (complete but for its watch_* fields) was not reused in the thread's window: see
 * private_watch_start(). */
void watch_start(struct thread *, struct record_sample *sample, uint64_t app_now);

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

/* Opens the shared register in the calling thread, before it creates its first thread. */
void shared_watch_open(void);
void shared_watch_reset_after_fork(void);
void shared_watch_move_descriptor(int from, int to);

/* The shared register trapped in the calling thread. */
void shared_watch_trap(struct thread *, uint32_t generation, ucontext_t *, uint64_t app_now);

/* It trapped on a store of a handler of ours; see watch_own_trap(). */
void shared_watch_own_trap(uint32_t generation);

/* Lets other threads' stores to the line of a running watch be seen, if the shared register is to
 * be had; fills sample->invalidation_address. */
void shared_watch_offer(struct thread *owner, unsigned slot, struct record_sample *sample);

/* The watch in the slot ended: the shared register is free if it served it. */
void shared_watch_release(const struct thread *owner, unsigned slot);

#endif
