/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. What the traps of a line watch tell, and what is done with the events. */
#include "sampling/line_watch_internal.h"

#include <stdatomic.h>

#include "sampling/line_mask.h"

#include "signal_safe.h"

enum {
    /* Traps by threads seen reading before, until loads are no longer watched. A thread that waits
     * for the line makes one each time that its handler is done. */
    REPEATS_MAX = 16,
    /* The same where the reader is known to poll. */
    REPEATS_OF_POLLER = 2,
    /* The same where all others have read: to arm anew costs less than two traps. */
    REPEATS_OF_ALL = 1,
    TRAPS_BEFORE_START_MAX = 32,
    TRAPS_MAX = 256,
};

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

/* Where the access is not known, x86 reports the instruction after it, or a repeated string
 * instruction itself. */
static bool is_sampled(const struct line_watch *watch, const struct line_trap *trap)
{
    return trap->kind != 0 ? trap->ip == watch->sampled_ip : trap->ip - watch->sampled_ip <= 15;
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
        event->elapsed_ns = line_watch_elapsed(watch, event->monotonic_ns);
        thread = seen(watch, &trap);
        if (thread)
            thread->read = true;
        mechanism->append(mechanism->context, RECORD_LINE_EVENT, event, sizeof *event);
        if (event->kind & ACCESS_STORE && event->monotonic_ns >= watch->start_ns)
            line_watch_finish(watch, LINE_END_STORE, event->elapsed_ns, event->monotonic_ns);
    }
    watch->kept_count = 0;
}

static enum line_trap_answer trap_before(struct line_watch *watch, const struct line_trap *trap,
                                         struct record_line_event *event)
{
    bool own = trap->thread_id == watch->owner, uses = watch->record.flags & LINE_WATCH_USE;

    if (own && !trap->second && is_sampled(watch, trap) &&
        (trap->kind == 0 || trap->kind & (uses ? ACCESS_LOAD : ACCESS_STORE))) {
        if (watch->ahead > 0) {
            watch->ahead--;
            return LINE_TRAP_NOTHING;
        }
        watch->traps = 0;
        line_watch_start(watch, trap->time_ns, trap->delayed_ns);
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
        line_watch_finish(watch, LINE_END_TRAPS, 0, trap->time_ns);
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
        line_watch_finish(watch, LINE_END_LOST, elapsed_ns, time_ns);
}

/* A store while a polling thread waits for one. */
static enum line_trap_answer trap_waiting(struct line_watch *watch, const struct line_trap *trap,
                                          struct record_line_event *event)
{
    const struct line_watch_mechanism *mechanism = &watch->mechanism;
    uint64_t elapsed = line_watch_elapsed(watch, trap->time_ns);

    watch->traps++;
    if (trap->thread_id == watch->owner) {
        line_watch_finish(watch, LINE_END_STORE, elapsed, trap->time_ns);
        return LINE_TRAP_NOTHING;
    }
    fill(watch, trap, elapsed, event);
    event->flags |= LINE_EVENT_OPENS;
    watch->owner = trap->thread_id;
    watch->state = STATE_RUNNING;
    watch->start_ns = trap->time_ns;
    watch->start_delayed_ns = trap->delayed_ns;
    watch->seen_until_ns = 0;
    watch->loads = true;
    if (!mechanism->arm(mechanism->context, watch->record.address, watch->record.address2, true,
                        watch->generation))
        line_watch_finish(watch, LINE_END_LOST, 0, trap->time_ns);
    return LINE_TRAP_EVENT;
}

/* The next use of a line that was loaded. */
static enum line_trap_answer trap_use(struct line_watch *watch, const struct line_trap *trap,
                                      struct record_line_event *event)
{
    uint64_t elapsed = line_watch_elapsed(watch, trap->time_ns);

    watch->traps++;
    fill(watch, trap, elapsed, event);
    line_watch_finish(watch, LINE_END_USED, elapsed, trap->time_ns);
    return trap->thread_id == watch->owner ? LINE_TRAP_NOTHING : LINE_TRAP_EVENT;
}

static bool all_have_read(const struct line_watch *watch, uint32_t threads)
{
    uint32_t readers = 0;

    for (unsigned i = 0; i < watch->seen_count; i++)
        readers += watch->seen[i].read && watch->seen[i].thread_id != watch->owner;
    return threads > 0 && readers + 1 >= threads;
}

static unsigned repeats_allowed(const struct line_watch *watch, const struct line_trap *trap)
{
    if (all_have_read(watch, trap->threads))
        return REPEATS_OF_ALL;
    return watch->record.flags & (LINE_WATCH_WAITS | LINE_WATCH_POLLED) ? REPEATS_OF_POLLER
                                                                        : REPEATS_MAX;
}

static enum line_trap_answer trap_running(struct line_watch *watch, const struct line_trap *trap,
                                          struct record_line_event *event)
{
    bool own = trap->thread_id == watch->owner, first = false;
    uint64_t elapsed = line_watch_elapsed(watch, trap->time_ns);
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
        line_watch_finish(watch, LINE_END_TRAPS, elapsed, trap->time_ns);
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
    /* The others may have come only because this one was held up. But threads that hand data over
     * wait for each other, and keep their order. */
    if (elapsed < watch->seen_until_ns)
        elapsed = watch->seen_until_ns;
    fill(watch, trap, elapsed, event);
    if (trap->kind & ACCESS_STORE || first)
        watch->seen_until_ns = elapsed;
    if (trap->kind & ACCESS_STORE) {
        line_watch_finish(watch, LINE_END_STORE, elapsed, trap->time_ns);
        return LINE_TRAP_EVENT;
    }
    if (first)
        return LINE_TRAP_EVENT;
    if (watch->traps >= TRAPS_MAX)
        line_watch_finish(watch, LINE_END_TRAPS, elapsed, trap->time_ns);
    else if (++watch->repeats >= repeats_allowed(watch, trap) && watch->loads)
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
    if (!line_watch_lock(watch, SPINS_OF_HANDLER))
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
    line_watch_unlock(watch);
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

    if (!line_watch_lock(watch, SPINS_MAX))
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
    line_watch_unlock(watch);
    if (written)
        watch->mechanism.append(watch->mechanism.context, RECORD_LINE_EVENT, event, sizeof *event);
}
