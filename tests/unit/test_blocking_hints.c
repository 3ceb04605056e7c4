/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints from curves whose cause is known: blocked and naive loops, streams, strides, random walks.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/traffic/blocking_hints.h"

enum { POINTS = ANALYSIS_CURVE_SIZES };

static const struct machine machine = {
    .levels = 3,
    .caches = {{.level = 1, .bytes = 32 << 10, .line_size = 64, .sharing_cpus = 1},
               {.level = 2, .bytes = 1 << 20, .line_size = 64, .sharing_cpus = 1},
               {.level = 3, .bytes = 32 << 20, .line_size = 64, .sharing_cpus = 8}},
};
static struct curve_point points[POINTS];

/* A curve that starts at `start` and falls by fall[i] where the cache reaches need[i] bytes. */
static void make_curve(double start, const double *need, const double *fall, size_t falls,
                       double interval, double beyond)
{
    double bytes[POINTS];

    analysis_curve_sizes(bytes);
    for (size_t i = 0; i < POINTS; i++) {
        double ratio = start;

        for (size_t k = 0; k < falls; k++)
            ratio -= bytes[i] >= need[k] ? fall[k] : 0;
        points[i] = (struct curve_point){
            bytes[i], {ratio, fmax(0, ratio - interval), ratio + interval}, bytes[i] >= beyond};
    }
}

static struct hint ask(double accesses, double total, double width)
{
    struct hint_question question = {.points = points,
                                     .count = POINTS,
                                     .machine = &machine,
                                     .accesses = accesses,
                                     .total_accesses = total,
                                     .line_size = 64,
                                     .width = width};

    return hint_for(&question);
}

/* The column walk of a naive product: a whole matrix of 4 MiB passes between two uses. */
static void late_reuse_wants_blocking(void **state)
{
    const double need[] = {4 << 20}, fall[] = {0.124};
    struct hint hint;

    (void)state;
    make_curve(0.125, need, fall, 1, 0.01, INFINITY);
    hint = ask(1e9, 2e9, 8);
    assert_int_equal(hint.kind, HINT_BLOCK);
    assert_int_equal(hint.level, 1); /* the L2 is the outermost that does not hold it */
    assert_in_range((uint64_t)hint.need_bytes, 4 << 20, 6 << 20);
    assert_float_equal(hint.misses.value, 0.124e9, 1e3);
    assert_true(hint.misses.lo > 0.1e9 && hint.misses.lo < hint.misses.value);
}

/* What misses the L2 by a hair, if at all, still misses the L1 by far. */
static void hardly_too_much_for_a_cache(void **state)
{
    const double need[] = {1100 << 10}, fall[] = {0.124};
    struct hint hint;

    (void)state;
    make_curve(0.125, need, fall, 1, 0.01, INFINITY);
    hint = ask(1e9, 2e9, 8);
    assert_int_equal(hint.kind, HINT_BLOCK);
    assert_int_equal(hint.level, 0);
    assert_float_equal(hint.misses.value, 0.124e9, 1e3);
}

/* Of two falls the larger one is the one to block for; a fall inside the L1 is none. */
static void the_steepest_fall_counts(void **state)
{
    const double need[] = {4 << 10, 200 << 10, 8 << 20}, fall[] = {0.5, 0.1, 0.3};
    struct hint hint;

    (void)state;
    make_curve(1, need, fall, 3, 0.001, INFINITY);
    hint = ask(1e9, 1e9, 8);
    assert_int_equal(hint.kind, HINT_BLOCK);
    assert_int_equal(hint.level, 1);
    assert_true(hint.need_bytes >= 8 << 20);
}

static void what_fits_is_left_alone(void **state)
{
    const double need[] = {16 << 10}, fall[] = {0.2};

    (void)state;
    make_curve(0.2, need, fall, 1, 0, INFINITY);
    assert_int_equal(ask(1e9, 1e9, 8).kind, HINT_NONE);
    /* Misses that nobody notices beside the rest. */
    make_curve(0.125, (const double[]){4 << 20}, (const double[]){0.12}, 1, 0, INFINITY);
    assert_int_equal(ask(1e7, 1e9, 8).kind, HINT_NONE);
    /* 1 % of all accesses is not much where the L2 has the data, and much where the memory has. */
    make_curve(0.01, (const double[]){200 << 10}, (const double[]){0.01}, 1, 0, INFINITY);
    assert_int_equal(ask(1e9, 1e9, 8).kind, HINT_NONE);
    make_curve(0.01, (const double[]){40 << 20}, (const double[]){0.01}, 1, 0, INFINITY);
    assert_int_equal(ask(1e9, 1e9, 8).kind, HINT_BLOCK);
    /* A fall within its own uncertainty. */
    make_curve(0.1, (const double[]){4 << 20}, (const double[]){0.1}, 1, 0.11, INFINITY);
    assert_int_equal(ask(1e9, 1e9, 8).kind, HINT_NONE);
}

/* 8 bytes of each line after the other: one miss in eight, whatever the cache. */
static void sequential_misses_are_a_stream(void **state)
{
    struct hint hint;

    (void)state;
    make_curve(0.125, NULL, NULL, 0, 0.01, INFINITY);
    hint = ask(1e9, 1e9, 8);
    assert_int_equal(hint.kind, HINT_STREAM);
    assert_int_equal(hint.level, 2);
    assert_float_equal(hint.misses.value, 0.125e9, 1);
    /* Whole lines at a time are one as well. */
    make_curve(1, NULL, NULL, 0, 0.01, INFINITY);
    assert_int_equal(ask(1e9, 1e9, 64).kind, HINT_STREAM);
    /* Nothing is said of the L3 when it lies beyond what was watched. */
    make_curve(0.125, NULL, NULL, 0, 0.01, 16 << 20);
    assert_int_equal(ask(1e9, 1e9, 8).level, 1);
}

/* One field of a structure, or a random element: 8 bytes of 64. */
static void sparse_lines_are_a_layout(void **state)
{
    struct hint hint;

    (void)state;
    make_curve(1, NULL, NULL, 0, 0.01, INFINITY);
    hint = ask(1e9, 1e9, 8);
    assert_int_equal(hint.kind, HINT_LAYOUT);
    assert_float_equal(hint.bytes_of_line, 8, 1e-9);
    /* Widths unknown: no claim. */
    assert_int_equal(ask(1e9, 1e9, 0).kind, HINT_NONE);
    /* Half of each line: neither. */
    make_curve(0.25, NULL, NULL, 0, 0.01, INFINITY);
    assert_int_equal(ask(1e9, 1e9, 8).kind, HINT_NONE);
}

static void nothing_known_nothing_said(void **state)
{
    (void)state;
    make_curve(0.125, NULL, NULL, 0, 0, 0);
    assert_int_equal(ask(1e9, 1e9, 8).kind, HINT_NONE);
    make_curve(0, NULL, NULL, 0, 0, INFINITY);
    assert_int_equal(ask(1e9, 1e9, 8).kind, HINT_NONE);
    assert_int_equal(ask(0, 1e9, 8).kind, HINT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_reuse_wants_blocking),
        cmocka_unit_test(hardly_too_much_for_a_cache),
        cmocka_unit_test(the_steepest_fall_counts),
        cmocka_unit_test(what_fits_is_left_alone),
        cmocka_unit_test(sequential_misses_are_a_stream),
        cmocka_unit_test(sparse_lines_are_a_layout),
        cmocka_unit_test(nothing_known_nothing_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
