/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sampled accesses added up by what they have in common: sums against a plain walk over all of
 * them, whichever way the table filled up and was emptied; and the classes of latencies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sampling/random.h"
#include "sampling/served.h"
#include "support/test_seed.h"

enum { ACCESSES = 20000, WRITTEN_MAX = 4 * ACCESSES };

static struct random random_state;
static struct served_table table;

/* What went in, and what came out. */
static struct {
    struct access_record access;
    struct served_object object;
    uint64_t weight;
} given[ACCESSES];
static struct record_served written[WRITTEN_MAX];
static size_t written_count;

static int seed(void **state)
{
    (void)state;
    random_seed(&random_state, test_seed());
    return 0;
}

static void write_out(void)
{
    assert_true(written_count + table.used <= WRITTEN_MAX);
    memcpy(written + written_count, table.cell, table.used * sizeof table.cell[0]);
    written_count += table.used;
    served_clear(&table);
}

/* Few values of each field, so that many accesses are alike and many are not. */
static void draw(size_t i, unsigned variety)
{
    struct access_record *access = &given[i].access;
    unsigned chance = (unsigned)random_below(&random_state, 8);

    memset(access, 0, sizeof *access);
    access->flags = PMU_HAS_ADDRESS;
    if (chance != 0) {
        access->flags |= PMU_HAS_IP;
        access->ip = 0x401000 + 4 * random_below(&random_state, variety);
    }
    if (random_below(&random_state, 2)) {
        access->flags |= PMU_HAS_LATENCY;
        access->latency = 1u << random_below(&random_state, 12);
        access->latency += (uint32_t)random_below(&random_state, access->latency);
    }
    if (random_below(&random_state, 5) == 0)
        access->flags |= PMU_REMOTE;
    if (random_below(&random_state, 5) == 0)
        access->flags |= PMU_MODIFIED_ELSEWHERE;
    access->level = (uint8_t)random_below(&random_state, 4);
    access->translation = (uint8_t)random_below(&random_state, 2);
    access->kinds = (uint8_t)(1 + random_below(&random_state, 3));
    access->address = 0x600000 + random_below(&random_state, 3 * SERVED_GLOBAL_BYTES);
    given[i].object.kind = (uint8_t)(random_below(&random_state, 2) ? OBJECT_HEAP : OBJECT_GLOBAL);
    given[i].object.reference = (uint32_t)(1 + random_below(&random_state, variety));
    given[i].weight = 1 + random_below(&random_state, 1u << 30);
}

static void give_all(unsigned variety, unsigned write_every)
{
    written_count = 0;
    served_clear(&table);
    for (size_t i = 0; i < ACCESSES; i++) {
        draw(i, variety);
        if (!served_add(&table, &given[i].access, given[i].object, given[i].weight)) {
            assert_int_equal(table.used, SERVED_CELLS);
            write_out();
            assert_true(served_add(&table, &given[i].access, given[i].object, given[i].weight));
        }
        if (write_every && i % write_every == write_every - 1)
            write_out();
    }
    write_out();
}

/* Whether the access belongs to the record, said in other words than the table's. */
static bool belongs(size_t i, const struct record_served *record)
{
    const struct access_record *access = &given[i].access;
    bool latency = access->flags & PMU_HAS_LATENCY, global = given[i].object.kind == OBJECT_GLOBAL;

    if (record->ip != (access->flags & PMU_HAS_IP ? access->ip : 0) ||
        record->object_kind != given[i].object.kind ||
        record->object_reference != given[i].object.reference || record->level != access->level ||
        record->translation != access->translation || record->kind != access->kinds)
        return false;
    if (!(record->flags & SERVED_LATENCY) != !latency ||
        !(record->flags & SERVED_REMOTE) != !(access->flags & PMU_REMOTE) ||
        !(record->flags & SERVED_MODIFIED_ELSEWHERE) != !(access->flags & PMU_MODIFIED_ELSEWHERE))
        return false;
    if (latency && record->latency_class != served_latency_class(access->latency))
        return false;
    return !global || record->address_low >> 20 == access->address >> 20;
}

struct sums {
    uint64_t samples, weight, latency, low, high;
};

/* Equal records of the file, added up, against the accesses that belong to them. */
static void check_record(const struct record_served *record)
{
    struct sums out = {.low = UINT64_MAX}, in = {.low = UINT64_MAX};
    size_t like = SIZE_MAX;

    for (size_t i = 0; i < ACCESSES; i++) {
        const struct access_record *access = &given[i].access;

        if (!belongs(i, record))
            continue;
        like = i;
        in.samples++;
        in.weight += given[i].weight;
        in.latency += access->flags & PMU_HAS_LATENCY ? access->latency : 0;
        in.low = access->address < in.low ? access->address : in.low;
        in.high = access->address > in.high ? access->address : in.high;
    }
    assert_int_not_equal(like, SIZE_MAX);
    for (size_t k = 0; k < written_count; k++) {
        const struct record_served *other = &written[k];

        if (!belongs(like, other))
            continue;
        out.samples += other->samples;
        out.weight += other->weight;
        out.latency += other->latency;
        out.low = other->address_low < out.low ? other->address_low : out.low;
        out.high = other->address_high > out.high ? other->address_high : out.high;
    }
    if (record->object_kind != OBJECT_GLOBAL)
        in.low = in.high = 0;
    assert_memory_equal(&out, &in, sizeof in);
}

static void check(unsigned variety, unsigned write_every)
{
    uint64_t samples = 0;

    give_all(variety, write_every);
    for (size_t k = 0; k < written_count; k++)
        samples += written[k].samples;
    assert_int_equal(samples, ACCESSES);
    for (unsigned i = 0; i < 300; i++)
        check_record(&written[random_below(&random_state, written_count)]);
}

static void sums_are_those_of_all_accesses(void **state)
{
    (void)state;
    check(2, 0);
    check(2, 100);
}

static void a_full_table_loses_nothing(void **state)
{
    (void)state;
    check(40, 0);
    assert_true(written_count > SERVED_CELLS);
    check(1000000, 0);
}

static void nothing_changes_when_it_is_full(void **state)
{
    static struct served_table before;
    struct access_record access = {.flags = PMU_HAS_IP | PMU_HAS_ADDRESS, .kinds = ACCESS_LOAD};
    struct served_object object = {.kind = OBJECT_HEAP, .reference = 1};

    (void)state;
    served_clear(&table);
    for (access.ip = 0; access.ip < SERVED_CELLS; access.ip++)
        assert_true(served_add(&table, &access, object, 1));
    before = table;
    assert_false(served_add(&table, &access, object, 1));
    assert_memory_equal(&table, &before, sizeof table);
    /* What is alike still goes in. */
    access.ip = 7;
    assert_true(served_add(&table, &access, object, 1));
}

static void classes_are_narrow_and_ascend(void **state)
{
    uint64_t first = 0;
    unsigned previous = 0;

    (void)state;
    for (uint64_t cycles = 0; cycles <= 1 << 20; cycles++) {
        unsigned class = served_latency_class((uint32_t)cycles);

        if (class != previous) {
            assert_int_equal(class, previous + 1);
            previous = class;
            first = cycles;
        }
        assert_true(cycles == first || 4 * cycles < 5 * first);
    }
    assert_int_equal(served_latency_class(0), 1);
    assert_int_equal(served_latency_class(7), 8);
    assert_int_equal(served_latency_class(8), 9);
    assert_int_equal(served_latency_class(1024), 1 + 8 + 7 * 4);
    assert_int_equal(served_latency_class(UINT32_MAX), 124);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_all_accesses),
        cmocka_unit_test(a_full_table_loses_nothing),
        cmocka_unit_test(nothing_changes_when_it_is_full),
        cmocka_unit_test(classes_are_narrow_and_ascend),
    };

    return cmocka_run_group_tests(tests, seed, NULL);
}
