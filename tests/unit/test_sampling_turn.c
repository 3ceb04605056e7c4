/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns between waits: where they begin and end, and what counts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sampling/turn.h"

enum { WAIT_IP = 0x1000, WORK_IP = 0x2000, WAIT_PLACE = 0x8000, WORK_PLACE = 0x9000 };

static struct wait_loop loop_at(uint64_t ip)
{
    struct wait_loop loop = {0};

    wait_loop_add(&loop, ip);
    return loop;
}

static enum turn_phase poll(struct turn *turn)
{
    return turn_feed(
        turn,
        &(struct access){.ip = WAIT_IP, .address = WAIT_PLACE, .width = 8, .kind = ACCESS_LOAD});
}

static enum turn_phase store(struct turn *turn, unsigned i)
{
    return turn_feed(turn, &(struct access){.ip = WORK_IP + i,
                                            .address = WORK_PLACE + 64 * i,
                                            .width = 8,
                                            .kind = ACCESS_STORE});
}

/* Register 3 counts turns, 5 counts polls, the others stand still. */
static void show(struct turn *turn, uint64_t turns, uint64_t polls)
{
    struct turn_state state = {.known = (UINT64_C(1) << INTERPRETER_REGISTERS) - 1};

    state.values[3] = turns;
    state.values[5] = polls;
    turn_state(turn, &state);
}

/* Waits again, with the registers as they are; true when it is known to. */
static bool wait_again(struct turn *turn, uint64_t turns)
{
    for (unsigned i = 0; i < 20 && turn->phase != TURN_OVER; i++) {
        poll(turn);
        assert_true(turn_wants_state(turn));
        show(turn, turns, 100 + i);
    }
    return turn->phase == TURN_OVER;
}

static void a_turn_goes_from_wait_to_wait(void **state)
{
    struct wait_loop loop = loop_at(WAIT_IP);
    struct record_turn record = {0};
    struct turn turn;

    (void)state;
    turn_begin(&turn, &loop, 1);
    assert_int_equal(poll(&turn), TURN_WAITED);
    assert_true(turn_wants_state(&turn));
    show(&turn, 7, 50);
    assert_int_equal(poll(&turn), TURN_WAITED);
    assert_false(turn_wants_state(&turn));
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(store(&turn, i), TURN_RUNNING);
    assert_true(wait_again(&turn, 9));
    assert_int_equal(turn.accesses, 5);
    assert_int_equal(turn.stores, 5);
    turn_counters(&turn, &record);
    assert_int_equal(record.places[0], 3 + 1);
    assert_int_equal(record.values[0], 9);
    assert_int_equal(record.steps[0], 2);
    assert_int_equal(record.places[1], 0); /* what moves while the thread waits counts no turns */
}

static void what_was_waited_for_may_be_there_at_once(void **state)
{
    struct wait_loop loop = loop_at(WAIT_IP);
    struct turn turn;

    (void)state;
    turn_begin(&turn, &loop, 1);
    poll(&turn);
    show(&turn, 1, 0);
    store(&turn, 0);
    poll(&turn); /* once, for something that has come already: the turn goes on */
    show(&turn, 1, 0);
    store(&turn, 1);
    assert_true(wait_again(&turn, 2));
    assert_int_equal(turn.stores, 2);
    assert_int_equal(turn.accesses, 3);
}

static void who_was_interrupted_elsewhere_has_no_turn(void **state)
{
    struct wait_loop loops[2] = {loop_at(WAIT_IP)};
    struct turn turn;

    (void)state;
    turn_begin(&turn, loops, 2);
    assert_int_equal(store(&turn, 0), TURN_NONE);
    turn_begin(&turn, loops, 2);
    for (unsigned i = 0; i < 100 && turn.phase == TURN_SOUGHT; i++)
        turn_feed(&turn,
                  &(struct access){
                      .ip = WORK_IP, .address = WORK_PLACE, .width = 8, .kind = ACCESS_LOAD});
    assert_int_equal(turn.phase, TURN_NONE);
}

static void a_loop_of_many_instructions_is_no_wait(void **state)
{
    struct wait_loop loop = {0};

    (void)state;
    assert_false(wait_loop_is_known(&loop));
    for (unsigned i = 0; i < WAIT_LOOP_IPS; i++)
        wait_loop_add(&loop, WAIT_IP + i);
    wait_loop_add(&loop, WAIT_IP);
    assert_true(wait_loop_is_known(&loop));
    assert_true(wait_loop_has(&loop, WAIT_IP + WAIT_LOOP_IPS - 1));
    wait_loop_add(&loop, WORK_IP);
    assert_false(wait_loop_is_known(&loop));
    assert_false(wait_loop_has(&loop, WORK_IP));
}

/* What follows a load of 8 bytes at 0x8000: rounds of at most three accesses. */
static bool polls(const struct access *round, size_t n)
{
    struct access load = {.ip = WAIT_IP, .address = WAIT_PLACE, .width = 8, .kind = ACCESS_LOAD};
    struct polling polling = {0};

    for (unsigned i = 0; i < 200; i++)
        if (polling_feed(&polling, &load, round, n))
            return polling_is_seen(&polling);
    fail();
    return false;
}

static void one_who_stores_there_itself_does_not_poll(void **state)
{
    struct access again = {.ip = WAIT_IP, .address = WAIT_PLACE, .width = 8, .kind = ACCESS_LOAD};
    struct access store = {.ip = WAIT_IP,
                           .address = WAIT_PLACE,
                           .width = 8,
                           .kind = ACCESS_STORE,
                           .read_modify_write = true};
    struct access part = {
        .ip = WORK_IP, .address = WAIT_PLACE + 6, .width = 1, .kind = ACCESS_STORE};
    struct access beside = {
        .ip = WORK_IP, .address = WAIT_PLACE + 8, .width = 8, .kind = ACCESS_STORE};
    struct polling polling = {0};

    (void)state;
    assert_true(polls((struct access[]){again}, 1));
    /* A loop that also writes elsewhere still waits. */
    assert_true(polls((struct access[]){beside, again}, 2));
    assert_false(polls((struct access[]){store, again}, 2));
    assert_false(polls((struct access[]){part, again}, 2));
    /* It has its turn, stores there, and waits again. */
    polling_feed(&polling, &again, &store, 1);
    for (unsigned i = 0; i < 100 && !polling_feed(&polling, &again, &again, 1); i++)
        ;
    assert_true(polling_is_seen(&polling));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_goes_from_wait_to_wait),
        cmocka_unit_test(what_was_waited_for_may_be_there_at_once),
        cmocka_unit_test(who_was_interrupted_elsewhere_has_no_turn),
        cmocka_unit_test(a_loop_of_many_instructions_is_no_wait),
        cmocka_unit_test(one_who_stores_there_itself_does_not_poll),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
