/* SPDX-License-Identifier: BSD-3-Clause */
/* See stream.h. */
#include "stream.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "instructions.h"
#include "process_sharing.h"
#include "reuse/exact_rate.h"
#include "say.h"
#include "sharing.h"

#define ADDRESS_MASK ((UINT64_C(1) << 48) - 1)

void (*stream_after_batch)(struct guest_thread *);
void (*stream_in_order)(struct guest_thread *, const struct stream_access *, unsigned width);
bool stream_halted;
void (*stream_become_parallel)(struct guest_thread *);

static const struct stream_consumer
    *consumers[STREAM_CONSUMERS_MAX]; /* set before the guest runs */
static size_t consumer_count;

/* Stands for a vcpu whose thread has made no access yet: its empty buffer leads to make_room(). */
static struct guest_thread no_thread;

/* By vcpu. Written by the thread that starts or ends the vcpu, while it does not run. */
static struct guest_thread *threads[STREAM_VCPUS_MAX];

/* Written under list_lock; read by anybody (a thread is linked once it is complete). */
static struct guest_thread *all_threads;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t threads_so_far;
static unsigned vcpus_so_far; /* written by the thread that starts one; the first two matter */
static uint32_t rate_denominator = 1; /* these two are set before the guest runs */
static unsigned rate_shift;
static bool following_calls; /* likewise */
static bool dropping;        /* a forked child that is not profiled; set on its only thread */
static bool paused;          /* atomic */

unsigned stream_add_consumer(const struct stream_consumer *consumer)
{
    consumers[consumer_count] = consumer;
    return (unsigned)consumer_count++;
}

bool stream_check_encoding(void)
{
    for (unsigned shift = 0; shift < 4; shift++)
        for (unsigned rw = 1; rw <= 3; rw++)
            if (qemu_plugin_mem_size_shift(shift << 4 | rw << 16) != shift ||
                qemu_plugin_mem_is_store(shift << 4 | rw << 16) != (rw != ACCESS_LOAD))
                return false;
    return true;
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct guest_thread *new_thread(void)
{
    struct guest_thread *thread = calloc(1, sizeof *thread);
    struct stream_access *buffer = aligned_alloc(64, STREAM_BATCH * sizeof *buffer);
    if (thread == NULL || buffer == NULL) {
        say("out of memory for a thread's buffer; stopping the program");
        _exit(125);
    }
    pthread_mutex_init(&thread->lock, NULL);
    thread->begin = thread->next = buffer;
    thread->end = buffer + STREAM_BATCH;
    thread->tid = (int)syscall(SYS_gettid);
    thread->started_ns = monotonic_ns();
    thread->burst_left = rate_denominator > 1 ? EXACT_RATE_BURST : 0;
    prctl(PR_GET_NAME, thread->name);
    thread->thread_id = __atomic_add_fetch(&threads_so_far, 1, __ATOMIC_RELAXED);
    random_seed(&thread->random, thread->thread_id);
    sharing_thread_started(thread);
    for (size_t i = 0; i < consumer_count; i++)
        thread->consumer[i] = consumers[i]->thread_started(thread);
    pthread_mutex_lock(&list_lock);
    thread->following = all_threads;
    __atomic_store_n(&all_threads, thread, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&list_lock);
    return thread;
}

struct guest_thread *stream_all_threads(void)
{
    return __atomic_load_n(&all_threads, __ATOMIC_ACQUIRE);
}

struct guest_thread *stream_thread(unsigned vcpu)
{
    return threads[vcpu] == &no_thread ? NULL : threads[vcpu];
}

static void consume(struct guest_thread *thread)
{
    size_t count = (size_t)(thread->next - thread->begin);
    bool wanted = count > 0 && !dropping && !__atomic_load_n(&paused, __ATOMIC_RELAXED);
    if (wanted)
        sharing_batch(thread, thread->begin, count);
    if (wanted)
        for (size_t i = 0; i < consumer_count; i++)
            consumers[i]->batch(thread->consumer[i], thread->begin, count);
    thread->next = thread->begin;
}

void stream_pause(bool pause)
{
    __atomic_store_n(&paused, pause, __ATOMIC_RELAXED);
}

void stream_drain(struct guest_thread *thread)
{
    pthread_mutex_lock(&thread->lock);
    if (!thread->ended)
        consume(thread);
    pthread_mutex_unlock(&thread->lock);
}

/* Called when the buffer has no room for what comes next: a new thread, or a full batch. */
static __attribute__((noinline)) struct guest_thread *make_room(unsigned vcpu)
{
    struct guest_thread *thread = threads[vcpu];
    if (thread == &no_thread)
        return threads[vcpu] = new_thread();
    stream_drain(thread);
    if (stream_after_batch != NULL && !dropping)
        stream_after_batch(thread);
    return thread;
}

void stream_follow_calls(void)
{
    following_calls = true;
}

void *stream_userdata(uint32_t instruction)
{
    unsigned role = instruction_at(instruction)->role;
    uint64_t flags = role & ROLE_MODIFY ? STREAM_MODIFIES : 0;
    if (following_calls)
        flags |= (role & ROLE_CALL ? STREAM_CALL : 0) | (role & ROLE_RETURN ? STREAM_RETURN : 0);
    return (void *)(uintptr_t)(instruction | flags << 56);
}

/*
 * QEMU's memory information: log2 of the size in bits 4..6, load and store in bits 16 and 17. The
 * flags are those of userdata.
 */
static inline uint64_t access_bits(uint64_t address, qemu_plugin_meminfo_t info, void *userdata)
{
    uint64_t width = UINT64_C(1) << (info >> 4 & 7);
    return (address & ADDRESS_MASK) | (width - 1) << 48 | (uint64_t)(info >> 16 & 3) << 54 |
           ((uintptr_t)userdata & UINT64_C(0xff) << 56);
}

/* Appends what is no access. */
static void append_mark(unsigned vcpu, uint64_t address, uint32_t instruction, uint64_t flags)
{
    struct guest_thread *thread = threads[vcpu];
    if (thread->next == thread->end)
        thread = make_room(vcpu);
    if (thread->burst_left != 0)
        flags |= STREAM_BURST;
    *thread->next++ = (struct stream_access){.bits = (address & ADDRESS_MASK) | flags << 56,
                                             .instruction = instruction,
                                             .skipped = thread->skipped};
    thread->skipped = 0;
}

void stream_on_entry(unsigned vcpu, void *userdata)
{
    append_mark(vcpu, 0, (uint32_t)(uintptr_t)userdata, STREAM_ENTER);
}

void stream_on_uncounted(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address,
                         void *userdata)
{
    /* A call through memory also loads. */
    bool is_store = qemu_plugin_mem_is_store(info);
    uint64_t flags = (uintptr_t)userdata >> 56 & (is_store ? STREAM_CALL : STREAM_RETURN);
    if (flags != 0)
        append_mark(vcpu, address, 0, flags);
}

/* Whoever halted the others needs about a microsecond, unless the scheduler has put it aside. */
static __attribute__((noinline)) void wait_while_halted(void)
{
    enum { SPINS = 2000 };
    for (unsigned spin = 0; __atomic_load_n(&stream_halted, __ATOMIC_ACQUIRE); spin++)
        if (spin >= SPINS)
            sched_yield();
}

/* Tells sharing of an access of `width` bytes, and the access what sharing knows of it; and who
 * else wants to see the order. */
static inline void call_in(struct guest_thread *thread, struct stream_access *access,
                           unsigned width)
{
    bool write = stream_kind(access) & ACCESS_STORE || stream_modifies(access);
    if (__builtin_expect(__atomic_load_n(&stream_halted, __ATOMIC_RELAXED), 0))
        wait_while_halted();
    if (exact_coherence_access(thread->calls_in, stream_address(access), width, write,
                               access->instruction))
        access->bits |= UINT64_C(1) * STREAM_INVALIDATED << 56;
    if (process_sharing_on)
        process_sharing_access(thread, access, width);
    if (stream_in_order != NULL)
        stream_in_order(thread, access, width);
}

void stream_on_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
    struct guest_thread *thread = threads[vcpu];
    struct stream_access *access = thread->next;
    if (__builtin_expect(access == thread->end, 0)) {
        thread = make_room(vcpu);
        access = thread->next;
    }
    access->bits = access_bits(address, info, userdata);
    access->instruction = (uint32_t)(uintptr_t)userdata;
    access->skipped = 0;
    if (thread->calls_in != NULL)
        call_in(thread, access, stream_width(access));
    thread->next = access + 1;
}

void stream_on_pieces(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
    struct guest_thread *thread = threads[vcpu];
    struct stream_access *access = thread->next;
    uint32_t number = (uint32_t)(uintptr_t)userdata;
    uint64_t bits = access_bits(address, info, userdata);
    unsigned whole = instruction_at(number)->operand_bytes;
    if (access != thread->begin) {
        struct stream_access *last = access - 1;
        unsigned so_far = stream_width(last), width = (bits >> 48 & 63) + 1;
        bool continues = last->instruction == number && ((last->bits ^ bits) >> 54 & 3) == 0 &&
                         stream_address(last) + so_far == (bits & ADDRESS_MASK) &&
                         so_far + width <= whole;
        if (continues) {
            last->bits += (uint64_t)width << 48;
            return;
        }
    }
    /* An operand's pieces must stay in one batch: leave when only few places are left. */
    enum { PIECES_MAX = 64 };
    if (thread->end - access < PIECES_MAX) {
        thread = make_room(vcpu);
        access = thread->next;
    }
    access->bits = bits;
    access->instruction = number;
    access->skipped = 0;
    if (thread->calls_in != NULL) /* with the first piece, for all of them */
        call_in(thread, access, stream_width(access) == 8 ? whole : stream_width(access));
    thread->next = access + 1;
}

void stream_set_rate(uint32_t n, unsigned line_shift)
{
    rate_denominator = n;
    rate_shift = line_shift;
}

/* Whether one of the lines that [address, address + width) touches is followed. */
static inline bool is_followed(uint64_t address, unsigned width)
{
    uint64_t line = address >> rate_shift, last = (address + width - 1) >> rate_shift;
    return exact_rate_keeps(line, rate_denominator) ||
           (last != line && exact_rate_keeps(last, rate_denominator));
}

/* A burst is over: when the next one is to begin. */
static __attribute__((noinline)) void choose_gap(struct guest_thread *thread)
{
    thread->accesses += EXACT_RATE_BURST;
    thread->until_burst = exact_rate_gap(thread->accesses, &thread->random);
    thread->accesses += thread->until_burst;
}

void stream_on_sampled_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address,
                              void *userdata)
{
    struct guest_thread *thread = threads[vcpu];
    if (thread->burst_left == 0 && !is_followed(address, 1u << (info >> 4 & 7)) &&
        thread != &no_thread) {
        thread->skipped += (info >> 16 & 3) == STREAM_READ_MODIFY_WRITE ? 2 : 1;
        if (__builtin_expect(--thread->until_burst == 0, 0))
            thread->burst_left = EXACT_RATE_BURST;
        if (__builtin_expect((uintptr_t)userdata >> 56 & (STREAM_CALL | STREAM_RETURN), 0))
            stream_on_uncounted(vcpu, info, address, userdata);
        return;
    }
    struct stream_access *access = thread->next;
    if (__builtin_expect(access == thread->end, 0)) {
        thread = make_room(vcpu);
        access = thread->next;
    }
    access->bits = access_bits(address, info, userdata);
    access->instruction = (uint32_t)(uintptr_t)userdata;
    access->skipped = thread->skipped;
    thread->skipped = 0;
    thread->next = access + 1;
    if (thread->burst_left != 0) {
        access->bits |= UINT64_C(1) * STREAM_BURST << 56;
        if (--thread->burst_left == 0)
            choose_gap(thread);
    }
}

void stream_on_sampled_pieces(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address,
                              void *userdata)
{
    struct guest_thread *thread = threads[vcpu];
    uint32_t number = (uint32_t)(uintptr_t)userdata;
    unsigned whole = instruction_at(number)->operand_bytes, width = 1u << (info >> 4 & 7);
    /* The pieces of one operand follow each other; only the first stands for it. */
    bool continues = thread->piece_instruction == number && thread->piece_next == address &&
                     thread->piece_left >= width;
    if (thread != &no_thread) {
        thread->piece_instruction = number;
        thread->piece_next = address + width;
        thread->piece_left = (continues ? thread->piece_left : whole) - width;
    }
    if (continues)
        return;
    stream_on_sampled_access(vcpu, info, address, userdata);
}

void stream_vcpu_started(unsigned vcpu)
{
    if (vcpu >= STREAM_VCPUS_MAX) {
        say("more than %d threads at once; stopping the program", STREAM_VCPUS_MAX);
        _exit(125);
    }
    threads[vcpu] = &no_thread;
    if (++vcpus_so_far == 2) {
        /* The caller is the first thread, about to start another. */
        struct guest_thread *only = stream_all_threads();
        if (only != NULL)
            stream_drain(only);
        sharing_become_parallel(only);
        if (stream_become_parallel != NULL)
            stream_become_parallel(only);
    }
}

void stream_vcpu_ended(unsigned vcpu)
{
    struct guest_thread *thread = threads[vcpu];
    threads[vcpu] = &no_thread;
    if (thread == &no_thread)
        return;
    pthread_mutex_lock(&thread->lock);
    consume(thread);
    struct timespec cpu;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0)
        thread->cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
    prctl(PR_GET_NAME, thread->name);
    for (size_t i = 0; i < consumer_count; i++)
        thread->consumer[i] = consumers[i]->thread_ended(thread->consumer[i]);
    sharing_thread_ended(thread);
    thread->ended = true;
    thread->ended_ns = monotonic_ns();
    free(thread->begin);
    thread->begin = thread->next = thread->end = NULL;
    pthread_mutex_unlock(&thread->lock);
}

void stream_after_fork(bool go_on)
{
    pthread_mutex_init(&list_lock, NULL);
    all_threads = NULL;
    threads_so_far = 0;
    vcpus_so_far = 1;
    dropping = !go_on;
    for (unsigned vcpu = 0; vcpu < STREAM_VCPUS_MAX; vcpu++)
        if (threads[vcpu] != NULL)
            threads[vcpu] = &no_thread;
}
