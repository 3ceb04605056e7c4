/* SPDX-License-Identifier: BSD-3-Clause */
/* See shared_cache.h. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O3")
#endif
#include "shared_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "histograms.h"

enum {
    ROUND = 2048,              /* uses that a thread brings to a round */
    TURN = 16,                 /* uses of a thread in a row within a round */
    PREFETCH_AHEAD = 12,       /* uses; within a turn or not */
    PATIENCE_NS = 2 * 1000000, /* that a round waits for threads that run */
};

/* A thread's uses that are not merged yet. */
struct member {
    uint64_t *lines; /* ROUND + 64 places; only its thread appends, while it is not waiting */
    uint32_t count;
    bool waiting; /* has brought its uses to the round; under lock, and so everything below */
    bool awaited; /* a round waits for it: it is alive, not in a system call, and kept up */
    struct member *following;
};

/* Everything here is under `lock`; running is read without it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t round_over = PTHREAD_COND_INITIALIZER;
static uint64_t rounds;
static bool running;
static struct member *members;
static struct exact_stack stack;
static struct locality_histograms *counts; /* of the first line size alone */
static unsigned shift;

static bool started; /* these two are set before the guest starts */
static unsigned consumer;

void shared_cache_start(unsigned place)
{
    started = true;
    consumer = place;
}

static void *thread_started(struct guest_thread *thread)
{
    struct member *member = calloc(1, sizeof *member);
    (void)thread;
    if (member == NULL)
        return NULL;
    member->lines = malloc((ROUND + 64) * sizeof *member->lines);
    if (member->lines == NULL) {
        free(member);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    member->awaited = true;
    member->following = members;
    members = member;
    pthread_mutex_unlock(&lock);
    return member;
}

static bool keep_all(void *context, uint64_t line)
{
    (void)context;
    (void)line;
    return true;
}

void shared_cache_become_parallel(struct guest_thread *only)
{
    pthread_mutex_lock(&lock);
    shift = (unsigned)__builtin_ctz(locality_line_size(0));
    const struct exact_stack *before =
        only != NULL ? locality_stack(only->consumer[LOCALITY_CONSUMER]) : NULL;
    counts = calloc(1, sizeof *counts);
    bool whole = counts != NULL &&
                 (before != NULL ? exact_stack_filter(&stack, before, true, keep_all, NULL)
                                 : exact_stack_create(&stack) && exact_stack_keep_marks(&stack));
    if (whole && before != NULL)
        locality_add_thread(only->consumer[LOCALITY_CONSUMER], counts, NULL);
    __atomic_store_n(&running, whole, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

/* A use in a member's list: bit 63 tells that it stores. */
static const uint64_t stores = UINT64_C(1) << 63;

static void use(uint64_t entry)
{
    struct exact_reuse reuse = exact_stack_use(&stack, entry & ~stores);
    exact_dirty_use(&counts->dirty[0], &stack, reuse, entry & stores);
    counts->accesses[0]++;
    if (reuse.distance == EXACT_STACK_COLD) {
        counts->cold[0]++;
        return;
    }
    counts->distance[0][histogram_bin_of(reuse.distance)]++;
    counts->time[0][histogram_bin_of(reuse.time)]++;
}

/* Merges what threads have brought, or all that there is, by turns. Under lock. */
static void merge(bool all)
{
    bool more = true;
    for (uint32_t from = 0; more; from += TURN) {
        more = false;
        for (struct member *member = members; member != NULL; member = member->following) {
            uint32_t end = member->waiting || all ? member->count : 0;
            for (uint32_t i = from; i < end && i < from + TURN; i++) {
                if (i + PREFETCH_AHEAD < end)
                    exact_stack_prefetch(&stack, member->lines[i + PREFETCH_AHEAD] & ~stores);
                use(member->lines[i]);
            }
            more |= from + TURN < end;
        }
    }
    for (struct member *member = members; member != NULL; member = member->following)
        if (member->waiting || all) {
            member->count = 0;
            member->waiting = false;
        }
    rounds++;
    pthread_cond_broadcast(&round_over);
}

/* Whether all that a round waits for are there. Under lock. */
static bool is_complete(void)
{
    for (const struct member *member = members; member != NULL; member = member->following)
        if (member->awaited && !member->waiting)
            return false;
    return true;
}

/*
 * The thread's uses are due: the last one to come merges them all. Who does not come in time (a
 * thread that computes without memory, or that QEMU holds) is not awaited until it comes by itself.
 */
static void join_round(struct member *member)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PATIENCE_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&lock);
    member->waiting = member->awaited = true;
    uint64_t round = rounds;
    bool late = false;
    while (rounds == round && !late && !is_complete())
        late = pthread_cond_timedwait(&round_over, &lock, &until) == ETIMEDOUT;
    if (rounds == round) {
        for (struct member *other = members; other != NULL && late; other = other->following)
            other->awaited &= other->waiting;
        merge(false);
    }
    pthread_mutex_unlock(&lock);
}

static void batch(void *state, const struct stream_access *accesses, size_t count)
{
    struct member *member = state;
    if (!__atomic_load_n(&running, __ATOMIC_ACQUIRE) || member == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        const struct stream_access *access = &accesses[i];
        uint64_t address = stream_address(access), last = address + stream_width(access) - 1;
        unsigned kind = stream_kind(access);
        for (unsigned n = 0; n < stream_uses(access); n++)
            for (uint64_t line = address >> shift; line <= last >> shift; line++)
                member->lines[member->count++] =
                    line | (kind == ACCESS_STORE || n == 1 ? stores : 0);
        if (member->count >= ROUND)
            join_round(member);
    }
}

void shared_cache_pause(struct guest_thread *thread, bool pauses)
{
    if (!started || thread == NULL)
        return;
    struct member *member = thread->consumer[consumer];
    if (!__atomic_load_n(&running, __ATOMIC_ACQUIRE) || member == NULL)
        return;
    /* What it has done so far comes before all that others do until it is back. */
    if (pauses)
        stream_drain(thread);
    pthread_mutex_lock(&lock);
    member->awaited = !pauses;
    for (uint32_t i = 0; pauses && i < member->count; i++)
        use(member->lines[i]);
    if (pauses) { /* others may be waiting for this one alone */
        member->count = 0;
        pthread_cond_broadcast(&round_over);
    }
    pthread_mutex_unlock(&lock);
}

static void *thread_ended(void *state)
{
    struct member *member = state;
    if (member == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; running && i < member->count; i++)
        use(member->lines[i]);
    for (struct member **place = &members; *place != NULL; place = &(*place)->following)
        if (*place == member) {
            *place = member->following;
            break;
        }
    pthread_cond_broadcast(&round_over);
    pthread_mutex_unlock(&lock);
    free(member->lines);
    free(member);
    return NULL;
}

void shared_cache_write(struct profile_writer *writer, bool last, uint64_t now_ns)
{
    pthread_mutex_lock(&lock);
    if (running && last)
        merge(true);
    if (running)
        histograms_write_first(writer, SCOPE_SHARED, 1, counts, now_ns);
    pthread_mutex_unlock(&lock);
}

uint64_t shared_cache_lost(void)
{
    return stack.untracked;
}

void shared_cache_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&round_over, NULL);
    running = false;
    memset(&stack, 0, sizeof stack);
    counts = NULL;
    members = NULL;
}

const struct stream_consumer shared_cache_consumer = {
    .thread_started = thread_started,
    .batch = batch,
    .thread_ended = thread_ended,
};
