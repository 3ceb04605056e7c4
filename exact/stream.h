/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The access stream: every access of every guest thread, in program order per thread, in batches.
 *
 * QEMU's callback appends to a buffer of the guest thread; when it is full, or when somebody wants
 * to see results, the consumers get the batch on whichever thread noticed, under the guest thread's
 * lock. Consumers thus need no locks for what they keep per thread. The exact analysis is one
 * consumer; a simulated PMU is another.
 */
#ifndef REUSE_EXACT_STREAM_H
#define REUSE_EXACT_STREAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "qemu_api.h"
#include "reuse/exact_coherence.h"
#include "sampling/random.h"

/*
 * One access, or the load and store of an atomic read-modify-write. Kind 0, only while calls are
 * followed: no access of the program, but a call or return that is not to be counted, or an entry.
 */
struct stream_access {
    uint64_t bits;        /* address: 48 bits; width - 1: 6; kind: 2; enum stream_flags: 8 */
    uint32_t instruction; /* instructions.h; with STREAM_ENTER the region */
    uint32_t skipped;     /* accesses before it that the sample left out; 0 without a rate */
};

enum {
    STREAM_READ_MODIFY_WRITE = ACCESS_LOAD | ACCESS_STORE
}; /* a kind, beside enum access_kind */

enum stream_flags {
    STREAM_MODIFIES = 1,    /* a load whose instruction stores to the same place next */
    STREAM_INVALIDATED = 2, /* the thread had a copy and lost it to another thread's write */
    STREAM_CALL = 4,        /* these two only while calls are followed: it stores the return */
    STREAM_RETURN = 8,      /* address, or loads it */
    STREAM_ENTER = 16,      /* a function that is a region begins */
    STREAM_BURST = 32,      /* in a sample: of a stretch that comes in full */
};

static inline uint64_t stream_address(const struct stream_access *access)
{
    return access->bits & ((UINT64_C(1) << 48) - 1);
}
static inline unsigned stream_width(const struct stream_access *access)
{
    return (access->bits >> 48 & 63) + 1;
}
static inline unsigned stream_kind(const struct stream_access *access)
{
    return access->bits >> 54 & 3;
}
static inline unsigned stream_flags(const struct stream_access *access)
{
    return (unsigned)(access->bits >> 56);
}
/* Those of them that say something of calls. */
static inline unsigned stream_call_flags(const struct stream_access *access)
{
    unsigned kind = stream_kind(access), flags = stream_flags(access);
    return flags & (kind == ACCESS_LOAD    ? STREAM_RETURN
                    : kind == ACCESS_STORE ? STREAM_CALL
                                           : STREAM_CALL | STREAM_RETURN | STREAM_ENTER);
}

/* Accesses that it stands for. */
static inline unsigned stream_uses(const struct stream_access *access)
{
    unsigned kind = stream_kind(access);
    return kind == STREAM_READ_MODIFY_WRITE ? 2 : kind != 0;
}
static inline bool stream_modifies(const struct stream_access *access)
{
    return access->bits >> 56 & STREAM_MODIFIES;
}
static inline bool stream_invalidated(const struct stream_access *access)
{
    return access->bits >> 56 & STREAM_INVALIDATED;
}

enum {
    STREAM_CONSUMERS_MAX = 4,
    STREAM_BATCH = 2048, /* accesses; a quarter of a 128 KiB second-level cache */
    STREAM_VCPUS_MAX = 65536,
};

/* A guest thread. Lives until the run's end; vcpu numbers are used again, thread_id is not. */
struct guest_thread {
    struct stream_access *next, *end; /* where the callback appends; written by the guest thread */
    struct stream_access *begin;
    uint32_t skipped;                       /* accesses left out since the last one in the buffer */
    uint64_t accesses;                      /* so far, in a sample: at the last gap's beginning */
    uint64_t until_burst;                   /* accesses to leave out before the next burst */
    uint32_t burst_left;                    /* accesses of it to come */
    struct random random;                   /* for the gaps */
    uint32_t piece_instruction, piece_left; /* of the operand whose pieces come, in a sample */
    uint64_t piece_next;
    struct exact_coherence_thread *calls_in; /* checked with every access; NULL while alone */
    struct exact_coherence_thread *sharing;  /* sharing.c's; NULL without it */
    bool sharing_far;                        /* sharing.c's: prefetching pays */
    pthread_mutex_t lock; /* over the batch's analysis and everything that consumers keep here */
    uint32_t thread_id;   /* in the profile, from 1 */
    int tid;              /* the kernel's */
    bool ended;
    char name[16];
    uint64_t stack_low, stack_high;       /* 0 until its first push */
    bool announced;                       /* has its record in the profile; output.c's */
    uint64_t started_ns, ended_ns;        /* CLOCK_MONOTONIC */
    uint64_t cpu_ns;                      /* CPU time of the thread under QEMU, once it has ended */
    void *consumer[STREAM_CONSUMERS_MAX]; /* what each consumer keeps */
    struct guest_thread *following;       /* next in the list of all */
};

struct stream_consumer {
    /* A thread makes its first access; what is returned is handed to the others. NULL: no memory.
     */
    void *(*thread_started)(struct guest_thread *);
    void (*batch)(void *state, const struct stream_access *, size_t count);
    /* After its last batch; under its lock. What is returned replaces the state. */
    void *(*thread_ended)(void *state);
};

/* Before the guest starts. Its place in guest_thread.consumer. */
unsigned stream_add_consumer(const struct stream_consumer *);

/* True if QEMU encodes memory information as we expect (checked through its own functions). */
bool stream_check_encoding(void);

/* Before the guest starts: marks calls and returns (regions.h). */
void stream_follow_calls(void);

/* What userdata of the callbacks must be. */
void *stream_userdata(uint32_t instruction);

/* QEMU's callbacks: userdata is the instruction's number. For operands of at most 8 bytes, and
 * others. */
void stream_on_access(unsigned vcpu, qemu_plugin_meminfo_t, uint64_t address, void *userdata);
void stream_on_pieces(unsigned vcpu, qemu_plugin_meminfo_t, uint64_t address, void *userdata);

/* The execution of the first instruction of a region's function; userdata is the region. */
void stream_on_entry(unsigned vcpu, void *userdata);

/* A call or return whose access is not to be counted. */
void stream_on_uncounted(unsigned vcpu, qemu_plugin_meminfo_t, uint64_t address, void *userdata);

/* The same when only 1/n of the lines are followed; pieces after the first are dropped. */
void stream_set_rate(uint32_t n, unsigned line_shift);
void stream_on_sampled_access(unsigned vcpu, qemu_plugin_meminfo_t, uint64_t address,
                              void *userdata);
void stream_on_sampled_pieces(unsigned vcpu, qemu_plugin_meminfo_t, uint64_t address,
                              void *userdata);

void stream_vcpu_started(unsigned vcpu);
void stream_vcpu_ended(unsigned vcpu);

/* The guest thread that runs on vcpu now, NULL before its first access. */
struct guest_thread *stream_thread(unsigned vcpu);

/* Analyses what a thread's buffer holds. Only by that thread, or when it cannot run. */
void stream_drain(struct guest_thread *);

/* All threads that ever were, most recent first. Links never change. */
struct guest_thread *stream_all_threads(void);

/* Batches that end from now on are dropped, or no longer: as if their accesses were not made. */
void stream_pause(bool paused);

/* Called with every access, in order, while there are several threads and sharing is followed;
 * width is that of the whole operand. Set before the guest starts. */
extern void (*stream_in_order)(struct guest_thread *, const struct stream_access *, unsigned width);

/* Atomic. While it is set, threads wait before the next access that they would tell in order. */
extern bool stream_halted;

/* Called after each batch, on the guest's thread, without its lock: a place to write profiles. */
extern void (*stream_after_batch)(struct guest_thread *);

/* Called before the second thread starts; the first one, NULL if it made no access, is drained. */
extern void (*stream_become_parallel)(struct guest_thread *only);

/* In a forked child, on its only thread: forgets all threads and accesses; later ones start afresh
 * if `go_on`, else they are dropped. */
void stream_after_fork(bool go_on);

#endif
