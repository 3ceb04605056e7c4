/* SPDX-License-Identifier: BSD-3-Clause */
/* How many lines were used, from how often samples saw some: against populations that are known,
 * and against Chao's estimator of the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/curves/line_richness.h"
#include "sampling/random.h"
#include "support/test_seed.h"

enum { DRAWS = 60, LINES_MAX = 20000 };

/* How often a line is used, relative to the others; all on a scale up to 1000. */
typedef uint32_t use_of_line(uint32_t line, uint32_t lines);

static uint32_t equal_use(uint32_t line, uint32_t lines)
{
    (void)line;
    (void)lines;
    return 1000;
}

/* A table in front, used again and again, and a buffer behind it. */
static uint32_t table_and_buffer(uint32_t line, uint32_t lines)
{
    return line < lines / 5 ? 1000 : 50;
}

/* Four parts, two of them alike. */
static uint32_t four_parts(uint32_t line, uint32_t lines)
{
    static const uint32_t use[] = {1000, 30, 1000, 200};

    return use[4 * (uint64_t)line / lines];
}

/* Neighbours that are used unequally often: nothing tells those apart that were not seen. */
static uint32_t scattered(uint32_t line, uint32_t lines)
{
    (void)lines;
    return line % 4 == 0 ? 1000 : 60;
}

static size_t seen_of(const uint32_t *times, uint32_t lines, uint32_t stride,
                      struct seen_line *seen)
{
    size_t count = 0;

    for (uint32_t line = 0; line < lines; line++)
        if (times[line] > 0)
            seen[count++] = (struct seen_line){1000 + (uint64_t)line * stride, times[line]};
    return count;
}

static double chao_of_all(const struct seen_line *seen, size_t count)
{
    double once = 0, twice = 0;

    for (size_t i = 0; i < count; i++) {
        once += seen[i].times == 1;
        twice += seen[i].times == 2;
    }
    return (double)count + once * (once - 1) / (2 * (twice + 1));
}

static void draw(struct random *random, use_of_line *use, uint32_t lines, uint32_t samples,
                 uint32_t *times)
{
    for (uint32_t line = 0; line < lines; line++)
        times[line] = 0;
    while (samples > 0) {
        uint32_t line = (uint32_t)random_below(random, lines);
        if (random_below(random, 1000) < use(line, lines)) {
            times[line]++;
            samples--;
        }
    }
}

static void parts_are_told_apart_and_never_too_many(void **state)
{
    static const struct {
        const char *name;
        use_of_line *use;
        uint32_t stride; /* from one line to the next: 1: no others lie between them */
        uint32_t lines, samples;
        double low, high; /* of the mean estimate, over the truth */
        double whole_max; /* the same for the estimator of the whole */
    } cases[] = {
        {"equal, few samples", equal_use, 9, 20000, 4000, 0.95, 1.05, 1.05},
        {"equal, many samples", equal_use, 9, 5000, 20000, 0.98, 1.02, 1.02},
        {"table and buffer", table_and_buffer, 9, 10000, 4800, 0.88, 1.05, 0.5},
        {"four parts", four_parts, 9, 16000, 16000, 0.82, 1.03, 0.72},
        {"scattered", scattered, 9, 8000, 8000, 0.55, 1.0, 1.0},
        {"nothing but lines used", four_parts, 1, 16000, 16000, 0.82, 1.001, 0.72},
        {"a dense table, few samples", equal_use, 1, 20000, 1000, 0.8, 1.001, 1.2},
        {"a few lines", equal_use, 9, 100, 150, 0.9, 1.05, 1.05},
    };
    static uint32_t times[LINES_MAX];
    static struct seen_line lines[LINES_MAX];
    struct random random;

    (void)state;
    random_seed(&random, test_seed());
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double parts = 0, whole = 0;

        for (int i = 0; i < DRAWS; i++) {
            draw(&random, cases[k].use, cases[k].lines, cases[k].samples, times);
            size_t seen = seen_of(times, cases[k].lines, cases[k].stride, lines);
            double likely = lines_likely_used(lines, seen);
            assert_true(likely >= (double)seen);
            parts += likely / DRAWS / cases[k].lines;
            whole += chao_of_all(lines, seen) / DRAWS / cases[k].lines;
        }
        print_message("%s: %.3f of the truth, the whole at once %.3f\n", cases[k].name, parts,
                      whole);
        if (parts < cases[k].low || parts > cases[k].high)
            fail_msg("%s: %.3f of the truth", cases[k].name, parts);
        if ((cases[k].stride > 1 && parts < whole - 0.01) || whole > cases[k].whole_max)
            fail_msg("%s: %.3f, the whole at once %.3f", cases[k].name, parts, whole);
    }
}

/* A buffer that is filled once: samples at regular times never see a line twice. */
static void a_sweep_has_no_more_lines_than_addresses(void **state)
{
    (void)state;
    enum { SEEN = 2000, APART = 7 };
    static struct seen_line seen[SEEN];

    for (uint32_t i = 0; i < SEEN; i++)
        seen[i] = (struct seen_line){(uint64_t)i * APART, 1};
    assert_float_equal(lines_likely_used(seen, SEEN) / (SEEN * APART), 1, 0.01);
}

static void little_is_no_error(void **state)
{
    (void)state;
    static const struct seen_line one[] = {{7, 1}}, often[] = {{7, UINT32_MAX}, {9, 3}};

    assert_float_equal(lines_likely_used(NULL, 0), 0, 0);
    assert_float_equal(lines_likely_used(one, 1), 1, 0);
    assert_float_equal(lines_likely_used(often, 2), 2, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_told_apart_and_never_too_many),
        cmocka_unit_test(a_sweep_has_no_more_lines_than_addresses),
        cmocka_unit_test(little_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
