/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/line_watch.h"

#include <stdatomic.h>
#include <string.h>

#include "sampling/line_mask.h"
#include "sampling/watch_plan.h"
#include "spin_hint.h"

#include "signal_safe.h"

enum {
    /* A watch is replaced by one new candidate in 2, 16 or 128: short segments are seen often, long
     * ones survive. Drawn when it is armed: six, three and one out of ten. */
    STUBBORN_LEAST_BITS = 1,
    STUBBORN_STEP_BITS = 3,
    /* A candidate whose line no other thread was seen at has a quarter of that chance. */
    PRIVATE_BITS = 2,
    /* One on a line that nobody else was seen at gives way after so many offers, twice what the
     * most stubborn takes on average, and a part of all so far: no run is spent on a single line.
     */
    PRIVATE_OFFERS = 256,
    PRIVATE_OFFERS_PART = 8,
    /* Traps by threads seen reading before, until loads are no longer watched. A thread that waits
     * for the line makes one each time that its handler is done. */
    REPEATS_MAX = 16,
    /* The same where the reader is known to poll. */
    REPEATS_OF_POLLER = 2,
    TRAPS_BEFORE_START_MAX = 32,
    TRAPS_MAX = 256,
    /* Turns of waiting for the lock. A handler that does not get it within a few microseconds goes
     * on without: whoever holds it has been put aside by the scheduler, and with many threads on
     * few processors all others would burn their time. */
    SPINS_OF_HANDLER = 300,
    SPINS_MAX = 1000 * 1000,
};

enum state { STATE_FREE, STATE_BEFORE, STATE_WAITING, STATE_RUNNING };

static bool lock(struct line_watch *watch, unsigned spins)
{
    for (unsigned spin = 0; spin < spins; spin++) {
        uint32_t open = 0;

        if (atomic_load_explicit(&watch->lock, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_weak(&watch->lock, &open, 1))
            return true;
        spin_hint();
    }
    return false;
}

static void unlock(struct line_watch *watch)
{
    atomic_store_explicit(&watch->lock, 0, memory_order_release);
}

void line_watch_begin(struct line_watch *watch, const struct line_watch_mechanism *mechanism)
{
    uint32_t generation = watch->generation;

    memset(watch, 0, sizeof *watch);
    watch->mechanism = *mechanism;
    watch->generation = generation;
}

static uint64_t since_start(const struct line_watch *watch, uint64_t time_ns)
{
    return time_ns > watch->start_ns ? time_ns - watch->start_ns : 0;
}

/* With the lock held. */
static void finish(struct line_watch *watch, enum line_end reason, uint64_t elapsed_ns,
                   uint64_t time_ns)
{
    struct record_line_end end = {
        .sample_id = watch->record.sample_id,
        .monotonic_ns = time_ns,
        .elapsed_ns = elapsed_ns,
        .loads_ns = watch->loads ? elapsed_ns : watch->loads_ns,
        .traps = watch->traps,
        .reason = (uint8_t)reason,
    };
    bool ran = watch->state != STATE_BEFORE;

    watch->mechanism.disarm(watch->mechanism.context);
    watch->state = STATE_FREE;
    if (ran)
        watch->mechanism.append(watch->mechanism.context, RECORD_LINE_END, &end, sizeof end);
}

static void start(struct line_watch *watch, uint64_t time_ns, uint64_t delayed_ns)
{
    const struct line_watch_mechanism *mechanism = &watch->mechanism;

    watch->state = STATE_RUNNING;
    watch->start_ns = time_ns;
    watch->start_delayed_ns = delayed_ns;
    watch->record.monotonic_ns = time_ns;
    mechanism->append(mechanism->context, RECORD_LINE_WATCH, &watch->record, sizeof watch->record);
}

/* ---- which sample, which words ---- */

static uint32_t nth_set(uint64_t mask, uint32_t n)
{
    while (n-- > 0)
        mask &= mask - 1;
    return (uint32_t)__builtin_ctzll(mask);
}

static uint32_t choose_word(struct random *random, uint64_t proposed, uint32_t own, uint32_t words)
{
    uint32_t word;

    if (proposed && random_next(random) >> 63)
        return nth_set(proposed, random_below(random, (uint32_t)__builtin_popcountll(proposed)));
    word = random_below(random, words - 1);
    return word < own ? word : word + 1;
}

static bool has_held_out(const struct line_watch *watch)
{
    return !watch->shared &&
           watch->offers_refused > PRIVATE_OFFERS + watch->offers / PRIVATE_OFFERS_PART;
}

/* Probability that a candidate gets the registers, as a power of 1/2. It depends on nothing that
 * the watched line does, so that what gives way is censored at random. */
static unsigned refusal_bits(const struct line_watch *watch, const struct line_watch_offer *offer)
{
    if (watch->state == STATE_FREE || has_held_out(watch))
        return 0;
    return watch->stubbornness + (offer->shared || offer->uses ? 0 : PRIVATE_BITS);
}

static bool gives_way(struct random *random, unsigned bits)
{
    return bits == 0 || random_next(random) >> (64 - bits) == 0;
}

bool line_watch_yields(const struct line_watch *watch, struct random *random)
{
    return watch->state == STATE_FREE || gives_way(random, watch->stubbornness);
}

static unsigned draw_stubbornness(struct random *random)
{
    uint32_t tenth = random_below(random, 10);

    return STUBBORN_LEAST_BITS + STUBBORN_STEP_BITS * (tenth < 6 ? 0 : tenth < 9 ? 1 : 2);
}

static void prepare(struct line_watch *watch, struct random *random,
                    const struct line_watch_offer *offer, const struct record_sample *sample,
                    double probability)
{
    uint32_t line_size = watch->mechanism.line_size, words = line_size / WATCH_WORD;
    uint64_t line = line_start(sample->address, line_size);
    uint32_t own = (uint32_t)((sample->address - line) / WATCH_WORD);
    uint64_t proposed = line_mask_words(offer->others, line_size);

    if (own < 64)
        proposed &= ~(UINT64_C(1) << own);
    watch->line = line;
    watch->owner = offer->thread_id;
    watch->sampled_ip = sample->ip;
    watch->stubbornness = draw_stubbornness(random);
    watch->shared = offer->shared;
    watch->offers_refused = 0;
    watch->traps = watch->repeats = watch->seen_count = watch->kept_count = 0;
    watch->loads = !offer->waits;
    watch->loads_ns = 0;
    watch->generation = (watch->generation + 1) & 0xffffff;
    watch->record = (struct record_line_watch){
        .sample_id = sample->sample_id,
        .address = line + WATCH_WORD * own,
        .proposed = proposed,
        .probability = probability,
        .flags = offer->waits  ? LINE_WATCH_WAITS
                 : offer->uses ? LINE_WATCH_USE
                               : 0,
    };
    if (!watch->mechanism.single && words > 1)
        watch->record.address2 = line + WATCH_WORD * choose_word(random, proposed, own, words);
    watch->words[0] = watch->record.address;
    watch->words[1] = watch->record.address2;
}

bool line_watch_offer(struct line_watch *watch, struct random *random,
                      const struct line_watch_offer *offer, struct record_sample *sample)
{
    const struct line_watch_mechanism *mechanism = &watch->mechanism;
    unsigned bits;
    bool armed;

    if (!mechanism->arm || !lock(watch, SPINS_OF_HANDLER))
        return false;
    sample->flags |= (offer->uses ? SAMPLE_USE_OFFERED : SAMPLE_LINE_OFFERED) |
                     (offer->shared ? SAMPLE_LINE_SHARED : 0);
    watch->offers++;
    bits = refusal_bits(watch, offer);
    if (!gives_way(random, bits)) {
        watch->offers_refused++;
        unlock(watch);
        return false;
    }
    if (watch->state != STATE_FREE)
        finish(watch, LINE_END_EVICTED, since_start(watch, offer->time_ns), offer->time_ns);
    prepare(watch, random, offer, sample, 1. / (double)(UINT64_C(1) << bits));
    watch->state = STATE_BEFORE;
    armed = mechanism->arm(mechanism->context, watch->record.address, watch->record.address2,
                           watch->loads, watch->generation);
    if (!armed)
        watch->state = STATE_FREE;
    else if (offer->executed || offer->waits)
        start(watch, offer->time_ns, offer->delayed_ns);
    if (armed && offer->waits)
        watch->state = STATE_WAITING;
    unlock(watch);
    return armed;
}

/* ---- traps ---- */

static struct line_watch_seen *seen(struct line_watch *watch, const struct line_trap *trap)
{
    for (unsigned i = 0; i < watch->seen_count; i++)
        if (watch->seen[i].thread_id == trap->thread_id)
            return &watch->seen[i];
    if (watch->seen_count == LINE_WATCH_THREADS)
        return NULL;
    watch->seen[watch->seen_count] =
        (struct line_watch_seen){.thread_id = trap->thread_id, .delayed_ns = trap->delayed_ns};
    return &watch->seen[watch->seen_count++];
}

static void fill(const struct line_watch *watch, const struct line_trap *trap, uint64_t elapsed_ns,
                 struct record_line_event *event)
{
    uint64_t word = trap->second ? watch->record.address2 : watch->record.address;
    bool known = trap->kind != 0 && trap->width != 0;

    *event = (struct record_line_event){
        .sample_id = watch->record.sample_id,
        .thread_id = trap->thread_id,
        .monotonic_ns = trap->time_ns,
        .elapsed_ns = elapsed_ns,
        .ip = trap->ip,
        .offset =
            (uint16_t)((known && trap->address > watch->line ? trap->address : word) - watch->line),
        .width = known ? trap->width : 0,
        .kind = trap->kind,
        .flags = (uint16_t)((trap->second ? LINE_EVENT_SECOND : 0) |
                            (known ? LINE_EVENT_KIND_KNOWN : 0)),
    };
    if (known && trap->address < watch->line)
        event->offset = 0;
    uint64_t bytes =
        known ? line_mask(watch->line, watch->mechanism.line_size, trap->address, trap->width) : 0;

    if (trap->kind & ACCESS_LOAD)
        event->visit_read = bytes;
    if (trap->kind & ACCESS_STORE)
        event->visit_written = bytes;
}

/* x86 reports the instruction after the access, or a repeated string instruction itself. */
static bool is_sampled(const struct line_watch *watch, const struct line_trap *trap)
{
    return trap->ip - watch->sampled_ip <= 15;
}

/* Arrivals whose traps came in first, but which may have come after the sampled store. One that
 * came before, and comes no more, is rarer than one whose order was lost. */
static void promote(struct line_watch *watch)
{
    const struct line_watch_mechanism *mechanism = &watch->mechanism;

    for (unsigned i = 0; i < watch->kept_count && watch->state == STATE_RUNNING; i++) {
        struct record_line_event *event = &watch->kept[i];
        struct line_trap trap = {.thread_id = event->thread_id};
        struct line_watch_seen *thread;

        if (event->monotonic_ns + mechanism->tolerance_ns < watch->start_ns)
            continue;
        event->elapsed_ns = since_start(watch, event->monotonic_ns);
        thread = seen(watch, &trap);
        if (thread)
            thread->read = true;
        mechanism->append(mechanism->context, RECORD_LINE_EVENT, event, sizeof *event);
        if (event->kind & ACCESS_STORE && event->monotonic_ns >= watch->start_ns)
            finish(watch, LINE_END_STORE, event->elapsed_ns, event->monotonic_ns);
    }
    watch->kept_count = 0;
}

static enum line_trap_answer trap_before(struct line_watch *watch, const struct line_trap *trap,
                                         struct record_line_event *event)
{
    bool own = trap->thread_id == watch->owner, uses = watch->record.flags & LINE_WATCH_USE;

    if (own && !trap->second && is_sampled(watch, trap) &&
        (trap->kind == 0 || trap->kind & (uses ? ACCESS_LOAD : ACCESS_STORE))) {
        watch->traps = 0;
        start(watch, trap->time_ns, trap->delayed_ns);
        promote(watch);
        return LINE_TRAP_STARTED;
    }
    struct line_watch_seen *thread = own ? NULL : seen(watch, trap);

    /* It comes again before its handler has well ended: it does nothing else. A thread that stores
     * there itself does not wait. */
    if (thread && thread->before && !(trap->kind & ACCESS_STORE))
        watch->record.flags |= LINE_WATCH_POLLED;
    if (thread) {
        thread->before = true;
        watch->record.flags |= LINE_WATCH_MET;
    }
    if (++watch->traps > TRAPS_BEFORE_START_MAX) {
        finish(watch, LINE_END_TRAPS, 0, trap->time_ns);
        return LINE_TRAP_NOTHING;
    }
    if (own || uses)
        return LINE_TRAP_NOTHING;
    /* Told apart when the sampled store is known to have been executed. */
    fill(watch, trap, 0, event);
    return LINE_TRAP_EVENT;
}

/* Nothing is learnt any more from loads: a thread waits for the line, or comes to it all the time.
 * The end of the segment still is. */
static void leave_loads(struct line_watch *watch, uint64_t elapsed_ns, uint64_t time_ns)
{
    const struct line_watch_mechanism *mechanism = &watch->mechanism;

    watch->loads = false;
    watch->loads_ns = elapsed_ns;
    if (!mechanism->arm(mechanism->context, watch->record.address, watch->record.address2, false,
                        watch->generation))
        finish(watch, LINE_END_LOST, elapsed_ns, time_ns);
}

/* A store while a polling thread waits for one. */
static enum line_trap_answer trap_waiting(struct line_watch *watch, const struct line_trap *trap,
                                          struct record_line_event *event)
{
    const struct line_watch_mechanism *mechanism = &watch->mechanism;
    uint64_t elapsed = since_start(watch, trap->time_ns);

    watch->traps++;
    if (trap->thread_id == watch->owner) {
        finish(watch, LINE_END_STORE, elapsed, trap->time_ns);
        return LINE_TRAP_NOTHING;
    }
    fill(watch, trap, elapsed, event);
    event->flags |= LINE_EVENT_OPENS;
    watch->owner = trap->thread_id;
    watch->state = STATE_RUNNING;
    watch->start_ns = trap->time_ns;
    watch->start_delayed_ns = trap->delayed_ns;
    watch->loads = true;
    if (!mechanism->arm(mechanism->context, watch->record.address, watch->record.address2, true,
                        watch->generation))
        finish(watch, LINE_END_LOST, 0, trap->time_ns);
    return LINE_TRAP_EVENT;
}

bool line_watch_waits(const struct line_watch *watch, uint32_t thread_id)
{
    return watch->state == STATE_WAITING && watch->owner == thread_id;
}

void line_watch_resumed(struct line_watch *watch, uint32_t thread_id, uint64_t time_ns)
{
    if (!line_watch_waits(watch, thread_id) || !lock(watch, SPINS_OF_HANDLER))
        return;
    if (watch->state == STATE_WAITING && watch->owner == thread_id)
        watch->start_ns = time_ns;
    unlock(watch);
}

/* The next use of a line that was loaded. */
static enum line_trap_answer trap_use(struct line_watch *watch, const struct line_trap *trap,
                                      struct record_line_event *event)
{
    uint64_t elapsed = since_start(watch, trap->time_ns);

    watch->traps++;
    fill(watch, trap, elapsed, event);
    finish(watch, LINE_END_USED, elapsed, trap->time_ns);
    return trap->thread_id == watch->owner ? LINE_TRAP_NOTHING : LINE_TRAP_EVENT;
}

static unsigned repeats_allowed(const struct line_watch *watch)
{
    return watch->record.flags & (LINE_WATCH_WAITS | LINE_WATCH_POLLED) ? REPEATS_OF_POLLER
                                                                        : REPEATS_MAX;
}

static enum line_trap_answer trap_running(struct line_watch *watch, const struct line_trap *trap,
                                          struct record_line_event *event)
{
    bool own = trap->thread_id == watch->owner, first = false;
    uint64_t elapsed = since_start(watch, trap->time_ns);
    uint64_t delayed_since = watch->start_delayed_ns;
    struct line_watch_seen *thread = own ? NULL : seen(watch, trap);
    struct line_trap known;

    watch->traps++;
    if (own && trap->kind == 0 && is_sampled(watch, trap)) {
        known = *trap;
        known.kind = ACCESS_STORE; /* the sampled instruction once more */
        trap = &known;
    }
    if (!own && !thread) {
        finish(watch, LINE_END_TRAPS, elapsed, trap->time_ns);
        return LINE_TRAP_NOTHING;
    }
    if (thread) {
        delayed_since = thread->delayed_ns;
        first = !thread->read;
        thread->read = true;
    }
    if (trap->delayed_ns > delayed_since) {
        uint64_t delayed = trap->delayed_ns - delayed_since;

        elapsed -= delayed < elapsed ? delayed : elapsed;
    }
    fill(watch, trap, elapsed, event);
    if (trap->kind & ACCESS_STORE) {
        finish(watch, LINE_END_STORE, elapsed, trap->time_ns);
        return LINE_TRAP_EVENT;
    }
    if (first)
        return LINE_TRAP_EVENT;
    if (watch->traps >= TRAPS_MAX)
        finish(watch, LINE_END_TRAPS, elapsed, trap->time_ns);
    else if (++watch->repeats >= repeats_allowed(watch) && watch->loads)
        leave_loads(watch, elapsed, trap->time_ns);
    return LINE_TRAP_NOTHING;
}

enum line_trap_answer line_watch_trap(struct line_watch *watch, const struct line_trap *trap,
                                      struct line_arrival *arrival)
{
    enum line_trap_answer answer = LINE_TRAP_NOTHING;
    struct record_line_event *event = &arrival->event;

    /* Late ones cost nobody anything: this look without the lock is repeated with it. */
    if (trap->generation != watch->generation || watch->state == STATE_FREE)
        return LINE_TRAP_NOTHING;
    if (!lock(watch, SPINS_OF_HANDLER))
        return LINE_TRAP_BUSY;
    if (trap->generation == watch->generation) {
        arrival->line = watch->line;
        arrival->words[0] = watch->record.address;
        arrival->words[1] = watch->record.address2;
        if (watch->state == STATE_BEFORE)
            answer = trap_before(watch, trap, event);
        else if (watch->state == STATE_WAITING)
            answer = trap_waiting(watch, trap, event);
        else if (watch->record.flags & LINE_WATCH_USE)
            answer = trap_use(watch, trap, event);
        else if (watch->state == STATE_RUNNING)
            answer = trap_running(watch, trap, event);
    }
    unlock(watch);
    return answer;
}

/* An arrival before the start is kept, the latest of each thread. */
static void keep(struct line_watch *watch, const struct record_line_event *event)
{
    for (unsigned i = 0; i < watch->kept_count; i++) {
        if (watch->kept[i].thread_id == event->thread_id) {
            watch->kept[i] = *event;
            return;
        }
    }
    if (watch->kept_count < LINE_WATCH_KEPT)
        watch->kept[watch->kept_count++] = *event;
}

void line_watch_event(struct line_watch *watch, const struct record_line_event *event)
{
    bool written = true;

    if (!lock(watch, SPINS_MAX))
        return;
    /* The watch may have begun while the event was described: then it is judged now. */
    if (watch->record.sample_id == event->sample_id && watch->state == STATE_BEFORE) {
        keep(watch, event);
        written = false;
    } else if (watch->record.sample_id == event->sample_id && watch->state == STATE_RUNNING &&
               !(watch->record.flags & LINE_WATCH_WAITS) &&
               event->monotonic_ns + watch->mechanism.tolerance_ns < watch->start_ns) {
        written = false;
    }
    unlock(watch);
    if (written)
        watch->mechanism.append(watch->mechanism.context, RECORD_LINE_EVENT, event, sizeof *event);
}

/* ---- other ends ---- */

static void end_from_outside(struct line_watch *watch, enum line_end reason, uint64_t time_ns)
{
    finish(watch, reason, since_start(watch, time_ns), time_ns);
}

bool line_watch_covers(const struct line_watch *watch, uint64_t address, uint64_t size)
{
    uint64_t second = watch->words[1];

    return watch->state != STATE_FREE &&
           (watch->words[0] - address < size || (second && second - address < size));
}

void line_watch_block_freed(struct line_watch *watch, uint64_t base, uint64_t size,
                            uint64_t time_ns)
{
    if (!line_watch_covers(watch, base, size) || !lock(watch, SPINS_MAX))
        return;
    if (line_watch_covers(watch, base, size))
        end_from_outside(watch, LINE_END_FREED, time_ns);
    unlock(watch);
}

void line_watch_thread_ended(struct line_watch *watch, uint32_t thread_id, uint64_t time_ns)
{
    if (watch->state == STATE_FREE || watch->owner != thread_id || !lock(watch, SPINS_MAX))
        return;
    /* A segment that runs goes on without its writer. */
    if (watch->state == STATE_BEFORE && watch->owner == thread_id)
        end_from_outside(watch, LINE_END_THREAD, time_ns);
    unlock(watch);
}

void line_watch_stop(struct line_watch *watch, enum line_end reason, uint64_t time_ns)
{
    if (!watch->mechanism.arm || !lock(watch, SPINS_MAX))
        return;
    if (watch->state != STATE_FREE)
        end_from_outside(watch, reason, time_ns);
    unlock(watch);
}
