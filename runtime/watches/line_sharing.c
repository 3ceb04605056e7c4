/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signal-safe. The mechanism behind sampling/line_watch.h: two registers that all threads have, the
 * interpreter for visits, and the bulletin board of this process.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "allocation/interpose_allocation.h"
#include "arch/arch.h"
#include "bursts/look_ahead.h"
#include "interposition/interpose_signal.h"
#include "isa/guarded_memory.h"
#include "isa/trapped_access.h"
#include "large_table.h"
#include "memory/fault_guard.h"
#include "memory/memory.h"
#include "output/output.h"
#include "perf_events/timebase.h"
#include "process/settings.h"
#include "recording/tape.h"
#include "sampling/board.h"
#include "sampling/communication_draw.h"
#include "sampling/line_mask.h"
#include "sampling/line_visit.h"
#include "sampling/line_watch.h"
#include "sampling/sample.h"
#include "sampling/shared_lines.h"
#include "sampling/watch_plan.h"
#include "unwinding/attribution.h"
#include "watches/watch.h"

#include "signal_safe.h"

enum {
    /* Handlers of ours that touch a watched word, before the watch is given up. */
    OWN_TRAPS_MAX = 64,
};

static LARGE_TABLE struct line_watch lines; /* has a lock of its own */
static LARGE_TABLE struct board board;      /* likewise */
static _Atomic bool active;                 /* the registers are open */
static _Atomic unsigned own_traps;
static _Atomic uint64_t words[2]; /* watched; for the interpreter */

static bool arm(void *context, uint64_t address, uint64_t address2, bool loads, uint32_t generation)
{
    bool armed = shared_registers_arm(address, address2, loads, generation);

    (void)context;
    if (armed && atomic_load(&words[0]) != address) {
        atomic_store(&own_traps, 0);
        allocation_watch(address);
        atomic_store(&words[0], address);
        atomic_store(&words[1], address2);
    }
    return armed;
}

static void disarm(void *context)
{
    uint64_t address = atomic_exchange(&words[0], 0);

    (void)context;
    atomic_store(&words[1], 0);
    shared_registers_disarm();
    if (address)
        allocation_unwatch(address);
}

static void append(void *context, enum record_type type, const void *record, size_t size)
{
    (void)context;
    output_append(type, record, size, NULL, 0);
}

void line_sharing_begin(unsigned registers)
{
    struct line_watch_mechanism mechanism = {
        .arm = arm,
        .disarm = disarm,
        .append = append,
        .line_size = settings.line_size,
        .tolerance_ns = TRAP_TOLERANCE_NS,
        .single = registers < 2,
    };

    line_watch_begin(&lines, &mechanism);
    atomic_store(&active, registers > 0);
}

void line_sharing_reset_after_fork(void)
{
    /* Nothing was written: each child would pay for pages that nobody has touched. */
    if (!atomic_exchange(&active, false))
        return;
    memset(&lines, 0, sizeof lines);
    memory_clear(&board, sizeof board);
    atomic_store(&words[0], 0);
    atomic_store(&words[1], 0);
}

bool line_sharing_active(void)
{
    return atomic_load_explicit(&active, memory_order_relaxed) && thread_alive_count() > 1;
}

void line_sharing_resumed(const struct thread *thread)
{
    if (atomic_load_explicit(&active, memory_order_relaxed) && line_watch_waits(&lines, thread->id))
        line_watch_resumed(&lines, thread->id, monotonic_ns());
}

bool line_sharing_follows(uint64_t sample_id)
{
    return atomic_load_explicit(&words[0], memory_order_relaxed) != 0 &&
           lines.record.sample_id == sample_id;
}

void line_sharing_words(uint64_t out[2])
{
    out[0] = atomic_load_explicit(&words[0], memory_order_relaxed);
    out[1] = atomic_load_explicit(&words[1], memory_order_relaxed);
}

static void publish(uint32_t thread_id, uint64_t line, uint64_t bytes, uint8_t kind, uint64_t now)
{
    struct board_entry entry = {
        .line = line, .bytes = bytes, .time_ns = now, .thread = thread_id, .kinds = kind};

    board_publish(&board, &entry);
}

uint32_t line_sharing_prefer(struct thread *thread, const struct access *accesses, uint32_t n,
                             uint32_t count, uint32_t uniform, double *weight_factor)
{
    enum { SHARED, LAST, SHARED_AND_LAST, LISTS };
    struct store_list lists[LISTS];
    uint64_t now = monotonic_ns();

    shared_lines_find(&board, accesses, n, settings.line_size, thread->id, now, &lists[SHARED]);
    shared_lines_publish(&board, accesses, n, settings.line_size, thread->id, now);
    last_stores_find(accesses, n, count, settings.line_size, &lists[LAST]);
    store_list_common(&lists[SHARED], &lists[LAST], &lists[SHARED_AND_LAST]);
    return communication_draw(lists, LISTS, n, uniform, &thread->random, weight_factor);
}

bool line_sharing_yields(struct random *random)
{
    return line_watch_yields(&lines, random);
}

/* Who else was seen at the line of the sample lately. */
static void find_others(const struct record_sample *sample, struct line_watch_offer *offer)
{
    offer->shared =
        board_others(&board, line_start(sample->address, settings.line_size), sample->thread_id,
                     board_since(sample->monotonic_ns), &offer->others);
}

/*
 * A load that is not reused soon: who uses the line next? In one case of two the registers are left
 * to tell whether the line is invalidated (shared_watch.c).
 */
static void offer_use(struct thread *thread, struct line_watch_offer *offer,
                      struct record_sample *sample)
{
    sample->flags |= SAMPLE_USE_OFFERED;
    if (random_below(&thread->random, LINE_WATCH_USES_ONE_IN) != 0 ||
        shared_registers_kept(&thread->random))
        return;
    find_others(sample, offer);
    offer->uses = true;
    line_watch_offer(&lines, &thread->random, offer, sample);
}

void line_sharing_offer(struct thread *thread, const struct access_run *run,
                        const struct own_visit *visit, bool polls, bool kernel_copies,
                        struct record_sample *sample)
{
    uint64_t line = line_start(sample->address, settings.line_size), now = sample->monotonic_ns;
    struct line_watch_offer offer = {
        .thread_id = thread->id,
        .time_ns = now,
        .delayed_ns = atomic_load(&thread->overhead_ns),
        .ahead = access_run_ahead(run, WATCH_WORD),
        .barred = kernel_copies,
    };

    if (!watch_plan_suits_all_threads(&run->sample)) {
        publish(thread->id, line,
                line_mask(line, settings.line_size, sample->address, sample->width), sample->kind,
                now);
        return;
    }
    if (sample->kind == ACCESS_STORE && visit) {
        own_visit_end(visit, sample);
        find_others(sample, &offer);
        /* Where the thread itself stores again within nanoseconds, and nobody else was ever seen,
         * there is nothing to be seen in between. */
        if (visit->next_store != REUSE_TIME_NONE && !offer.shared)
            sample->flags |= SAMPLE_LINE_OFFERED;
        else
            line_watch_offer(&lines, &thread->random, &offer, sample);
    }
    if (polls && random_below(&thread->random, LINE_WATCH_WAITS_ONE_IN) != 0) {
        sample->flags |= SAMPLE_LINE_OFFERED;
    } else if (polls) {
        find_others(sample, &offer);
        offer.waits = true;
        line_watch_offer(&lines, &thread->random, &offer, sample);
    } else if (sample->kind == ACCESS_LOAD && sample->reuse_ip == 0) {
        offer_use(thread, &offer, sample);
    }
    publish(thread->id, line, line_mask(line, settings.line_size, sample->address, sample->width),
            sample->kind, now);
}

/* The code at the trap. The instruction itself can be read; what lies before it on another page
 * perhaps not. */
static bool read_code(const ucontext_t *context, uint64_t from, unsigned char *code, size_t size)
{
    bool readable = true;

    if (tape_supplies()) {
        readable = false;
    } else if ((from ^ (from + size - 1)) >> 12) {
        fault_guard_enter(context);
        readable = guarded_memory_read(from, code, size);
        fault_guard_leave();
    } else {
        memcpy(code, (const void *)(uintptr_t)from, size);
    }
    readable = tape_value(TAPE_CALL, readable);
    if (readable)
        tape_bytes(code, size);
    return readable;
}

/* What trapped, if the code at the trap tells. */
static void identify(const ucontext_t *context, uint64_t word, struct line_trap *trap)
{
    struct interpreter_registers registers;
    struct trapped_access access;
    unsigned char code[TRAPPED_CODE_BYTES];

    if (!read_code(context, arch_ip(context) - TRAPPED_CODE_BEFORE, code, sizeof code))
        return;
    look_ahead_registers(context, &registers);
    if (!trapped_access_find(code, sizeof code, &registers, word, WATCH_WORD,
                             line_watch_instruction(&lines, trap->thread_id), &access))
        return;
    trap->ip = access.ip;
    trap->address = access.address;
    trap->width = access.width;
    trap->kind = access.kind;
}

static void follow(struct thread *thread, const ucontext_t *context, struct line_arrival *arrival)
{
    struct line_visit visit;
    enum interpreter_stop why;
    size_t seen = 0;

    if (!look_ahead_begin_after_access(thread, context))
        return;
    line_visit_begin(&visit, arrival, settings.line_size);
    do {
        size_t n = look_ahead_next(thread, 128, &why);

        line_visit_feed(&visit, thread->batch, n);
        seen += n;
    } while (why == INTERPRETER_FULL && seen < VISIT_ACCESSES);
    look_ahead_end(thread);
    line_visit_end(&visit, &arrival->event);
}

static void trap_one(struct thread *thread, struct line_trap trap, ucontext_t *context)
{
    struct line_arrival arrival;
    enum line_trap_answer answer;
    uint64_t ip = arch_after_access(context);

    identify(context, atomic_load(&words[trap.second]), &trap);
    answer = line_watch_trap(&lines, &trap, &arrival);
    if (answer == LINE_TRAP_BUSY)
        syscall(SYS_sched_yield);
    if (answer != LINE_TRAP_EVENT)
        return;
    follow(thread, context, &arrival);
    arrival.event.context_id = attribution_context(thread, context, ip);
    arrival.event.cpu = attribution_cpu();
    line_watch_event(&lines, &arrival.event);
    publish(thread->id, arrival.line, arrival.event.visit_read | arrival.event.visit_written,
            ACCESS_LOAD | ACCESS_STORE, trap.time_ns);
}

void line_sharing_trap(struct thread *thread, bool second, uint32_t generation, ucontext_t *context)
{
    struct line_trap trap = {
        .thread_id = thread->id,
        .generation = generation,
        .second = second,
        .time_ns = monotonic_ns() - settings.trap_ns,
        .delayed_ns = atomic_load(&thread->overhead_ns),
        .threads = thread_alive_count(),
        .ip = arch_after_access(context),
    };

    trap_one(thread, trap, context);
}

void line_sharing_trapped_too(struct thread *thread, uint64_t address, ucontext_t *context)
{
    for (unsigned i = 0; i < 2; i++)
        /* One that is aside has had this very access. */
        if (address && !(thread->step.shared_aside >> i & 1) &&
            atomic_load_explicit(&words[i], memory_order_relaxed) == address)
            line_sharing_trap(thread, i == 1, lines.generation, context);
}

void line_sharing_own_trap(void)
{
    if (atomic_fetch_add(&own_traps, 1) + 1 == OWN_TRAPS_MAX)
        line_watch_stop(&lines, LINE_END_LOST, monotonic_ns());
}

void line_sharing_stop(enum line_end reason)
{
    if (atomic_load(&active))
        line_watch_stop(&lines, reason, monotonic_ns());
}

void line_sharing_thread_ended(uint32_t thread_id)
{
    if (atomic_load(&active))
        line_watch_thread_ended(&lines, thread_id, monotonic_ns());
}

void line_sharing_evict(const struct thread *thread)
{
    if (atomic_load_explicit(&active, memory_order_relaxed))
        line_watch_evict(&lines, thread->id, monotonic_ns());
}

bool line_sharing_is_of(const struct thread *thread)
{
    return atomic_load_explicit(&active, memory_order_relaxed) &&
           line_watch_is_of(&lines, thread->id);
}

void line_sharing_block_freed(uint64_t base, uint64_t size)
{
    if (atomic_load(&active))
        line_watch_block_freed(&lines, base, size, monotonic_ns());
}
