/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PMU's self-test without a PMU: a stand-in makes the records that an honest unit would leave
 * of the known loop, in a ring buffer, byte for byte; then it lies in all the ways that are known
 * of hypervisors. And the ring itself, against a plain copy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "pmu/encode.h"
#include "pmu/ring.h"
#include "pmu/self_test.h"
#include "sampling/random.h"
#include "support/test_seed.h"

enum { RING_SIZE = 1 << 16, PASSES = 200, PERIOD = 1000 };

static struct random random_state;
static volatile uint64_t array[SELF_TEST_WORDS];
static uint8_t bytes[RING_SIZE];

static int seed(void **state)
{
    (void)state;
    random_seed(&random_state, test_seed());
    return 0;
}

/* What a unit may do wrong. */
struct lies {
    bool no_address, elsewhere, only_loads, silent, counts_nothing, counts_double, garbage, kernel;
};

static const struct pmu_choice pebs = {
    .unit = PMU_PEBS,
    .samplers = 2,
    .sampler = {{.kinds = ACCESS_LOAD, .accesses = 1}, {.kinds = ACCESS_STORE, .accesses = 1}},
    .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
                   PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC,
    .counts_accesses = true,
};
static const struct pmu_choice ibs = {
    .unit = PMU_IBS,
    .samplers = 1,
    .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
    .counters = 1,
    .counter = {{.kinds = ACCESS_LOAD | ACCESS_STORE, .accesses = 1}},
};

/* One sampled access of the loop, or what the lies make of it. */
static struct access_record sampled_access(const struct lies *lies)
{
    bool store = !lies->only_loads && random_below(&random_state, 3) == 2;
    uint64_t word = random_below(&random_state, SELF_TEST_WORDS / 3) * 3 + (store ? 2 : 0);
    struct access_record record = {
        .ip = 0x401000,
        .address = (uintptr_t)(array + word),
        .flags = PMU_HAS_IP | PMU_EXACT_IP | PMU_HAS_ADDRESS,
        .kinds = store ? ACCESS_STORE : ACCESS_LOAD,
        .width = 8,
        .level = LEVEL_L1,
        .translation = TRANSLATION_L1,
        .privilege = lies->kernel ? PRIVILEGE_KERNEL : PRIVILEGE_USER,
    };

    if (lies->no_address)
        record.flags &= (uint32_t)~PMU_HAS_ADDRESS;
    if (lies->elsewhere)
        record.address += UINT64_C(1) << 40;
    if (lies->kernel)
        record.ip |= UINT64_C(0xffff) << 48;
    return record;
}

/* Feeds the ring to the test, as the runtime and the doctor do. */
static void drain(struct ring *ring, const struct pmu_choice *choice, struct self_test *test)
{
    struct perf_layout layout = {.sample_type = choice->sample_type};
    struct perf_record_header header;
    const uint8_t *record;

    while (ring_next(ring, &header, &record)) {
        struct ibs_registers registers;
        struct access_record access;
        struct perf_sample sample;

        if (header.type != PERF_RECORD_SAMPLE ||
            !perf_sample_decode(&layout, record, header.size, &sample))
            continue;
        if (choice->unit == PMU_PEBS)
            perf_sample_to_record(&layout, &sample, header.misc, UNIT_PEBS, 0, &access);
        else if (!ibs_decode(sample.raw, sample.raw_size, &registers) ||
                 !ibs_to_record(&registers, NULL, &access))
            continue;
        self_test_record(test, &access);
    }
}

static void count(const struct pmu_choice *choice, const struct lies *lies, struct self_test *test)
{
    uint64_t factor = lies->counts_nothing ? 0 : lies->counts_double ? 2 : 1;

    if (choice->unit == PMU_PEBS) {
        self_test_count(test, &choice->sampler[0], test->loads * factor);
        self_test_count(test, &choice->sampler[1], test->stores * factor);
    } else {
        self_test_count(test, &choice->counter[0], (test->loads + test->stores) * factor);
    }
}

static bool try_unit(const struct pmu_choice *choice, const struct lies *lies, char *reason)
{
    struct self_test test = {.period = PERIOD};
    struct perf_layout layout = {.sample_type = choice->sample_type};
    struct ring ring = {.data = bytes, .size = RING_SIZE};
    uint64_t samples;

    self_test_run(&test, array, PASSES);
    samples = lies->silent ? 0 : (test.loads + test.stores) / PERIOD;
    /* Not at the beginning, so that records wrap. */
    ring.tail = ring.head = random_next(&random_state) >> 8 << 3;
    for (uint64_t i = 0; i < samples; i++) {
        struct access_record record = sampled_access(lies);
        uint8_t one[256];
        size_t size = choice->unit == PMU_PEBS
                          ? encode_pebs(&layout, &record, one, sizeof one)
                          : encode_ibs(&layout, 0x3ff, &record, one, sizeof one);

        assert_true(size > 0);
        if (lies->garbage)
            for (size_t k = 0; k < size; k++)
                one[k] = (uint8_t)random_next(&random_state);
        if (ring.head + size - ring.tail > RING_SIZE)
            drain(&ring, choice, &test);
        for (size_t k = 0; k < size; k++)
            bytes[(ring.head + k) & (RING_SIZE - 1)] = one[k];
        ring.head += size;
    }
    drain(&ring, choice, &test);
    count(choice, lies, &test);
    reason[0] = '\0';
    return self_test_judge(&test, choice, reason);
}

static void test_honest_units(void **state)
{
    static const struct lies none;
    char reason[SELF_TEST_REASON];

    (void)state;
    for (int round = 0; round < 50; round++) {
        if (!try_unit(&pebs, &none, reason) || !try_unit(&ibs, &none, reason))
            fail_msg("%s", reason);
    }
}

static void test_lying_units(void **state)
{
    static const struct {
        struct lies lies;
        const char *reason;
    } cases[] = {
        {{.no_address = true}, "0 samples with an address came"},
        {{.elsewhere = true}, "only 0 of"},
        {{.only_loads = true}, "loads where two in three"},
        {{.silent = true}, "0 samples with an address came, of 0"},
        {{.counts_nothing = true}, "were counted as 0"},
        {{.counts_double = true}, "were counted as"},
        {{.garbage = true}, "samples with an address came"},
        {{.kernel = true}, "0 samples with an address came, of 0"},
    };
    char reason[SELF_TEST_REASON];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int unit = 0; unit < 2; unit++) {
            assert_false(try_unit(unit ? &ibs : &pebs, &cases[i].lies, reason));
            assert_int_equal(strncmp(reason, "self-test: ", 11), 0);
            if (!strstr(reason, cases[i].reason))
                fail_msg("'%s' does not say '%s'", reason, cases[i].reason);
        }
}

/* A counter of accesses alone: interrupts, no addresses. */
static void test_overflow_unit(void **state)
{
    const struct pmu_choice choice = {.unit = PMU_OVERFLOW};
    struct self_test test = {.period = PERIOD};
    char reason[SELF_TEST_REASON];

    (void)state;
    self_test_run(&test, array, PASSES);
    test.samples = SELF_TEST_SAMPLES_LEAST;
    assert_true(self_test_judge(&test, &choice, reason));
    test.samples--;
    assert_false(self_test_judge(&test, &choice, reason));
    assert_non_null(strstr(reason, "15 interrupts"));
}

/* No more samples than the kernel allows, on any processor and with ticks of any length; and
 * enough. */
static void test_lowered_sample_rates(void **state)
{
    (void)state;
    for (uint64_t rate = 1000; rate < 80000; rate += 1000) {
        struct self_test_plan plan = self_test_plan(rate);
        double accesses = (double)plan.passes * (SELF_TEST_WORDS / 3 * 3);

        for (double per_second = 0.2e9; per_second <= 4e9; per_second += 0.2e9)
            assert_true(per_second / (double)plan.period <= (double)rate);
        /* A third of them may be missing: only loads, or only stores, are sampled. */
        assert_true(accesses / (double)plan.period >= 2 * SELF_TEST_SAMPLES_LEAST);
        assert_int_equal(plan.period % 65536, 0);
        assert_true(accesses <= 0.3e9);
    }
    assert_int_equal(self_test_plan(1).period, self_test_plan(1000).period);
    assert_int_equal(self_test_plan(0).period, self_test_plan(100000).period);
    assert_int_equal(self_test_plan(0).passes, 60);
}

/* A unit that was stopped until the next tick brought few samples: what they say still counts. */
static void test_throttled_unit(void **state)
{
    struct self_test test = {.period = PERIOD, .throttled = 1};
    char reason[SELF_TEST_REASON];

    (void)state;
    self_test_run(&test, array, PASSES);
    self_test_count(&test, &ibs.counter[0], test.loads + test.stores);
    test.samples = test.accesses = test.inside = SELF_TEST_THROTTLED_LEAST;
    test.inside_loads = 3;
    assert_true(self_test_judge(&test, &ibs, reason));
    test.throttled = 0;
    assert_false(self_test_judge(&test, &ibs, reason));
    test.throttled = 1;
    test.inside = 0;
    assert_false(self_test_judge(&test, &ibs, reason));
    test.samples = test.accesses = test.inside = SELF_TEST_THROTTLED_LEAST - 1;
    assert_false(self_test_judge(&test, &ibs, reason));
}

/* The loop does what it says, as far as memory tells: every third word is the one two before it. */
static void test_loop(void **state)
{
    struct self_test test = {0};

    (void)state;
    for (unsigned i = 0; i < SELF_TEST_WORDS; i++)
        array[i] = i;
    self_test_run(&test, array, 3);
    for (unsigned i = 0; i + 2 < SELF_TEST_WORDS; i += 3) {
        assert_int_equal(array[i], i);
        assert_int_equal(array[i + 1], i + 1);
        assert_int_equal(array[i + 2], i);
    }
    assert_int_equal(test.stores, 3 * (SELF_TEST_WORDS / 3));
    assert_int_equal(test.loads, 2 * test.stores);
    assert_int_equal(test.end - test.begin, sizeof array);
}

/* ---- the ring ---- */

static void test_ring_against_copy(void **state)
{
    enum { SMALL = 1 << 12 };

    (void)state;
    for (int round = 0; round < 2000; round++) {
        static uint8_t plain[SMALL];
        uint64_t start = random_next(&random_state) >> 8 << 3, length = 0, at = 0;
        struct ring ring = {.data = bytes, .size = SMALL, .tail = start};
        struct perf_record_header header;
        const uint8_t *record;

        while (length + 600 < SMALL) {
            uint16_t size = (uint16_t)(8 + 8 * random_below(&random_state, 70));
            uint32_t type = random_below(&random_state, 20);

            memcpy(plain + length, &type, 4);
            memcpy(plain + length + 6, &size, 2);
            for (unsigned i = 8; i < size; i++)
                plain[length + i] = (uint8_t)random_next(&random_state);
            length += size;
        }
        for (uint64_t i = 0; i < length; i++)
            bytes[(start + i) & (SMALL - 1)] = plain[i];
        ring.head = start + length;
        while (ring_next(&ring, &header, &record)) {
            assert_memory_equal(record, plain + at, header.size);
            at += header.size;
        }
        assert_int_equal(at, length);
        assert_int_equal(ring.tail, ring.head);
        assert_int_equal(ring.damaged, 0);
    }
}

static void test_ring_of_anything(void **state)
{
    (void)state;
    for (int round = 0; round < 5000; round++) {
        struct ring ring = {.data = bytes, .size = 1 << 13};
        struct perf_record_header header;
        const uint8_t *record;

        for (unsigned i = 0; i < ring.size; i++)
            bytes[i] = random_below(&random_state, 3) ? 0 : (uint8_t)random_next(&random_state);
        ring.tail = random_next(&random_state);
        ring.head = ring.tail + random_below(&random_state, 2 << 13);
        while (ring_next(&ring, &header, &record))
            assert_true(header.size >= PERF_RECORD_HEADER && header.size <= 1 << 13);
        assert_int_equal(ring.tail, ring.head);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_honest_units),      cmocka_unit_test(test_lying_units),
        cmocka_unit_test(test_overflow_unit),     cmocka_unit_test(test_lowered_sample_rates),
        cmocka_unit_test(test_throttled_unit),    cmocka_unit_test(test_loop),
        cmocka_unit_test(test_ring_against_copy), cmocka_unit_test(test_ring_of_anything),
    };

    return cmocka_run_group_tests(tests, seed, NULL);
}
