/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of a processor, on code whose time is known by hand: what it waits for, and what not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "isa/pipeline.h"
#include "sampling/random.h"

enum { TURNS = 2000, LINE = 64 };

static const struct pipeline_width width = {.instructions = 4, .accesses = 2};

static struct pipeline pipeline;

static void begin(void)
{
    memset(&pipeline, 0, sizeof pipeline);
    pipeline_begin(&pipeline, pipeline_pace_of(width), &pipeline_usual_costs);
    pipeline_time_from_here(&pipeline);
}

static const uint64_t one = 1, two = 2;

static void compute(uint64_t reads, uint64_t writes, unsigned latency)
{
    pipeline_instruction(&pipeline, false);
    pipeline_compute(&pipeline, (struct pipeline_operands){reads, writes}, latency);
    pipeline_retire(&pipeline);
}

static void load(uint64_t reads, uint64_t writes, uint64_t address)
{
    pipeline_instruction(&pipeline, false);
    pipeline_load(&pipeline, (struct pipeline_operands){reads, writes}, address, 0);
    pipeline_retire(&pipeline);
}

static void store(uint64_t reads, uint64_t address)
{
    pipeline_instruction(&pipeline, false);
    pipeline_store(&pipeline, (struct pipeline_operands){reads, 0}, address, 0);
    pipeline_retire(&pipeline);
}

static void expect_cycles(uint32_t found, double cycles)
{
    if (found < 0.97 * cycles || found > 1.03 * cycles + 20)
        fail_msg("%u cycles instead of %.0f", found, cycles);
}

static uint32_t cycles(enum pipeline_source source)
{
    return pipeline_time(&pipeline).cycles[source];
}

static void expect_near(double per_turn)
{
    expect_cycles(cycles(PIPELINE_NEAR), TURNS * per_turn);
}

/* Lines from wherever. */
static void expect_each(double held, double near, double far)
{
    expect_cycles(cycles(PIPELINE_HELD), TURNS * held);
    expect_cycles(cycles(PIPELINE_NEAR), TURNS * near);
    expect_cycles(cycles(PIPELINE_FAR), TURNS * far);
}

static void what_waits_takes_its_latency(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < TURNS; i++)
        compute(one, one, 4);
    expect_each(4, 4, 4);
    assert_int_equal(pipeline_time(&pipeline).instructions, TURNS);
    assert_int_equal(pipeline_time(&pipeline).accesses, 0);
}

static void what_does_not_wait_takes_its_room(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < TURNS; i++)
        compute(two, one, 4);
    expect_near(0.25);
    /* Two accesses a cycle, whatever else. */
    begin();
    for (int i = 0; i < TURNS; i++)
        load(two, one, 8 * (uint64_t)(i % 64));
    expect_near(0.5);
    assert_int_equal(pipeline_time(&pipeline).accesses, TURNS);
}

static void wider_processors_begin_more_at_once(void **state)
{
    const struct pipeline_width wide = {.instructions = 6, .accesses = 3};

    (void)state;
    pipeline_begin(&pipeline, pipeline_pace_of(wide), &pipeline_usual_costs);
    pipeline_time_from_here(&pipeline);
    for (int i = 0; i < TURNS; i++)
        compute(two, one, 4);
    expect_near(1 / 6.0);
    pipeline_begin(&pipeline, pipeline_pace_of(wide), &pipeline_usual_costs);
    pipeline_time_from_here(&pipeline);
    for (int i = 0; i < TURNS; i++)
        load(two, one, 8 * (uint64_t)(i % 64));
    expect_near(1 / 3.0);
}

/* Every other operation of a chain is long: 1 + 9 cycles for two. */
static void latencies_add_up(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < TURNS; i++) {
        compute(one, two, 1);
        compute(two, one, 9);
    }
    expect_near(10);
}

static uint64_t elsewhere(int i)
{
    return (uint64_t)(i * 7919 % 60000) * 5 * LINE;
}

/* A list whose elements lie anywhere: each waits for the one before it, the second word of an
 * element for the line of the first. */
static void lists_wait_for_lines(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < TURNS; i++) {
        load(one, two, elsewhere(i) + 8);
        load(one, one, elsewhere(i));
    }
    expect_each(4, 4 + 14, 4 + 350);
    assert_int_equal(pipeline_time(&pipeline).new_lines, TURNS);
}

/* The same lines by an index: as many at once as are fetched, 16, and as the way lets through. */
static void tables_wait_little(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < TURNS; i++)
        load(two, one, elsewhere(i));
    expect_each(0.5, 2, 350.0 / 16);
}

/* Memory as it was measured: a line in 27 cycles if they are scattered, 12 in sequence; a chain
 * waits 500 for each. */
static void lines_cost_what_was_measured(void **state)
{
    const struct pipeline_costs slow = {.turn = PIPELINE_CYCLE,
                                        .far_turn = PIPELINE_CYCLE,
                                        .scattered = 27 * PIPELINE_CYCLE,
                                        .streamed = 12 * PIPELINE_CYCLE,
                                        .memory = 300 * PIPELINE_CYCLE};

    (void)state;
    for (int chain = 0; chain < 2; chain++) {
        pipeline_begin(&pipeline, pipeline_pace_of(width), &slow);
        pipeline_time_from_here(&pipeline);
        for (int i = 0; i < TURNS; i++)
            load(chain ? one : two, one, elsewhere(i));
        expect_each(chain ? 4 : 0.5, chain ? 18 : 2, chain ? 304 : 27);
        assert_in_range(pipeline_time(&pipeline).scattered, TURNS - 5, TURNS);
    }
    pipeline_begin(&pipeline, pipeline_pace_of(width), &slow);
    pipeline_time_from_here(&pipeline);
    for (int i = 0; i < TURNS; i++)
        load(two, one, LINE * (uint64_t)i);
    expect_each(0.5, 2, 12);
    assert_in_range(pipeline_time(&pipeline).scattered, 0, 2);
}

static void lines_beside_used_ones_are_not_scattered(void **state)
{
    (void)state;
    begin();
    assert_true(pipeline_scattered(&pipeline, 100 * LINE));
    pipeline_warm(&pipeline, 100 * LINE + 8);
    for (uint64_t line = 98; line <= 102; line++)
        assert_int_equal(pipeline_scattered(&pipeline, line * LINE + 63),
                         line == 98 || line == 102);
}

/* And stores to them, though nothing waits for a store. */
static void scattered_stores_wait_for_the_way(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < TURNS; i++)
        store(one, elsewhere(i));
    expect_each(0.5, 2, 350.0 / 16);
}

/* Paces are finer than whole instructions a cycle: what another thread of the core leaves. */
static void a_pace_is_a_part_of_a_cycle(void **state)
{
    (void)state;
    for (uint32_t parts = 16; parts <= 60; parts += 11) {
        pipeline_begin(&pipeline, (struct pipeline_pace){.instruction = parts, .access = 30},
                       &pipeline_usual_costs);
        pipeline_time_from_here(&pipeline);
        for (int i = 0; i < TURNS; i++)
            compute(0, one, 1);
        expect_near((double)parts / PIPELINE_CYCLE);
    }
    for (uint8_t n = 1; n <= PIPELINE_WIDEST; n++) {
        const struct pipeline_width exact = {.instructions = n, .accesses = n};
        struct pipeline_width back = pipeline_width_of(pipeline_pace_of(exact));

        assert_int_equal(back.instructions, n);
        assert_int_equal(back.accesses, n);
    }
}

/* One line from afar, which takes 354 cycles, in 64 instructions: as many at once as are under way.
 */
static void wider_processors_look_further_ahead(void **state)
{
    (void)state;
    for (uint8_t instructions = 4; instructions <= 6; instructions += 2) {
        pipeline_begin(&pipeline, pipeline_pace_of((struct pipeline_width){instructions, 2}),
                       &pipeline_usual_costs);
        pipeline_time_from_here(&pipeline);
        for (int i = 0; i < TURNS; i++) {
            load(two, one, elsewhere(i) * 64);
            for (int k = 1; k < 64; k++)
                compute(two, one, 1);
        }
        expect_cycles(cycles(PIPELINE_FAR), TURNS * (instructions == 4 ? 354 / 4.0 : 354 / 8.0));
    }
}

/* Lines next to each other are there before they are needed, as fast as memory gives them. */
static void streams_are_prefetched(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < TURNS; i++)
        load(two, one, 8 * (uint64_t)i);
    expect_near(0.5);
    begin();
    for (int i = 0; i < TURNS; i++)
        load(two, one, LINE * (uint64_t)i);
    expect_each(0.5, 2, 7);
}

/* What fits into the first cache is new once. */
static void small_tables_stay(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < TURNS; i++)
        load(one, one, (uint64_t)(i * 37 % 64) * 2 * LINE);
    expect_cycles(cycles(PIPELINE_NEAR), 4.0 * TURNS + 64 * 14);
    assert_int_equal(pipeline_time(&pipeline).new_lines, 64);
}

/* A counter in memory: from store to load, and a cycle to count. */
static void loads_wait_for_stores(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < TURNS; i++) {
        load(two, one, 0);
        compute(one, one, 1);
        store(one, 0);
    }
    expect_near(5);
}

/* Where memory is renamed the counter is there at once, if it has one name; and as before, if it
 * has two. */
static void renamed_words_do_not_wait(void **state)
{
    struct pipeline_pace renames = pipeline_pace_of(width);

    (void)state;
    renames.forward = PIPELINE_CYCLE;
    for (uint32_t other = 0; other < 2; other++) {
        pipeline_begin(&pipeline, renames, &pipeline_usual_costs);
        pipeline_time_from_here(&pipeline);
        for (int i = 0; i < TURNS; i++) {
            pipeline_instruction(&pipeline, false);
            pipeline_load(&pipeline, (struct pipeline_operands){two, one}, 0, 7);
            pipeline_retire(&pipeline);
            compute(one, one, 1);
            pipeline_instruction(&pipeline, false);
            pipeline_store(&pipeline, (struct pipeline_operands){one, 0}, 0, 7 + other);
            pipeline_retire(&pipeline);
        }
        expect_near(other ? 5 : 2);
    }
}

static double branches(bool random)
{
    struct random draws;

    random_seed(&draws, 5);
    begin();
    for (int i = 0; i < TURNS; i++) {
        pipeline_instruction(&pipeline, true);
        pipeline_branch(&pipeline, 0, 0x1000, random ? random_below(&draws, 2) : i % 3 == 0);
        pipeline_retire(&pipeline);
        compute(two, one, 1);
    }
    return cycles(PIPELINE_NEAR) / (double)TURNS;
}

/* What repeats is foreseen; of what is drawn half is not, and costs 15 cycles. */
static void mispredictions_cost(void **state)
{
    double drawn = branches(true);

    (void)state;
    assert_true(branches(false) < 1);
    if (drawn < 5.5 || drawn > 9.5)
        fail_msg("%.2f", drawn);
}

/* A taken branch costs half a cycle, however wide the processor. */
static void taken_branches_cost(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < TURNS; i++) {
        for (int k = 0; k < 4; k++)
            compute(two, one, 1);
        pipeline_taken(&pipeline, 0x1000);
    }
    expect_near(1.5);
}

/* A chain of so many taken branches, over and over: cycles of each. */
static double chain_of(unsigned branches, const struct pipeline_costs *costs)
{
    pipeline_begin(&pipeline, pipeline_pace_of(width), costs);
    for (int i = 0; i < 2 * TURNS; i++) {
        if (i == TURNS)
            pipeline_time_from_here(&pipeline);
        pipeline_taken(&pipeline, 0x400000 + 16 * (uint64_t)(i % (int)branches));
    }
    pipeline_instruction(&pipeline, false);
    pipeline_retire(&pipeline);
    return cycles(PIPELINE_NEAR) / (double)TURNS;
}

/* Few branches are taken one in two cycles, more than the near table holds one in five; where what
 * else there is takes longer, that costs nothing. */
static void many_taken_branches_cost_more(void **state)
{
    struct pipeline_costs costs = pipeline_usual_costs;

    (void)state;
    costs.turn = 2 * PIPELINE_CYCLE;
    costs.far_turn = 5 * PIPELINE_CYCLE;
    assert_float_equal(chain_of(32, &costs), 2, 0.1);
    assert_float_equal(chain_of(2 * PIPELINE_TURNS, &costs), 5, 0.3);
    pipeline_begin(&pipeline, pipeline_pace_of(width), &costs);
    pipeline_time_from_here(&pipeline);
    for (int i = 0; i < TURNS; i++) {
        compute(one, one, 9);
        pipeline_taken(&pipeline, 0x1000);
    }
    expect_near(9);
}

/* Of divisions that do not wait for each other one begins every five cycles; of what takes as long
 * otherwise, as many as there is room for. */
static void divisions_share_a_divider(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < TURNS; i++)
        compute(two, one, PIPELINE_DIVISION);
    expect_near(5);
    begin();
    for (int i = 0; i < TURNS; i++)
        compute(two, one, PIPELINE_DIVISION - 1);
    expect_near(0.25);
}

static double jumps(bool random)
{
    struct random draws;

    random_seed(&draws, 5);
    begin();
    for (int i = 0; i < TURNS; i++) {
        uint32_t which = random ? random_below(&draws, 4) : (uint32_t)i % 4;

        pipeline_instruction(&pipeline, false);
        pipeline_jump(&pipeline, 0, 0x1000, 0x2000 + 64 * which);
        pipeline_retire(&pipeline);
    }
    return cycles(PIPELINE_NEAR) / (double)TURNS;
}

static void indirect_jumps_are_foreseen_if_they_repeat(void **state)
{
    (void)state;
    assert_true(jumps(false) < 1.5);
    assert_true(jumps(true) > 8);
}

/* Copies by one instruction: 32 bytes a cycle, where the lines are there. */
static void strings_stream(void **state)
{
    uint32_t before;

    (void)state;
    begin();
    for (int i = 0; i < 512; i++)
        load(two, one, 8 * (uint64_t)i);
    before = cycles(PIPELINE_NEAR);
    pipeline_instruction(&pipeline, false);
    for (int i = 0; i < TURNS; i++)
        pipeline_touch(&pipeline, 8 * (uint64_t)(i % 512), 8);
    pipeline_retire(&pipeline);
    expect_cycles(cycles(PIPELINE_NEAR) - before, TURNS * 0.25);
    assert_int_equal(pipeline_time(&pipeline).instructions, 512 + 1);
}

/* Lines that were used before time began are there, and a branch that repeats is foreseen. */
static void what_came_before_takes_no_time(void **state)
{
    (void)state;
    pipeline_begin(&pipeline, pipeline_pace_of(width), &pipeline_usual_costs);
    for (int i = 0; i < 64; i++) {
        pipeline_warm(&pipeline, (uint64_t)i * 2 * LINE);
        pipeline_branch(&pipeline, 0, 0x1000, false);
    }
    assert_int_equal(cycles(PIPELINE_NEAR), 0);
    assert_int_equal(pipeline_time(&pipeline).accesses, 0);
    pipeline_time_from_here(&pipeline);
    for (int i = 0; i < TURNS; i++)
        load(one, one, (uint64_t)(i * 37 % 64) * 2 * LINE);
    expect_near(4);
    assert_int_equal(pipeline_time(&pipeline).accesses, TURNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_takes_its_latency),
        cmocka_unit_test(what_does_not_wait_takes_its_room),
        cmocka_unit_test(wider_processors_begin_more_at_once),
        cmocka_unit_test(a_pace_is_a_part_of_a_cycle),
        cmocka_unit_test(latencies_add_up),
        cmocka_unit_test(lists_wait_for_lines),
        cmocka_unit_test(tables_wait_little),
        cmocka_unit_test(lines_cost_what_was_measured),
        cmocka_unit_test(lines_beside_used_ones_are_not_scattered),
        cmocka_unit_test(scattered_stores_wait_for_the_way),
        cmocka_unit_test(wider_processors_look_further_ahead),
        cmocka_unit_test(streams_are_prefetched),
        cmocka_unit_test(small_tables_stay),
        cmocka_unit_test(loads_wait_for_stores),
        cmocka_unit_test(renamed_words_do_not_wait),
        cmocka_unit_test(mispredictions_cost),
        cmocka_unit_test(taken_branches_cost),
        cmocka_unit_test(many_taken_branches_cost_more),
        cmocka_unit_test(divisions_share_a_divider),
        cmocka_unit_test(indirect_jumps_are_foreseen_if_they_repeat),
        cmocka_unit_test(strings_stream),
        cmocka_unit_test(what_came_before_takes_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
