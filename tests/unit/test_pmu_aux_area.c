/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The AUX area, against a list of the records that were written into it: in pieces of any size,
 * around the end of the ring, with a full area, records that are half written, space that the
 * driver passes over, pieces of which nobody told, and positions that cannot be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "pmu/aux_area.h"
#include "pmu/encode.h"
#include "sampling/random.h"
#include "support/test_seed.h"

enum { SIZE = 4096, RECORDS = 5000 };

static struct random random_state;
static uint8_t bytes[SIZE];
static struct aux_area area;

/* Addresses number the records. */
static uint64_t seen[RECORDS];
static size_t seen_count;

static int seed(void **state)
{
    (void)state;
    random_seed(&random_state, test_seed());
    return 0;
}

static void take_record(void *context, const struct spe_record *record)
{
    struct access_record access;

    (void)context;
    spe_to_record(record, SPE_SOURCE_NEOVERSE, &access);
    assert_true(access.flags & PMU_HAS_ADDRESS);
    assert_false(access.flags & (PMU_DAMAGED | PMU_AFTER_GAP));
    assert_true(seen_count < RECORDS);
    seen[seen_count++] = access.address;
}

static void begin(void)
{
    aux_begin(&area, bytes, SIZE);
    seen_count = 0;
}

static size_t encode_number(uint64_t number, uint8_t *out)
{
    struct access_record access = {.ip = 0x401000,
                                   .address = number,
                                   .flags = PMU_HAS_IP | PMU_HAS_ADDRESS | PMU_HAS_LATENCY,
                                   .latency = (uint32_t)(number % 4000),
                                   .kinds = number % 3 ? ACCESS_LOAD : ACCESS_STORE,
                                   .level = LEVEL_L2,
                                   .privilege = PRIVILEGE_USER};

    return encode_spe(SPE_SOURCE_NEOVERSE, &access, out, SPE_RECORD_LARGEST);
}

/* As the unit does: at `head` of the ring. */
static void put(uint64_t *head, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[(*head)++ % SIZE] = data[i];
}

static void any_pieces_give_all_records(void **state)
{
    uint64_t head = 0, told = 0, number = 0;

    (void)state;
    begin();
    while (number < RECORDS) {
        uint8_t record[SPE_RECORD_LARGEST];
        size_t size = encode_number(number + 1, record);

        if (head + size - area.tail <= SIZE) {
            put(&head, record, size);
            number++;
        } else {
            /* Pieces end anywhere, within records as well. */
            while (told < head) {
                uint64_t count = 1 + random_below(&random_state, head - told);

                assert_false(aux_take(&area, told, count, 0, take_record, NULL));
                told += count;
            }
            assert_int_equal(area.tail, head);
        }
    }
    aux_take(&area, told, head - told, 0, take_record, NULL);
    assert_int_equal(seen_count, RECORDS);
    for (size_t i = 0; i < RECORDS; i++)
        assert_int_equal(seen[i], i + 1);
    assert_memory_equal(&area.faults, &(struct aux_faults){0}, sizeof area.faults);
}

static void a_full_area_is_told(void **state)
{
    uint64_t head = 0, number = 1;
    uint8_t record[SPE_RECORD_LARGEST];
    size_t size, half, before;

    (void)state;
    begin();
    for (unsigned round = 1; round <= 50; round++) {
        uint64_t from = head;

        before = seen_count;
        for (unsigned i = 0; i < 10; i++) {
            size = encode_number(number++, record);
            put(&head, record, size);
        }
        /* The eleventh is written to its half, or not at all. */
        size = encode_number(RECORDS + number, record);
        half = round % 2 ? 1 + random_below(&random_state, 20) : 0;
        put(&head, record, half);
        assert_true(aux_take(&area, from, head - from,
                             PERF_AUX_FLAG_TRUNCATED | (half ? PERF_AUX_FLAG_PARTIAL : 0),
                             take_record, NULL));
        assert_int_equal(area.faults.truncated, round);
        assert_int_equal(area.faults.partial, (round + 1) / 2);
        assert_int_equal(area.faults.cut, (round + 1) / 2);
        assert_int_equal(seen_count, before + 10);
    }
    for (size_t i = 0; i < seen_count; i++)
        assert_int_equal(seen[i], i + 1);
    assert_int_equal(area.faults.gaps, 0);
}

/* The records that told of it are lost: all is taken but for what may begin or end within. */
static void untold_bytes_are_taken_and_counted(void **state)
{
    uint64_t head = 0;
    uint8_t record[SPE_RECORD_LARGEST];

    (void)state;
    begin();
    for (uint64_t number = 1; number <= 30; number++)
        put(&head, record, encode_number(number, record));
    aux_take(&area, 0, head / 3, 0, take_record, NULL);
    assert_int_equal(seen_count, 10);
    /* Of the second third nobody told. */
    aux_take(&area, head / 3 * 2, head / 3, 0, take_record, NULL);
    assert_int_equal(area.tail, head);
    assert_int_equal(area.faults.gaps, 1);
    assert_int_equal(area.faults.cut, 2);
    assert_int_equal(seen_count, 28);
    for (size_t i = 0; i < seen_count; i++)
        assert_int_equal(seen[i], i < 10 ? i + 1 : i < 19 ? i + 2 : i + 3);
    /* What was taken already is not taken twice. */
    aux_take(&area, 0, head, PERF_AUX_FLAG_COLLISION, take_record, NULL);
    assert_int_equal(seen_count, 28);
    assert_int_equal(area.faults.collisions, 1);
}

/* As the driver does where the unit must not write: padding, of which no record tells. */
static void skip_space(uint64_t *head, uint64_t count)
{
    while (count-- > 0)
        bytes[(*head)++ % SIZE] = 0;
}

/* The driver aligns where the unit begins, and leaves the end of the area when no record fits into
 * it. Nothing of that is loss. */
static void skipped_space_is_no_loss(void **state)
{
    enum { ALIGNMENT = 64, RECORD_LARGEST = 128 };
    uint64_t head = 0, number = 0;
    uint8_t record[SPE_RECORD_LARGEST];

    (void)state;
    memset(bytes, 0xff, sizeof bytes);
    begin();
    while (number + 20 < RECORDS) {
        uint64_t from;

        skip_space(&head, (ALIGNMENT - head % ALIGNMENT) % ALIGNMENT);
        if (SIZE - head % SIZE < RECORD_LARGEST)
            skip_space(&head, SIZE - head % SIZE);
        from = head;
        for (unsigned i = random_below(&random_state, 5);
             i > 0 && SIZE - head % SIZE >= RECORD_LARGEST; i--)
            put(&head, record, encode_number(++number, record));
        if (head > from)
            assert_false(aux_take(&area, from, head - from, 0, take_record, NULL));
    }
    assert_true(head > 20 * SIZE);
    assert_int_equal(seen_count, number);
    for (size_t i = 0; i < seen_count; i++)
        assert_int_equal(seen[i], i + 1);
    assert_memory_equal(&area.faults, &(struct aux_faults){0}, sizeof area.faults);

    /* No room is left: all of it is passed over, and the area is told to be full. */
    skip_space(&head, area.tail + SIZE - head);
    assert_true(aux_take(&area, head, 0, PERF_AUX_FLAG_TRUNCATED, take_record, NULL));
    assert_int_equal(area.tail, head);
    assert_memory_equal(&area.faults, &(struct aux_faults){.truncated = 1}, sizeof area.faults);
}

/* A record under way when the unit was stopped does not go on behind skipped space. */
static void skipped_space_ends_a_record(void **state)
{
    uint64_t head = 0, from;
    uint8_t record[SPE_RECORD_LARGEST];

    (void)state;
    begin();
    put(&head, record, encode_number(1, record));
    encode_number(RECORDS, record);
    put(&head, record, 12);
    aux_take(&area, 0, head, 0, take_record, NULL);
    skip_space(&head, 64 - head % 64);
    from = head;
    put(&head, record, encode_number(2, record));
    aux_take(&area, from, head - from, 0, take_record, NULL);
    assert_int_equal(seen_count, 2);
    assert_int_equal(seen[1], 2);
    assert_memory_equal(&area.faults, &(struct aux_faults){.cut = 1}, sizeof area.faults);
}

/* Of random bytes: anything may come. */
static void count_record(void *context, const struct spe_record *record)
{
    (void)record;
    ++*(uint64_t *)context;
}

static void impossible_positions_are_survived(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)random_below(&random_state, 256);
    begin();
    for (unsigned i = 0; i < 3000; i++) {
        unsigned shift = random_below(&random_state, 64);
        uint64_t records = 0;

        if (i % 10 == 0)
            area.tail = random_next(&random_state) >> shift;
        aux_take(&area, random_next(&random_state) >> shift,
                 random_next(&random_state) >> random_below(&random_state, 64),
                 random_below(&random_state, 16), count_record, &records);
        aux_take_untold(&area, area.tail + random_below(&random_state, 2 * SIZE), count_record,
                        &records);
        /* A record has two bytes at least; an area is looked at three times at most. */
        assert_true(records <= 3 * SIZE / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_pieces_give_all_records),
        cmocka_unit_test(a_full_area_is_told),
        cmocka_unit_test(untold_bytes_are_taken_and_counted),
        cmocka_unit_test(skipped_space_is_no_loss),
        cmocka_unit_test(skipped_space_ends_a_record),
        cmocka_unit_test(impossible_positions_are_survived),
    };

    return cmocka_run_group_tests(tests, seed, NULL);
}
