/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of structures, from places that are made up: this file stands in for the analysis. The
 * oracle tries every size of an element, and counts its bytes one offset at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/findings/layout.h"
#include "sampling/random.h"
#include "support/test_seed.h"

/* As layout.h has it: so many distances tell an element, and steps as long as that none. */
enum { DISTANCES_MIN = 8, STEP_MAX = 512, UNROLLED_MAX = 16 };

enum { PROBES_MAX = 400, BURSTS_MAX = 40, INSTRUCTIONS = 12, ELEMENT_MAX = 200, REPEATED = 1 };

static struct {
    struct analysed_probe probes[PROBES_MAX];
    uint32_t members[PROBES_MAX];
    size_t count;
    double draws[BURSTS_MAX]; /* in the run REPEATED */
} run;

const struct analysed_probe *analysis_probe(const struct analysis *analysis, size_t index,
                                            size_t *profile)
{
    (void)analysis;
    if (profile != NULL)
        *profile = 0;
    return &run.probes[index];
}

double analysis_resampled_draws(const struct analysis *analysis, uint32_t number, uint32_t burst)
{
    (void)analysis;
    return number == ANALYSIS_AS_OBSERVED ? 1 : run.draws[burst];
}

static void start_run(void)
{
    memset(&run, 0, sizeof run);
}

static void add_probe(uint32_t burst, uint64_t ip, uint64_t place, uint8_t width)
{
    assert_true(run.count < PROBES_MAX && burst < BURSTS_MAX);
    run.members[run.count] = (uint32_t)run.count;
    run.probes[run.count++] =
        (struct analysed_probe){.burst = burst, .ip = ip, .place = place, .width = width};
}

/* Evidence of steps of that many bytes, as even as they can be; 0: of none. */
static struct access_evidence with_steps(double bytes)
{
    return (struct access_evidence){.visits = 1,
                                    .far_steps = bytes > 0,
                                    .even_steps = bytes > 0,
                                    .stride_bytes = bytes,
                                    .element_bytes = 77,
                                    .element_used = 77};
}

static struct access_evidence layout_in(uint32_t number, double step)
{
    const struct model model = {.profile_count = 0};
    struct access_evidence evidence = with_steps(step);
    struct element_places *places = element_places_of(
        &model, (struct subset){.members = run.members, .member_count = run.count});

    layout_of_accesses(places, number, &evidence);
    element_places_free(places);
    return evidence;
}

static bool counts(uint32_t number, size_t probe)
{
    return number == ANALYSIS_AS_OBSERVED || run.draws[run.probes[probe].burst] > 0;
}

/* The first probe of the same instruction that counts. */
static size_t first_of(uint32_t number, size_t probe)
{
    size_t first = 0;

    while (!counts(number, first) || run.probes[first].ip != run.probes[probe].ip)
        first++;
    return first;
}

static bool divides_all(uint32_t number, uint64_t size, double step)
{
    if (step > 0 && step < STEP_MAX && (uint64_t)step % size != 0)
        return false;
    for (size_t i = 0; i < run.count; i++)
        if (counts(number, i)) {
            const struct analysed_probe *first = &run.probes[first_of(number, i)];

            if (run.probes[i].place % size != first->place % size)
                return false;
        }
    return true;
}

/* Takes a part of the element, if all of it is like that part: loops that are unrolled. */
static void take_one_turn(const uint8_t *used, uint64_t *element)
{
    for (uint64_t turns = UNROLLED_MAX; turns > 1; turns--) {
        bool same = *element % turns == 0;

        for (uint64_t offset = 0; offset < *element && same; offset++)
            same = used[offset] == used[(offset + *element / turns) % *element];
        if (same) {
            *element /= turns;
            return;
        }
    }
}

static struct access_evidence expected_in(uint32_t number, double step)
{
    struct access_evidence expected = {.element_bytes = 0};
    uint8_t used[PROBES_MAX * ELEMENT_MAX] = {0};
    size_t distances = 0;
    uint64_t farthest = 0;
    bool steps = step > 0 && step < STEP_MAX;

    for (size_t i = 0; i < run.count; i++)
        if (counts(number, i)) {
            uint64_t a = run.probes[i].place, b = run.probes[first_of(number, i)].place;
            uint64_t distance = a > b ? a - b : b - a;

            distances += distance > 0;
            farthest = distance > farthest ? distance : farthest;
        }
    if (distances < DISTANCES_MIN && !steps)
        return expected;
    expected.element_bytes = farthest > (uint64_t)step ? farthest : (uint64_t)step;
    while (!divides_all(number, expected.element_bytes, step))
        expected.element_bytes--;
    /* Of two instructions at one offset the first one's width counts. */
    for (size_t i = run.count; i-- > 0;)
        if (counts(number, i) && first_of(number, i) == i)
            used[run.probes[i].place % expected.element_bytes] = run.probes[i].width;
    take_one_turn(used, &expected.element_bytes);
    for (uint64_t offset = 0; offset < expected.element_bytes; offset++)
        expected.element_used += used[offset];
    return expected;
}

static void check(uint32_t number, double step)
{
    struct access_evidence found = layout_in(number, step), expected = expected_in(number, step);

    assert_int_equal(found.element_bytes, expected.element_bytes);
    assert_int_equal(found.element_used, expected.element_used);
}

/* An array of structures of some size, a few instructions on their members, some bursts. */
static void make_up(struct random *random)
{
    uint32_t element = 1 + random_below(random, ELEMENT_MAX);
    uint32_t elements = 1 + random_below(random, 100);
    uint32_t probes = random_below(random, PROBES_MAX / 2), burst = 0;
    uint32_t instructions = 1 + random_below(random, INSTRUCTIONS);
    uint32_t offsets[INSTRUCTIONS];

    start_run();
    for (uint32_t i = 0; i < INSTRUCTIONS; i++)
        offsets[i] = random_below(random, element);
    for (uint32_t b = 0; b < BURSTS_MAX; b++)
        run.draws[b] = random_below(random, 3);
    for (uint32_t i = 0; i < probes; i++) {
        uint32_t instruction = random_below(random, instructions);

        burst += burst + 1 < BURSTS_MAX && random_below(random, 4) == 0;
        add_probe(burst, 0x1000 + instruction,
                  offsets[instruction] + (uint64_t)element * random_below(random, elements),
                  (uint8_t)(1u << random_below(random, 4)));
    }
}

static void layouts_are_those_of_brute_force(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, test_seed());
    for (int i = 0; i < 3000; i++) {
        make_up(&random);
        check(ANALYSIS_AS_OBSERVED, 0);
        check(REPEATED, 0);
        check(ANALYSIS_AS_OBSERVED, 1 + random_below(&random, 2 * STEP_MAX));
    }
}

/* Two turns of a loop over structures of 160 bytes, of which it uses 8 at 24; a copy by four
 * vectors of 64 bytes. */
static void turns_of_an_unrolled_loop_are_told_from_a_structure(void **state)
{
    struct access_evidence evidence;

    (void)state;
    start_run();
    for (uint64_t i = 0; i < 12; i++) {
        add_probe((uint32_t)i, 1, 24 + 320 * i, 8);
        add_probe((uint32_t)i, 2, 184 + 320 * i, 8);
    }
    evidence = layout_in(ANALYSIS_AS_OBSERVED, 320);
    assert_int_equal(evidence.element_bytes, 160);
    assert_int_equal(evidence.element_used, 8);
    start_run();
    for (uint64_t i = 0; i < 12; i++)
        for (uint64_t vector = 0; vector < 4; vector++)
            add_probe((uint32_t)i, vector, 64 * vector + 256 * i, 64);
    evidence = layout_in(ANALYSIS_AS_OBSERVED, 256);
    assert_int_equal(evidence.element_bytes, 64);
    assert_int_equal(evidence.element_used, 64);
}

/* Members at 0 and 16 of structures of 48 bytes, and one that two instructions use. */
static void members_of_a_structure_are_found(void **state)
{
    struct access_evidence evidence;

    (void)state;
    start_run();
    for (uint64_t i = 0; i < 10; i++) {
        add_probe((uint32_t)i, 1, 48 * (7 * i % 11), 8);
        add_probe((uint32_t)i, 2, 16 + 48 * (5 * i % 11), 4);
        add_probe((uint32_t)i, 3, 16 + 48 * (3 * i % 11), 4);
    }
    evidence = layout_in(ANALYSIS_AS_OBSERVED, 0);
    assert_int_equal(evidence.element_bytes, 48);
    assert_int_equal(evidence.element_used, 12);
}

static void few_places_tell_nothing(void **state)
{
    (void)state;
    start_run();
    for (uint64_t i = 0; i < DISTANCES_MIN; i++)
        add_probe(0, 1, 24 * i, 8);
    assert_int_equal(layout_in(ANALYSIS_AS_OBSERVED, 0).element_bytes, 0);
    assert_int_equal(layout_in(ANALYSIS_AS_OBSERVED, 0).element_used, 0);
    /* The first place again is no distance. */
    add_probe(0, 1, 0, 8);
    assert_int_equal(layout_in(ANALYSIS_AS_OBSERVED, 0).element_bytes, 0);
    add_probe(0, 1, 24 * DISTANCES_MIN, 8);
    assert_int_equal(layout_in(ANALYSIS_AS_OBSERVED, 0).element_bytes, 24);
    assert_int_equal(layout_in(ANALYSIS_AS_OBSERVED, 0).element_used, 8);
    /* In a run without that burst there is none at all. */
    assert_int_equal(layout_in(REPEATED, 0).element_bytes, 0);
}

static void short_even_steps_tell_by_themselves(void **state)
{
    (void)state;
    start_run();
    add_probe(0, 1, 8, 4);
    assert_int_equal(layout_in(ANALYSIS_AS_OBSERVED, 40).element_bytes, 40);
    assert_int_equal(layout_in(ANALYSIS_AS_OBSERVED, 40).element_used, 4);
    assert_int_equal(layout_in(ANALYSIS_AS_OBSERVED, STEP_MAX - 1).element_bytes, STEP_MAX - 1);
    assert_int_equal(layout_in(ANALYSIS_AS_OBSERVED, STEP_MAX).element_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_those_of_brute_force),
        cmocka_unit_test(members_of_a_structure_are_found),
        cmocka_unit_test(turns_of_an_unrolled_loop_are_told_from_a_structure),
        cmocka_unit_test(few_places_tell_nothing),
        cmocka_unit_test(short_even_steps_tell_by_themselves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
