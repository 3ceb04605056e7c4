/* SPDX-License-Identifier: BSD-3-Clause */
/* What is estimated together: bursts in cells, watches and open probes in strata; and what a watch
 * on a word tells of its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/internal.h"

enum { BURSTS = 45, LINE = 64 };

/* 20 bursts of one piece of code, 20 of another, 5 of a third: too few for a cell. */
static void bursts_of_one_code_are_a_cell(void **state)
{
    (void)state;
    struct analysed_burst bursts[BURSTS] = {0};
    struct analysed_probe probes[BURSTS] = {0};
    struct analysis analysis = {
        .bursts = bursts, .burst_count = BURSTS, .probes = probes, .probe_count = BURSTS};

    for (uint32_t i = 0; i < BURSTS; i++) {
        uint32_t code = i < 40 ? i % 2 : 2;

        bursts[i] = (struct analysed_burst){.first_probe = i, .probe_count = 1, .touches = 100};
        probes[i] = (struct analysed_probe){
            .last_ip = 0x401000 + 0x10000 * code + 16 * i, .burst = i, .count = 100};
    }
    analysis_divide(&analysis);
    assert_int_equal(analysis.cell_count, 3);
    for (uint32_t i = 0; i < BURSTS; i++)
        for (uint32_t k = 0; k < BURSTS; k++) {
            bool same = i < 40 && k < 40 ? i % 2 == k % 2 : (i < 40) == (k < 40);
            assert_int_equal(bursts[i].cell == bursts[k].cell, same);
        }
    assert_int_equal(analysis.cells[bursts[0].cell].bursts, 20);
    free(analysis.cells);
}

/* Enough watches: a stratum of its own; else the code around, else all others. */
static void strata_by_instruction_then_code(void **state)
{
    (void)state;
    static const struct {
        uint64_t ip;
        unsigned watches;
        uint32_t stratum;
    } code[] = {{0x401000, 8, 0}, {0x402000, 7, 1}, {0x402010, 3, 1}, {0x900000, 4, 2},
                {0xa00000, 3, 2}, {0xb00000, 0, 2}, {0x402020, 0, 1}};
    enum { KINDS = sizeof code / sizeof *code };
    struct record_sample records[25];
    struct analysed_watch watches[25];
    struct analysed_probe probes[KINDS];
    struct analysed_burst burst = {.weight = 1};
    struct probe_count count = {probe_code(true, 4, 3), 10};
    struct analysis analysis = {.bursts = &burst,
                                .burst_count = 1,
                                .counts = &count,
                                .probes = probes,
                                .probe_count = KINDS,
                                .watches = watches,
                                .watch_count = 25};
    size_t n = 0;

    for (size_t k = 0; k < KINDS; k++) {
        probes[k] =
            (struct analysed_probe){.last_ip = code[k].ip, .count = 10, .open = 10, .entries = 1};
        for (unsigned i = 0; i < code[k].watches; i++) {
            records[n] = (struct record_sample){.ip = code[k].ip};
            watches[n] = (struct analysed_watch){.record = &records[n],
                                                 .open = {.whole = true, .accessed = true}};
            n++;
        }
    }
    assert_int_equal(n, 25);
    analysis_stratify(&analysis);
    assert_int_equal(analysis.stratum_count, 3);
    for (size_t k = 0; k < KINDS; k++)
        assert_int_equal(analysis.stratum_of[k], code[k].stratum);
    for (size_t g = 0; g < 3; g++) {
        const struct stratum *stratum = &analysis.strata[g];

        assert_int_equal(stratum->count, g == 0 ? 8 : g == 1 ? 10 : 7);
        assert_float_equal(stratum->distance, probe_distance_low(4), 1e-9);
        for (size_t i = stratum->first; i < stratum->first + stratum->count; i++)
            assert_int_equal(watches[analysis.by_stratum[i]].stratum, g);
    }
    free(analysis.strata);
    free(analysis.stratum_of);
    free(analysis.by_stratum);
}

static struct open_watch observe(struct record_sample record, enum watch_end reason, unsigned flags,
                                 bool *tells)
{
    struct analysis analysis = {
        .line_size = LINE, .run_line_size = LINE, .accessed_visits_known = true};
    struct record_watch_end end = {
        .reason = (uint8_t)reason, .flags = (uint8_t)flags, .words_after = 2};
    struct analysed_watch watch = {.record = &record, .end = reason ? &end : NULL};

    record.watch_length = 8;
    *tells = analysis_observe(&analysis, &watch);
    return watch.open;
}

static void words_tell_of_lines(void **state)
{
    (void)state;
    const struct record_sample accessed = {.address = 0x1000,
                                           .watch_mode = WATCH_ACCESSED,
                                           .watch_address = 0x1000,
                                           .words_accessed = 2};
    struct record_sample other = accessed, whole = accessed, outside = accessed;
    unsigned ends = WATCH_END_VISIT_KNOWN | WATCH_END_VISIT_ENDS_HERE;
    bool tells;

    other.watch_mode = outside.watch_mode = WATCH_OTHER;
    other.watch_address = 0x1020;
    outside.watch_address = 0x1040;
    whole.words_accessed = 8;
    struct open_watch open = observe(accessed, WATCH_REUSED, ends, &tells);
    assert_true(tells && open.accessed && !open.whole && open.end == OPEN_USED);
    assert_float_equal(open.design, 2, 0);
    assert_float_equal(open.multiplicity, 1, 0);
    /* The visit ends in another word: whoever watches that counts it. */
    assert_float_equal(observe(accessed, WATCH_REUSED, WATCH_END_VISIT_KNOWN, &tells).multiplicity,
                       0, 0);
    /* Nobody looked ahead: words are taken as independent. */
    assert_float_equal(observe(accessed, WATCH_REUSED, 0, &tells).multiplicity, 1, 0);
    /* Six other words, of which two were touched at once by the sampled access. */
    open = observe(other, WATCH_REUSED, ends, &tells);
    assert_true(tells && !open.accessed);
    assert_float_equal(open.multiplicity, 3, 1e-6);
    open = observe(whole, WATCH_REUSED, ends, &tells);
    assert_true(tells && open.whole);
    assert_float_equal(open.design, 1, 0);
    (void)observe(outside, WATCH_REUSED, ends, &tells);
    assert_false(tells);
    assert_int_equal(observe(accessed, WATCH_EVICTED, 0, &tells).end, OPEN_CENSORED);
    assert_int_equal(observe(accessed, WATCH_PROCESS_ENDED, 0, &tells).end, OPEN_NEVER);
    assert_int_equal(observe(accessed, 0, 0, &tells).end, OPEN_NEVER);
    assert_int_equal(observe(accessed, WATCH_FREED, 0, &tells).end, OPEN_CENSORED);
    other.object_size = 1 << 20;
    assert_int_equal(observe(other, WATCH_FREED, 0, &tells).end, OPEN_NEVER);
}

/* A pursuit sees the whole line and counts accesses, at each line size for itself. */
static void pursuits_tell_of_whole_lines(void **state)
{
    struct record_sample record = {.address = 0x1000, .watch_mode = WATCH_PURSUED};
    struct record_watch_end end = {.reason = WATCH_PURSUIT_ENDED,
                                   .pursued = 9000,
                                   .used = {REUSE_TIME_NONE, REUSE_TIME_NONE, 5000, 4500}};
    struct analysed_watch watch = {.record = &record, .end = &end};

    (void)state;
    for (unsigned size = 0; size < PROBE_LINE_SIZES; size++) {
        struct analysis analysis = {
            .line_size = probe_line_size(LINE, size), .run_line_size = LINE, .size_index = size};

        assert_true(analysis_observe(&analysis, &watch));
        assert_true(watch.open.accessed && watch.open.whole);
        assert_float_equal(watch.open.design, 1, 0);
        assert_int_equal(watch.open.end, size < 2 ? OPEN_CENSORED : OPEN_USED);
        assert_float_equal(watch.open.multiplicity, size >= 2, 0);
        assert_float_equal(analysis_pursued_accesses(&analysis, &watch),
                           size < 2    ? 9000
                           : size == 2 ? 5000
                                       : 4500,
                           0);
        watch.elsewhere = true;
        assert_true(analysis_observe(&analysis, &watch));
        assert_int_equal(watch.open.end, OPEN_CENSORED);
        watch.elsewhere = false;
    }
    watch.end = NULL;
    assert_true(analysis_pursued_accesses(&(struct analysis){.line_size = LINE}, &watch) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_of_one_code_are_a_cell),
        cmocka_unit_test(strata_by_instruction_then_code),
        cmocka_unit_test(words_tell_of_lines),
        cmocka_unit_test(pursuits_tell_of_whole_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
