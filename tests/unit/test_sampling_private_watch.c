/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of private watches, on registers that a test can see and trap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sampling/private_watch.h"
#include "sampling/sample.h"
#include "sampling/watch_plan.h"

enum { RECORDS = 4096 };

/* What the mechanism was asked to do. */
static struct hardware {
    bool armed[WATCHES_MAX];
    uint64_t address[WATCHES_MAX];
    uint32_t generation[WATCHES_MAX];
    bool refuse;          /* to arm */
    bool future_is_known; /* follow_visit() answers at once */
    uint64_t clock;
    unsigned companions, announced;
    unsigned timing_traps, timing_cancels;
    unsigned samples, ends, invalidations;
    struct record_sample sample[RECORDS];
    struct record_watch_end end[RECORDS];
} hardware;

static struct private_watches set;
static struct record_totals totals;
static struct random generator;
static struct window window;
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
    ((struct hardware *)thread)->armed[slot] = false;
}

static void append(void *thread, enum record_type type, const void *record, size_t size)
{
    struct hardware *h = thread;

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

static void timing_trap(void *thread, unsigned slot, const struct watch_trap *trap)
{
    (void)trap;
    ((struct hardware *)thread)->timing_traps++;
    private_watch_release_timing(&set, slot);
}

static void timing_cancel(void *thread)
{
    ((struct hardware *)thread)->timing_cancels++;
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
    .timing_trap = timing_trap,
    .timing_cancel = timing_cancel,
};

static void begin(unsigned count)
{
    memset(&hardware, 0, sizeof hardware);
    memset(&totals, 0, sizeof totals);
    hardware.future_is_known = true;
    random_seed(&generator, 11);
    next_sample = 0;
    private_watches_begin(&set, &mechanism, &hardware, 7, &generator, &totals, count, 8);
}

/* An access of 8 bytes to its own line, in a window that begins with `before` accesses to the word.
 * A line of one word makes the accessed word the only one to watch. */
static struct record_sample fill_window(uint64_t address, unsigned before)
{
    struct access access = {.ip = 0x400, .address = address, .width = 32, .kind = ACCESS_LOAD};
    struct record_sample sample = {.sample_id = ++next_sample, .thread_id = 7};

    random_seed(&generator, next_sample);
    do
        window_begin(&window, &generator, 10, 32);
    while (window.skip != before);
    for (unsigned i = 0; i <= before; i++) {
        access.ip = 0x400 + 0x10 * i;
        window_feed(&window, &access, 1);
    }
    assert_true(window_end(&window, &generator));
    sample_from_window(&sample, &window);
    sample.app_ns = hardware.clock;
    return sample;
}

static void start(uint64_t address, unsigned before)
{
    struct record_sample sample = fill_window(address, before);

    private_watch_start(&set, &window, &sample, hardware.clock);
}

/* A sample whose access is done, as hardware delivers it. */
static void start_executed(uint64_t address)
{
    struct access access = {.ip = 0x400, .address = address, .width = 8, .kind = ACCESS_STORE};
    struct record_sample sample = {.sample_id = ++next_sample, .thread_id = 7};

    window_begin_after(&window, &generator, &access, 10, 64);
    assert_true(window_end(&window, &generator));
    sample_from_window(&sample, &window);
    private_watch_start(&set, &window, &sample, hardware.clock);
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

static void a_watch_runs_from_the_sampled_access_to_its_reuse(void **state)
{
    (void)state;
    begin(4);
    hardware.clock = 100;
    start(0x1000, 2);
    assert_int_equal(armed(), 1);
    assert_int_equal(hardware.samples, 0);
    /* The two accesses before the sampled one, and that itself. */
    trap(3, 0x404);
    trap(3, 0x414);
    assert_int_equal(hardware.samples, 0);
    hardware.clock = 150;
    trap(3, 0x424);
    assert_int_equal(hardware.samples, 1);
    assert_int_equal(hardware.sample[0].app_ns, 150);
    assert_int_equal(hardware.sample[0].watch_mode, WATCH_ACCESSED);
    assert_int_equal(hardware.sample[0].words_accessed, 4);
    assert_int_equal(hardware.sample[0].watch_slot, 3);
    assert_true(hardware.sample[0].watch_address - 0x1000 < 32);
    assert_int_equal(hardware.companions, 1);
    assert_int_equal(hardware.announced, 1);
    hardware.clock = 400;
    trap(3, 0x999);
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

static void a_sample_that_is_executed_runs_at_once(void **state)
{
    (void)state;
    begin(4);
    start_executed(0x2008);
    assert_int_equal(hardware.samples, 1);
    assert_int_equal(hardware.sample[0].address, 0x2008);
    trap(3, 0x500);
    assert_int_equal(hardware.ends, 1);
}

static void the_mechanism_may_write_the_end_later(void **state)
{
    (void)state;
    begin(4);
    hardware.future_is_known = false;
    start_executed(0x2000);
    trap(3, 0x500);
    assert_int_equal(hardware.ends, 0);
    assert_int_equal(armed(), 0);
    assert_int_equal(totals.reused, 1);
    /* The slot is free all the same. */
    start_executed(0x3000);
    assert_true(hardware.armed[3]);
    assert_int_equal(totals.evicted, 0);
}

static void a_path_that_was_not_foreseen_ends_the_watch(void **state)
{
    (void)state;
    begin(4);
    start(0x1000, 0);
    trap(3, 0x5000);
    assert_int_equal(armed(), 0);
    assert_int_equal(hardware.samples, 1);
    assert_int_equal(hardware.sample[0].watch_mode, WATCH_NONE);
    assert_int_equal(hardware.sample[0].flags, SAMPLE_ARM_FAILED);
    assert_int_equal(hardware.ends, 0);
    assert_int_equal(totals.armed, 0);
    assert_int_equal(totals.lost[LOSS_TRAP_UNKNOWN], 1);
}

/* Another word of the line, which an earlier instruction touches on the way to the sampled one. */
static void the_trap_that_starts_a_watch_may_be_of_another_instruction(void **state)
{
    struct access first = {.ip = 0x800, .address = 0x1008, .width = 8, .kind = ACCESS_LOAD};
    struct access sampled = {.ip = 0x400, .address = 0x1000, .width = 8, .kind = ACCESS_LOAD};

    (void)state;
    begin(4);
    do {
        struct record_sample sample = {.sample_id = ++next_sample, .thread_id = 7};

        for (unsigned i = 0; i < WATCHES_MAX; i++) {
            set.watch[i].state = WATCH_FREE;
            hardware.armed[i] = false;
        }
        do
            window_begin(&window, &generator, 10, 64);
        while (window.skip != 1);
        window_feed(&window, &first, 1);
        window_feed(&window, &sampled, 1);
        assert_true(window_end(&window, &generator));
        sample_from_window(&sample, &window);
        hardware.samples = 0;
        private_watch_start(&set, &window, &sample, 0);
    } while (!hardware.armed[3] || hardware.address[3] != 0x1008);
    assert_int_equal(hardware.samples, 0);
    trap(3, 0x804);
    assert_int_equal(hardware.samples, 1);
    assert_int_equal(hardware.sample[0].watch_mode, WATCH_OTHER);
    assert_int_equal(hardware.sample[0].address, 0x1000);
    trap(3, 0x804);
    assert_int_equal(totals.reused, 1);
    assert_int_equal(totals.lost[LOSS_TRAP_UNKNOWN], 0);
}

static void a_word_that_is_hot_on_the_way_is_not_watched(void **state)
{
    (void)state;
    begin(4);
    start(0x1000, WATCH_TRAPS_BEFORE_MAX);
    assert_int_equal(armed(), 0);
    assert_int_equal(hardware.samples, 1);
    assert_int_equal(hardware.sample[0].flags, SAMPLE_ARM_FAILED);
    start(0x1000, WATCH_TRAPS_BEFORE_MAX - 1);
    assert_int_equal(armed(), 1);
}

static void without_registers_samples_stand_alone(void **state)
{
    (void)state;
    begin(0);
    start(0x1000, 0);
    assert_int_equal(hardware.samples, 1);
    assert_int_equal(totals.lost[LOSS_NO_REGISTER], 1);
    begin(2);
    hardware.refuse = true;
    start(0x1000, 0);
    assert_int_equal(hardware.samples, 1);
    assert_int_equal(hardware.sample[0].flags, SAMPLE_ARM_FAILED);
    assert_int_equal(totals.lost[LOSS_NO_REGISTER], 1);
    assert_int_equal(hardware.companions, 0);
    hardware.refuse = false;
    start(0x1000, 0);
    assert_true(hardware.armed[1]);
}

static void every_watch_ends_once_when_slots_are_scarce(void **state)
{
    enum { SAMPLES = 3000 };
    unsigned reused = 0, evicted = 0, alive;

    (void)state;
    begin(3);
    for (unsigned i = 0; i < SAMPLES; i++) {
        hardware.clock += 10;
        start_executed(0x10000 + 64 * (uint64_t)i);
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
    assert_int_equal(hardware.samples, SAMPLES);
    assert_int_equal(totals.armed, SAMPLES);
    assert_int_equal(hardware.ends + alive, SAMPLES);
    assert_int_equal(reused, totals.reused);
    assert_int_equal(evicted, totals.evicted);
    assert_int_equal(reused + evicted, hardware.ends);
    assert_true(reused > 0 && evicted > SAMPLES / 2);
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
    start_executed(0x1000);
    old = hardware.generation[0];
    start_executed(0x2000);
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
    do
        start_executed(0x1000);
    while (hardware.address[0] != hardware.address[1]);
    trap(1, 0x500);
    assert_int_equal(totals.reused, 2);
    assert_int_equal(armed(), 0);
}

static void the_end_of_a_block_ends_watches_in_it(void **state)
{
    (void)state;
    begin(2);
    start_executed(0x1000);
    start_executed(0x9000);
    hardware.clock = 77;
    private_watch_block_freed(&set, 0x1000, 64, 12);
    assert_false(hardware.armed[1]);
    assert_true(hardware.armed[0]);
    assert_int_equal(hardware.end[0].reason, WATCH_FREED);
    assert_int_equal(hardware.end[0].thread_id, 12);
    assert_int_equal(hardware.end[0].app_ns, 77);
    assert_int_equal(totals.ended, 1);
}

static void a_store_of_another_thread_is_told_and_the_watch_goes_on(void **state)
{
    struct record_invalidation record = {.sample_id = 1, .thread_id = 9};

    (void)state;
    begin(1);
    start_executed(0x1000);
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
    start_executed(0x1000);
    for (unsigned i = 1; i < WATCH_OWN_TRAPS_MAX; i++)
        private_watch_own_trap(&set, 0, hardware.generation[0]);
    assert_int_equal(armed(), 1);
    private_watch_own_trap(&set, 0, hardware.generation[0]);
    assert_int_equal(armed(), 0);
    assert_int_equal(hardware.end[0].reason, WATCH_LOST);
}

static void timing_takes_a_slot_and_samples_take_it_back(void **state)
{
    (void)state;
    begin(1);
    start_executed(0x1000);
    assert_true(private_watch_take_for_timing(&set, 0, 0x5003, 40));
    assert_int_equal(totals.evicted, 1);
    assert_int_equal(hardware.address[0], 0x5000);
    trap(0, 0x600);
    assert_int_equal(hardware.timing_traps, 1);
    assert_int_equal(armed(), 0);
    assert_true(private_watch_take_for_timing(&set, 0, 0x5000, 50));
    start_executed(0x2000);
    assert_int_equal(hardware.timing_cancels, 1);
    assert_true(hardware.armed[0]);
    assert_int_equal(hardware.address[0] & ~63u, 0x2000);
    assert_int_equal(hardware.samples, 2);
    hardware.refuse = true;
    assert_false(private_watch_take_for_timing(&set, 0, 0x5000, 60));
    hardware.refuse = false;
    start_executed(0x3000);
    assert_int_equal(armed(), 1);
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

static void first_periods_lie_in_one_mean_but_not_at_its_very_start(void **state)
{
    static const struct {
        uint64_t mean, least;
    } cases[] = {{6000000, 100000}, {10000, 2500}};

    (void)state;
    random_seed(&generator, 4);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        uint64_t mean = cases[c].mean, low = UINT64_MAX, high = 0;

        for (int i = 0; i < 100000; i++) {
            uint64_t period = sample_first_period(&generator, mean) - cases[c].least;

            low = period < low ? period : low;
            high = period > high ? period : high;
        }
        assert_in_range(low, 1, mean / 1000);
        assert_in_range(high, mean - mean / 1000, mean);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_runs_from_the_sampled_access_to_its_reuse),
        cmocka_unit_test(a_sample_that_is_executed_runs_at_once),
        cmocka_unit_test(the_mechanism_may_write_the_end_later),
        cmocka_unit_test(a_path_that_was_not_foreseen_ends_the_watch),
        cmocka_unit_test(the_trap_that_starts_a_watch_may_be_of_another_instruction),
        cmocka_unit_test(a_word_that_is_hot_on_the_way_is_not_watched),
        cmocka_unit_test(without_registers_samples_stand_alone),
        cmocka_unit_test(every_watch_ends_once_when_slots_are_scarce),
        cmocka_unit_test(a_trap_of_an_earlier_use_is_a_stranger),
        cmocka_unit_test(one_trap_ends_all_watches_on_the_word),
        cmocka_unit_test(the_end_of_a_block_ends_watches_in_it),
        cmocka_unit_test(a_store_of_another_thread_is_told_and_the_watch_goes_on),
        cmocka_unit_test(the_profilers_own_traps_end_a_watch_in_the_long_run),
        cmocka_unit_test(timing_takes_a_slot_and_samples_take_it_back),
        cmocka_unit_test(periods_scatter_a_quarter_about_their_mean),
        cmocka_unit_test(first_periods_lie_in_one_mean_but_not_at_its_very_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
