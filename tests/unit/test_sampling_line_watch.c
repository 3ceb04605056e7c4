/* SPDX-License-Identifier: BSD-3-Clause */
/* What a line watch tells of threads that come between arming and the sampled store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sampling/line_watch.h"

enum { WRITER = 1, OTHER = 2, SAMPLED_IP = 0x401000, OTHER_IP = 0x402000, WORD = 0x1008 };

static bool loads_watched;
static struct record_line_watch recorded;
static struct record_line_end ended;
static unsigned watches;

static bool arm(void *context, uint64_t address, uint64_t address2, bool loads, uint32_t generation)
{
    (void)context;
    (void)address;
    (void)address2;
    (void)generation;
    loads_watched = loads;
    return true;
}

static void disarm(void *context)
{
    (void)context;
}

static void append(void *context, enum record_type type, const void *record, size_t size)
{
    (void)context;
    (void)size;
    if (type == RECORD_LINE_WATCH) {
        memcpy(&recorded, record, sizeof recorded);
        watches++;
    }
    if (type == RECORD_LINE_END)
        memcpy(&ended, record, sizeof ended);
}

/* A store is sampled at 50 ns. */
static void offer_store(struct line_watch *watch, uint32_t ahead)
{
    const struct line_watch_mechanism mechanism = {
        .arm = arm, .disarm = disarm, .append = append, .line_size = 64, .tolerance_ns = 1000};
    const struct line_watch_offer offer = {
        .thread_id = WRITER, .shared = true, .time_ns = 50, .ahead = ahead};
    struct record_sample sample = {
        .sample_id = 3, .address = WORD, .ip = SAMPLED_IP, .kind = ACCESS_STORE};
    struct random random;

    memset(watch, 0, sizeof *watch);
    watches = 0;
    random_seed(&random, 1);
    line_watch_begin(watch, &mechanism);
    assert_true(line_watch_offer(watch, &random, &offer, &sample));
}

static enum line_trap_answer come(struct line_watch *watch, uint32_t thread, uint64_t at,
                                  uint8_t kind)
{
    struct line_arrival arrival;
    struct line_trap trap = {.thread_id = thread,
                             .generation = watch->generation,
                             .time_ns = at,
                             .ip = thread == WRITER ? SAMPLED_IP : OTHER_IP,
                             .kind = kind,
                             .width = 8,
                             .address = WORD};
    enum line_trap_answer answer = line_watch_trap(watch, &trap, &arrival);

    if (answer == LINE_TRAP_EVENT)
        line_watch_event(watch, &arrival.event);
    return answer;
}

/* Of a sampled store; others come `times` times before it is executed at 5000 ns. */
static uint32_t flags_after(unsigned times, uint32_t thread, uint8_t kind)
{
    static struct line_watch watch;

    offer_store(&watch, 0);
    for (unsigned i = 0; i < times; i++)
        come(&watch, thread, 100 + 100 * i, kind);
    assert_int_equal(come(&watch, WRITER, 5000, ACCESS_STORE), LINE_TRAP_STARTED);
    assert_int_equal(watches, 1);
    return recorded.flags;
}

static void a_thread_on_the_way_there_is_met(void **state)
{
    (void)state;
    assert_int_equal(flags_after(0, OTHER, ACCESS_STORE), 0);
    assert_int_equal(flags_after(1, OTHER, ACCESS_STORE), LINE_WATCH_MET);
    assert_int_equal(flags_after(1, OTHER, ACCESS_LOAD), LINE_WATCH_MET);
    /* The thread itself is nobody else. */
    assert_int_equal(flags_after(1, WRITER, ACCESS_LOAD), 0);
}

static void who_reads_again_and_again_polls_and_who_stores_does_not(void **state)
{
    (void)state;
    assert_int_equal(flags_after(2, OTHER, ACCESS_LOAD), LINE_WATCH_MET | LINE_WATCH_POLLED);
    assert_int_equal(flags_after(2, OTHER, ACCESS_STORE), LINE_WATCH_MET);
    assert_int_equal(flags_after(2, OTHER, ACCESS_LOAD | ACCESS_STORE), LINE_WATCH_MET);
}

/* It polls from the moment on that our handler lets it: what the handler took is no wait. */
static void a_wait_is_timed_from_when_the_thread_polls_on(void **state)
{
    static struct line_watch watch;
    struct line_watch_mechanism mechanism = {
        .arm = arm, .disarm = disarm, .append = append, .line_size = 64, .tolerance_ns = 100};
    struct line_watch_offer offer = {.thread_id = WRITER, .waits = true, .time_ns = 50};
    struct line_arrival arrival;
    struct line_trap trap = {
        .thread_id = OTHER, .time_ns = 9000, .kind = ACCESS_STORE, .width = 8, .address = WORD};
    struct random random;

    (void)state;
    for (unsigned resumed = 0; resumed < 2; resumed++) {
        memset(&watch, 0, sizeof watch);
        random_seed(&random, 1);
        line_watch_begin(&watch, &mechanism);
        for (;;) {
            struct record_sample sample = {
                .sample_id = 3, .address = WORD, .ip = SAMPLED_IP, .kind = ACCESS_LOAD};

            if (line_watch_offer(&watch, &random, &offer, &sample))
                break;
        }
        assert_true(line_watch_waits(&watch, WRITER));
        assert_false(line_watch_waits(&watch, OTHER));
        if (resumed)
            line_watch_resumed(&watch, WRITER, 4000);
        line_watch_resumed(&watch, OTHER, 8000); /* not the one that waits */
        trap.generation = watch.generation;
        assert_int_equal(line_watch_trap(&watch, &trap, &arrival), LINE_TRAP_EVENT);
        assert_int_equal(arrival.event.elapsed_ns, resumed ? 5000 : 8950);
        assert_false(line_watch_waits(&watch, WRITER));
    }
}

/* The time for it is over for the thread that it was sampled in, and for no other. */
static void a_watch_is_evicted_by_its_own_thread(void **state)
{
    static struct line_watch watch;
    struct line_watch_mechanism mechanism = {
        .arm = arm, .disarm = disarm, .append = append, .line_size = 64, .tolerance_ns = 1000};
    struct record_sample sample = {
        .sample_id = 3, .address = WORD, .ip = SAMPLED_IP, .kind = ACCESS_STORE};
    struct line_watch_offer offer = {.thread_id = WRITER, .shared = true, .time_ns = 50};
    struct random random;

    (void)state;
    memset(&ended, 0, sizeof ended);
    random_seed(&random, 1);
    line_watch_begin(&watch, &mechanism);
    assert_false(line_watch_is_of(&watch, WRITER));
    assert_true(line_watch_offer(&watch, &random, &offer, &sample));
    assert_true(line_watch_is_of(&watch, WRITER));
    assert_int_equal(come(&watch, WRITER, 5000, ACCESS_STORE), LINE_TRAP_STARTED);
    line_watch_evict(&watch, OTHER, 6000);
    assert_true(line_watch_is_of(&watch, WRITER));
    line_watch_evict(&watch, WRITER, 7000);
    assert_false(line_watch_is_of(&watch, WRITER));
    assert_int_equal(ended.sample_id, 3);
    assert_int_equal(ended.reason, LINE_END_EVICTED);
}

/* Of a word that is filled byte by byte the sampled store is the last: the watch begins with the
 * trap of that one, and not of those before it. What comes too often is not waited for. */
static void a_watch_begins_after_those_ahead(void **state)
{
    static struct line_watch watch;

    (void)state;
    for (unsigned ahead = 0; ahead <= LINE_WATCH_AHEAD_MAX + 1; ahead++) {
        unsigned first = ahead <= LINE_WATCH_AHEAD_MAX ? ahead : 0;

        offer_store(&watch, ahead);
        for (unsigned i = 0; i < first; i++) {
            assert_int_equal(come(&watch, WRITER, 5000 + i, ACCESS_STORE), LINE_TRAP_NOTHING);
            assert_int_equal(come(&watch, WRITER, 5000 + i, ACCESS_LOAD), LINE_TRAP_NOTHING);
        }
        assert_int_equal(watches, 0);
        assert_int_equal(come(&watch, WRITER, 6000, ACCESS_STORE), LINE_TRAP_STARTED);
        assert_int_equal(watches, 1);
        assert_int_equal(recorded.monotonic_ns, 6000);
    }
}

/* What the profiler takes of a thread is no time of the program; but who was seen to come first did
 * so. */
static void arrivals_keep_their_order(void **state)
{
    static struct line_watch watch;
    struct line_trap trap = {.ip = SAMPLED_IP, .kind = ACCESS_STORE, .width = 8, .address = WORD};
    struct line_arrival arrival;

    (void)state;
    for (unsigned read = 0; read < 2; read++) {
        offer_store(&watch, 0);
        assert_int_equal(come(&watch, WRITER, 5000, ACCESS_STORE), LINE_TRAP_STARTED);
        if (read)
            assert_int_equal(come(&watch, OTHER, 95000, ACCESS_LOAD), LINE_TRAP_EVENT);
        trap.thread_id = WRITER;
        trap.generation = watch.generation;
        trap.time_ns = 255000;
        trap.delayed_ns = 200000;
        assert_int_equal(line_watch_trap(&watch, &trap, &arrival), LINE_TRAP_EVENT);
        assert_int_equal(arrival.event.elapsed_ns, read ? 90000 : 50000);
    }
}

/* When all others have read, another load tells nothing; of a thread that is not known it does. */
static void loads_are_watched_while_somebody_may_read(void **state)
{
    static struct line_watch watch;

    (void)state;
    for (uint32_t threads = 0; threads < 4; threads++) {
        struct line_trap trap = {.thread_id = OTHER,
                                 .threads = threads,
                                 .ip = OTHER_IP,
                                 .kind = ACCESS_LOAD,
                                 .width = 8,
                                 .address = WORD};
        struct line_arrival arrival;
        unsigned traps = 0;

        offer_store(&watch, 0);
        assert_int_equal(come(&watch, WRITER, 5000, ACCESS_STORE), LINE_TRAP_STARTED);
        trap.generation = watch.generation;
        for (; loads_watched; traps++) {
            trap.time_ns = 6000 + traps;
            assert_int_equal(line_watch_trap(&watch, &trap, &arrival),
                             traps == 0 ? LINE_TRAP_EVENT : LINE_TRAP_NOTHING);
        }
        assert_int_equal(traps, threads == 1 || threads == 2 ? 2 : 17);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_begins_after_those_ahead),
        cmocka_unit_test(arrivals_keep_their_order),
        cmocka_unit_test(loads_are_watched_while_somebody_may_read),
        cmocka_unit_test(a_thread_on_the_way_there_is_met),
        cmocka_unit_test(who_reads_again_and_again_polls_and_who_stores_does_not),
        cmocka_unit_test(a_wait_is_timed_from_when_the_thread_polls_on),
        cmocka_unit_test(a_watch_is_evicted_by_its_own_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
