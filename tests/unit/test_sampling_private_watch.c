/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of private watches, on registers that a test can see and trap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "sampling/private_watch.h"
#include "sampling/sample.h"

enum { RECORDS = 4096 };

/* What the mechanism was asked to do. */
static struct hardware {
    bool armed[WATCHES_MAX];
    uint64_t address[WATCHES_MAX];
    uint32_t generation[WATCHES_MAX];
    bool refuse;          /* to arm */
    bool future_is_known; /* follow_visit() answers at once */
    const struct private_watches *set;
    unsigned unsettled; /* slots, while the ends were written */
    bool settled;       /* a slot that was just being disarmed */
    uint64_t clock;
    unsigned companions, announced;
    unsigned taken_traps, taken_cancels, purpose;
    unsigned samples, ends, invalidations;
    struct record_sample sample[RECORDS];
    struct record_watch_end end[RECORDS];
} hardware;

static struct private_watches set;
static struct record_totals totals;
static struct random generator;
static uint64_t next_sample;

static bool arm(void *thread, unsigned slot, uint64_t address, uint32_t generation)
{
    struct hardware *h = thread;

    if (h->refuse)
        return false;
    assert_false(h->armed[slot]);
    h->armed[slot] = true;
    h->address[slot] = address;
    h->generation[slot] = generation;
    return true;
}

static void disarm(void *thread, unsigned slot)
{
    struct hardware *h = thread;

    h->armed[slot] = false;
    h->settled |= private_watch_is_settled(h->set, slot);
}

static void append(void *thread, enum record_type type, const void *record, size_t size)
{
    struct hardware *h = thread;

    if (type == RECORD_WATCH_END)
        for (unsigned i = 0; i < h->set->count; i++)
            h->unsettled += !private_watch_is_settled(h->set, i);
    if (type == RECORD_SAMPLE) {
        assert_int_equal(size, sizeof *h->sample);
        memcpy(&h->sample[h->samples++ % RECORDS], record, size);
    } else if (type == RECORD_WATCH_END) {
        assert_int_equal(size, sizeof *h->end);
        memcpy(&h->end[h->ends++ % RECORDS], record, size);
    } else {
        assert_int_equal(type, RECORD_INVALIDATION);
        h->invalidations++;
    }
}

static uint64_t clock_now(void *thread)
{
    return ((struct hardware *)thread)->clock;
}

static uint16_t cpu(void *thread)
{
    (void)thread;
    return 5;
}

static bool follow_visit(void *thread, const struct record_sample *sample,
                         const struct watch_trap *trap, struct record_watch_end *end)
{
    struct hardware *h = thread;

    assert_false(h->armed[sample->watch_slot]);
    assert_ptr_equal(trap->machine, &hardware);
    end->flags = WATCH_END_VISIT_KNOWN;
    end->words_after = 3;
    return h->future_is_known;
}

static void accompany(void *thread, unsigned slot, struct record_sample *sample)
{
    (void)slot;
    ((struct hardware *)thread)->companions++;
    sample->invalidation_address = 0xabc0;
}

static void leave(void *thread, unsigned slot, const struct record_sample *sample)
{
    (void)slot;
    ((struct hardware *)thread)->companions--;
    assert_int_equal(sample->invalidation_address, 0xabc0);
}

static void announce(void *thread, unsigned slot, const struct record_sample *sample)
{
    struct hardware *h = thread;

    assert_int_equal(h->address[slot], sample->watch_address);
    h->announced++;
}

static void withdraw(void *thread, unsigned slot, const struct record_sample *sample)
{
    (void)slot;
    (void)sample;
    ((struct hardware *)thread)->announced--;
}

static void taken_trap(void *thread, unsigned slot, unsigned purpose, const struct watch_trap *trap)
{
    struct hardware *h = thread;

    assert_ptr_equal(trap->machine, &hardware);
    h->taken_traps++;
    h->purpose = purpose;
    private_watch_release(&set, slot);
}

static void taken_cancel(void *thread, unsigned slot, unsigned purpose)
{
    struct hardware *h = thread;

    assert_true(h->armed[slot]);
    h->taken_cancels++;
    h->purpose = purpose;
}

static const struct watch_mechanism mechanism = {
    .arm = arm,
    .disarm = disarm,
    .append = append,
    .monotonic_ns = clock_now,
    .app_ns = clock_now,
    .cpu = cpu,
    .follow_visit = follow_visit,
    .accompany = accompany,
    .leave = leave,
    .armed = announce,
    .disarmed = withdraw,
    .taken_trap = taken_trap,
    .taken_cancel = taken_cancel,
};

static void begin(unsigned count)
{
    memset(&hardware, 0, sizeof hardware);
    memset(&totals, 0, sizeof totals);
    hardware.future_is_known = true;
    hardware.set = &set;
    random_seed(&generator, 11);
    next_sample = 0;
    private_watches_begin(&set, &mechanism, &hardware, 7, &generator, &totals, count, 8);
}

/* An open sample, by its word. */
static struct record_sample open_sample(uint64_t address)
{
    return (struct record_sample){
        .sample_id = ++next_sample,
        .thread_id = 7,
        .address = address,
        .width = 8,
        .watch_mode = WATCH_ACCESSED,
        .watch_address = address & ~UINT64_C(7),
        .watch_length = 8,
    };
}

/* Its word is watched. */
static bool start(unsigned slot, uint64_t address)
{
    struct record_sample sample = open_sample(address);

    return private_watch_start(&set, slot, &sample, hardware.clock);
}

static void trap(unsigned slot, uint64_t ip)
{
    struct watch_trap event = {.ip = ip, .app_now = hardware.clock, .machine = &hardware};

    private_watch_trap(&set, slot, hardware.generation[slot], &event);
}

static unsigned armed(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < WATCHES_MAX; i++)
        n += hardware.armed[i];
    return n;
}

static void a_watch_runs_from_its_start_to_the_reuse(void **state)
{
    (void)state;
    begin(4);
    hardware.clock = 150;
    assert_true(start(2, 0x1004));
    assert_int_equal(armed(), 1);
    assert_int_equal(hardware.address[2], 0x1000);
    assert_int_equal(hardware.samples, 1);
    assert_int_equal(hardware.sample[0].app_ns, 150);
    assert_int_equal(hardware.sample[0].watch_mode, WATCH_ACCESSED);
    assert_int_equal(hardware.sample[0].watch_slot, 2);
    assert_int_equal(hardware.sample[0].invalidation_address, 0xabc0);
    assert_int_equal(hardware.companions, 1);
    assert_int_equal(hardware.announced, 1);
    hardware.clock = 400;
    trap(2, 0x999);
    assert_int_equal(armed(), 0);
    assert_int_equal(hardware.ends, 1);
    assert_int_equal(hardware.end[0].sample_id, 1);
    assert_int_equal(hardware.end[0].reason, WATCH_REUSED);
    assert_int_equal(hardware.end[0].app_ns, 400);
    assert_int_equal(hardware.end[0].ip, 0x999);
    assert_int_equal(hardware.end[0].thread_id, 7);
    assert_int_equal(hardware.end[0].words_after, 3);
    assert_int_equal(hardware.end[0].cpu, 5);
    assert_int_equal(hardware.companions, 0);
    assert_int_equal(hardware.announced, 0);
    assert_int_equal(totals.armed, 1);
    assert_int_equal(totals.reused, 1);
}

static void the_mechanism_may_write_the_end_later(void **state)
{
    (void)state;
    begin(4);
    hardware.future_is_known = false;
    start(3, 0x2000);
    trap(3, 0x500);
    assert_int_equal(hardware.ends, 0);
    assert_int_equal(armed(), 0);
    assert_int_equal(totals.reused, 1);
    /* The slot is free all the same. */
    assert_int_equal(private_watches_accept(&set), 15);
    start(3, 0x3000);
    assert_true(hardware.armed[3]);
    assert_int_equal(totals.evicted, 0);
}

static void without_a_register_nothing_is_written(void **state)
{
    (void)state;
    begin(0);
    assert_int_equal(private_watches_accept(&set), 0);
    begin(2);
    hardware.refuse = true;
    assert_false(start(1, 0x1000));
    assert_int_equal(hardware.samples, 0);
    assert_int_equal(totals.armed, 0);
    assert_int_equal(totals.lost[LOSS_NO_REGISTER], 1);
    assert_int_equal(hardware.companions, 0);
    assert_int_equal(hardware.announced, 0);
    assert_int_equal(private_watches_accept(&set), 3);
    hardware.refuse = false;
    assert_true(start(1, 0x1000));
    assert_true(hardware.armed[1]);
}

/* The watch that gives way to one whose register fails is over all the same. */
static void a_register_that_fails_leaves_its_slot_empty(void **state)
{
    (void)state;
    begin(1);
    start(0, 0x1000);
    hardware.refuse = true;
    assert_false(start(0, 0x2000));
    assert_int_equal(hardware.end[0].reason, WATCH_EVICTED);
    assert_int_equal(armed(), 0);
    assert_int_equal(hardware.companions, 0);
}

/* Its sample is written, censored at once; nothing is armed, and what was there is evicted. */
static void what_may_have_no_register_is_censored_at_once(void **state)
{
    struct record_sample sample;

    (void)state;
    begin(1);
    start(0, 0x1000);
    hardware.clock = 70;
    sample = open_sample(0x2000);
    private_watch_decline(&set, 0, &sample, hardware.clock);
    assert_int_equal(armed(), 0);
    assert_int_equal(hardware.companions, 0);
    assert_int_equal(hardware.announced, 0);
    assert_int_equal(hardware.samples, 2);
    assert_int_equal(hardware.sample[1].app_ns, 70);
    assert_int_equal(hardware.ends, 2);
    assert_int_equal(hardware.end[0].sample_id, 1);
    assert_int_equal(hardware.end[1].sample_id, 2);
    assert_int_equal(hardware.end[1].reason, WATCH_EVICTED);
    assert_int_equal(hardware.end[1].app_ns, 70);
    assert_int_equal(totals.armed, 1);
    assert_int_equal(totals.evicted, 2);
    assert_true(start(0, 0x3000));
    assert_int_equal(armed(), 1);
}

static void every_watch_ends_once_when_slots_are_scarce(void **state)
{
    enum { BURSTS = 1500 };
    unsigned started = 0, reused = 0, evicted = 0, alive;

    (void)state;
    begin(3);
    for (unsigned i = 0; i < BURSTS; i++) {
        uint32_t accepted = private_watches_accept(&set);

        hardware.clock += 10;
        assert_int_not_equal(accepted, 0);
        for (unsigned slot = 0; slot < 3; slot++)
            if (accepted >> slot & 1)
                started += start(slot, 0x10000 + 64 * (uint64_t)(3 * i + slot));
        if (i % 5 == 0)
            trap(i % 3, 0x500);
        assert_true(armed() <= 3);
        assert_int_equal(hardware.companions, armed());
        assert_int_equal(hardware.announced, armed());
    }
    alive = armed();
    for (unsigned i = 0; i < hardware.ends; i++) {
        reused += hardware.end[i].reason == WATCH_REUSED;
        evicted += hardware.end[i].reason == WATCH_EVICTED;
    }
    assert_int_equal(hardware.samples, started);
    assert_int_equal(totals.armed, started);
    assert_int_equal(hardware.ends + alive, started);
    assert_int_equal(reused, totals.reused);
    assert_int_equal(evicted, totals.evicted);
    assert_int_equal(reused + evicted, hardware.ends);
    assert_true(reused > 0 && evicted > BURSTS / 2);
    /* No sample has two ends. */
    for (unsigned i = 0; i < hardware.ends; i++)
        for (unsigned j = i + 1; j < hardware.ends; j++)
            assert_int_not_equal(hardware.end[i].sample_id, hardware.end[j].sample_id);
}

static void a_trap_of_an_earlier_use_is_a_stranger(void **state)
{
    struct watch_trap event = {.ip = 0x500, .machine = &hardware};
    uint32_t old;

    (void)state;
    begin(1);
    start(0, 0x1000);
    old = hardware.generation[0];
    start(0, 0x2000);
    private_watch_trap(&set, 0, old, &event);
    assert_int_equal(totals.lost[LOSS_TRAP_UNKNOWN], 1);
    assert_int_equal(totals.reused, 0);
    private_watch_trap(&set, 1, hardware.generation[0], &event);
    assert_int_equal(totals.lost[LOSS_TRAP_UNKNOWN], 2);
    assert_int_equal(armed(), 1);
}

static void one_trap_ends_all_watches_on_the_word(void **state)
{
    (void)state;
    begin(2);
    start(0, 0x1000);
    start(1, 0x1000);
    trap(1, 0x500);
    assert_int_equal(totals.reused, 2);
    assert_int_equal(armed(), 0);
}

static void the_end_of_a_block_ends_watches_in_it(void **state)
{
    (void)state;
    begin(2);
    start(1, 0x1000);
    start(0, 0x9000);
    hardware.clock = 77;
    private_watch_block_freed(&set, 0x1000, 64, 12);
    assert_false(hardware.armed[1]);
    assert_true(hardware.armed[0]);
    assert_int_equal(hardware.end[0].reason, WATCH_FREED);
    assert_int_equal(hardware.end[0].thread_id, 12);
    assert_int_equal(hardware.end[0].app_ns, 77);
    assert_int_equal(totals.ended, 1);
}

/* Its owner may end meanwhile, and must not give the register's number away before it is disarmed.
 */
static void a_watch_that_another_thread_takes_down_is_settled_last(void **state)
{
    (void)state;
    begin(4);
    start(0, 0x1000);
    start(1, 0x2000);
    for (unsigned i = 0; i < 4; i++)
        assert_true(private_watch_is_settled(&set, i));
    private_watch_block_freed(&set, 0x2000, 16, 99);
    assert_int_equal(hardware.ends, 1);
    assert_int_equal(hardware.unsettled, 1);
    assert_false(hardware.settled);
    assert_true(hardware.armed[0]);
    assert_false(hardware.armed[1]);
    assert_true(private_watch_is_settled(&set, 1));
}

static void a_store_of_another_thread_is_told_and_the_watch_goes_on(void **state)
{
    struct record_invalidation record = {.sample_id = 1, .thread_id = 9};

    (void)state;
    begin(1);
    start(0, 0x1000);
    private_watch_invalidate(&set, 0, &record);
    assert_int_equal(hardware.invalidations, 1);
    assert_true(hardware.armed[0]);
    record.sample_id = 2;
    private_watch_invalidate(&set, 0, &record);
    assert_int_equal(hardware.invalidations, 1);
    trap(0, 0x500);
    assert_int_equal(totals.invalidated, 1);
    assert_int_equal(totals.reused, 0);
    record.sample_id = 1;
    private_watch_invalidate(&set, 0, &record);
    assert_int_equal(hardware.invalidations, 1);
}

static void the_profilers_own_traps_end_a_watch_in_the_long_run(void **state)
{
    (void)state;
    begin(1);
    start(0, 0x1000);
    for (unsigned i = 1; i < WATCH_OWN_TRAPS_MAX; i++)
        private_watch_own_trap(&set, 0, hardware.generation[0]);
    assert_int_equal(armed(), 1);
    private_watch_own_trap(&set, 0, hardware.generation[0]);
    assert_int_equal(armed(), 0);
    assert_int_equal(hardware.end[0].reason, WATCH_LOST);
}

static void a_taken_slot_is_given_back_or_lost_to_a_sample(void **state)
{
    (void)state;
    begin(1);
    start(0, 0x1000);
    assert_true(private_watch_take(&set, 0, 42, 0x5003, 40));
    assert_int_equal(totals.evicted, 1);
    assert_int_equal(hardware.end[0].app_ns, 40);
    assert_int_equal(hardware.address[0], 0x5000);
    trap(0, 0x600);
    assert_int_equal(hardware.taken_traps, 1);
    assert_int_equal(hardware.purpose, 42);
    assert_int_equal(armed(), 0);
    assert_true(private_watch_take(&set, 0, 43, 0x5000, 50));
    start(0, 0x2000);
    assert_int_equal(hardware.taken_cancels, 1);
    assert_int_equal(hardware.purpose, 43);
    assert_int_equal(hardware.address[0], 0x2000);
    assert_int_equal(hardware.samples, 2);
    hardware.refuse = true;
    assert_false(private_watch_take(&set, 0, 44, 0x5000, 60));
    hardware.refuse = false;
    start(0, 0x3000);
    assert_int_equal(armed(), 1);
    assert_int_equal(hardware.taken_cancels, 1);
    /* What is no taken register is not released as one. */
    private_watch_release(&set, 0);
    assert_int_equal(armed(), 1);
}

static void one_purpose_can_take_the_slot_from_another(void **state)
{
    (void)state;
    begin(2);
    assert_true(private_watch_take(&set, 1, 1, 0x5000, 0));
    assert_true(private_watch_take(&set, 1, 2, 0x6000, 0));
    assert_int_equal(hardware.taken_cancels, 1);
    assert_int_equal(hardware.purpose, 1);
    for (unsigned i = 0; i < WATCH_OWN_TRAPS_MAX; i++)
        private_watch_own_trap(&set, 1, hardware.generation[1]);
    assert_int_equal(hardware.taken_cancels, 2);
    assert_int_equal(hardware.purpose, 2);
    assert_int_equal(armed(), 0);
    assert_int_equal(hardware.ends, 0);
}

static void periods_scatter_a_quarter_about_their_mean(void **state)
{
    uint64_t low = UINT64_MAX, high = 0, sum = 0;

    (void)state;
    random_seed(&generator, 3);
    for (int i = 0; i < 100000; i++) {
        uint64_t period = sample_period(&generator, 10000);

        low = period < low ? period : low;
        high = period > high ? period : high;
        sum += period;
    }
    assert_in_range(low, 7500, 7510);
    assert_in_range(high, 12490, 12500);
    /* Five standard deviations of the mean. */
    assert_in_range(sum / 100000, 9977, 10023);
}

/* A thread of any length from the least on is sampled with the probability that is its share of the
 * mean, and a shorter one never. */
static void first_periods_are_uniform_but_for_the_very_start(void **state)
{
    enum { DRAWS = 200000 };
    static const struct {
        uint64_t mean, least, effective;
    } cases[] = {{6000000, 100000, 100000}, {6000000, 25000, 25000}, {10000, 100000, 2500}};

    (void)state;
    random_seed(&generator, 4);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        uint64_t mean = cases[c].mean, least = cases[c].effective;
        uint64_t lengths[] = {least, 2 * least, mean / 2, mean};
        unsigned sampled[4] = {0}, sooner = 0;

        for (int i = 0; i < DRAWS; i++) {
            uint64_t period = sample_first_period(&generator, mean, cases[c].least);

            sooner += period < least;
            for (unsigned k = 0; k < 4; k++)
                sampled[k] += period <= lengths[k];
        }
        assert_int_equal(sooner, 0);
        for (unsigned k = 0; k < 4; k++) {
            double p = (double)lengths[k] / (double)mean;
            double deviation = sqrt(DRAWS * p * (1 - p)) + 1;

            assert_true(fabs(sampled[k] - DRAWS * p) < 5 * deviation);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_runs_from_its_start_to_the_reuse),
        cmocka_unit_test(the_mechanism_may_write_the_end_later),
        cmocka_unit_test(without_a_register_nothing_is_written),
        cmocka_unit_test(a_register_that_fails_leaves_its_slot_empty),
        cmocka_unit_test(what_may_have_no_register_is_censored_at_once),
        cmocka_unit_test(every_watch_ends_once_when_slots_are_scarce),
        cmocka_unit_test(a_trap_of_an_earlier_use_is_a_stranger),
        cmocka_unit_test(one_trap_ends_all_watches_on_the_word),
        cmocka_unit_test(the_end_of_a_block_ends_watches_in_it),
        cmocka_unit_test(a_watch_that_another_thread_takes_down_is_settled_last),
        cmocka_unit_test(a_store_of_another_thread_is_told_and_the_watch_goes_on),
        cmocka_unit_test(the_profilers_own_traps_end_a_watch_in_the_long_run),
        cmocka_unit_test(a_taken_slot_is_given_back_or_lost_to_a_sample),
        cmocka_unit_test(one_purpose_can_take_the_slot_from_another),
        cmocka_unit_test(periods_scatter_a_quarter_about_their_mean),
        cmocka_unit_test(first_periods_are_uniform_but_for_the_very_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
