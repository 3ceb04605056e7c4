/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/line_watch.h"

#include <stdatomic.h>
#include <string.h>

#include "sampling/line_mask.h"
#include "sampling/line_watch_internal.h"
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
};

bool line_watch_lock(struct line_watch *watch, unsigned spins)
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

void line_watch_unlock(struct line_watch *watch)
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

uint64_t line_watch_elapsed(const struct line_watch *watch, uint64_t time_ns)
{
    return time_ns > watch->start_ns ? time_ns - watch->start_ns : 0;
}

void line_watch_finish(struct line_watch *watch, enum line_end reason, uint64_t elapsed_ns,
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

void line_watch_start(struct line_watch *watch, uint64_t time_ns, uint64_t delayed_ns)
{
    const struct line_watch_mechanism *mechanism = &watch->mechanism;

    watch->state = STATE_RUNNING;
    watch->start_ns = time_ns;
    watch->start_delayed_ns = delayed_ns;
    watch->seen_until_ns = 0;
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

    /* Who fills the line comes to its next word: that ends the segment. */
    if (own + 1 < words && own + 1 < 64)
        proposed |= UINT64_C(1) << (own + 1);
    if (own < 64)
        proposed &= ~(UINT64_C(1) << own);
    watch->line = line;
    watch->owner = offer->thread_id;
    watch->sampled_ip = sample->ip;
    watch->stubbornness = draw_stubbornness(random);
    watch->shared = offer->shared;
    watch->offers_refused = 0;
    watch->traps = watch->repeats = watch->seen_count = watch->kept_count = 0;
    watch->ahead = offer->ahead <= LINE_WATCH_AHEAD_MAX ? offer->ahead : 0;
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

    if (!mechanism->arm || !line_watch_lock(watch, SPINS_OF_HANDLER))
        return false;
    sample->flags |= (offer->uses ? SAMPLE_USE_OFFERED : SAMPLE_LINE_OFFERED) |
                     (offer->shared ? SAMPLE_LINE_SHARED : 0);
    if (offer->barred) {
        line_watch_unlock(watch);
        return false;
    }
    watch->offers++;
    bits = refusal_bits(watch, offer);
    if (!gives_way(random, bits)) {
        watch->offers_refused++;
        line_watch_unlock(watch);
        return false;
    }
    if (watch->state != STATE_FREE)
        line_watch_finish(watch, LINE_END_EVICTED, line_watch_elapsed(watch, offer->time_ns),
                          offer->time_ns);
    prepare(watch, random, offer, sample, 1. / (double)(UINT64_C(1) << bits));
    watch->state = STATE_BEFORE;
    armed = mechanism->arm(mechanism->context, watch->record.address, watch->record.address2,
                           watch->loads, watch->generation);
    if (!armed)
        watch->state = STATE_FREE;
    else if (offer->executed || offer->waits)
        line_watch_start(watch, offer->time_ns, offer->delayed_ns);
    if (armed && offer->waits)
        watch->state = STATE_WAITING;
    line_watch_unlock(watch);
    return armed;
}

uint64_t line_watch_instruction(const struct line_watch *watch, uint32_t thread_id)
{
    return watch->owner == thread_id ? watch->sampled_ip : 0;
}

bool line_watch_waits(const struct line_watch *watch, uint32_t thread_id)
{
    return watch->state == STATE_WAITING && watch->owner == thread_id;
}

void line_watch_resumed(struct line_watch *watch, uint32_t thread_id, uint64_t time_ns)
{
    if (!line_watch_waits(watch, thread_id) || !line_watch_lock(watch, SPINS_OF_HANDLER))
        return;
    if (watch->state == STATE_WAITING && watch->owner == thread_id)
        watch->start_ns = time_ns;
    line_watch_unlock(watch);
}

/* ---- other ends ---- */

static void end_from_outside(struct line_watch *watch, enum line_end reason, uint64_t time_ns)
{
    line_watch_finish(watch, reason, line_watch_elapsed(watch, time_ns), time_ns);
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
    if (!line_watch_covers(watch, base, size) || !line_watch_lock(watch, SPINS_MAX))
        return;
    if (line_watch_covers(watch, base, size))
        end_from_outside(watch, LINE_END_FREED, time_ns);
    line_watch_unlock(watch);
}

void line_watch_thread_ended(struct line_watch *watch, uint32_t thread_id, uint64_t time_ns)
{
    if (watch->state == STATE_FREE || watch->owner != thread_id ||
        !line_watch_lock(watch, SPINS_MAX))
        return;
    /* A segment that runs goes on without its writer. */
    if (watch->state == STATE_BEFORE && watch->owner == thread_id)
        end_from_outside(watch, LINE_END_THREAD, time_ns);
    line_watch_unlock(watch);
}

bool line_watch_is_of(const struct line_watch *watch, uint32_t thread_id)
{
    return watch->state != STATE_FREE && watch->owner == thread_id;
}

void line_watch_evict(struct line_watch *watch, uint32_t thread_id, uint64_t time_ns)
{
    if (!line_watch_is_of(watch, thread_id) || !line_watch_lock(watch, SPINS_OF_HANDLER))
        return;
    if (line_watch_is_of(watch, thread_id))
        end_from_outside(watch, LINE_END_EVICTED, time_ns);
    line_watch_unlock(watch);
}

void line_watch_stop(struct line_watch *watch, enum line_end reason, uint64_t time_ns)
{
    if (!watch->mechanism.arm || !line_watch_lock(watch, SPINS_MAX))
        return;
    if (watch->state != STATE_FREE)
        end_from_outside(watch, reason, time_ns);
    line_watch_unlock(watch);
}
