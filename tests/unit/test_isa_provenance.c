/* SPDX-License-Identifier: BSD-3-Clause */
/* What addresses are made of, in loops whose chains are known by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "isa/provenance.h"

enum { TURNS = 100 };

/* Registers. */
static const uint64_t base = 1, node = 2, number = 4, value = 8, stack = 16;

static struct provenance provenance;

static const struct address_source *source_of(uint64_t ip)
{
    const struct address_source *source = provenance_of(&provenance, ip);

    assert_non_null(source);
    return source;
}

static void expect_chain(uint64_t ip, uint64_t loaded_by, uint32_t loaded)
{
    assert_int_equal(source_of(ip)->loaded, loaded);
    if (loaded > 0)
        assert_int_equal(source_of(ip)->loaded_by, loaded_by);
}

/* node = node->next; value = node->value */
static void test_list(void **state)
{
    (void)state;
    provenance_begin(&provenance);
    for (uint64_t i = 0; i < TURNS; i++) {
        provenance_load(&provenance, 0x10, node, node, 0x1000 + 4096 * i);
        provenance_load(&provenance, 0x20, node, value, 0x2008 + 4096 * i);
    }
    expect_chain(0x10, 0x10, TURNS - 1);
    expect_chain(0x20, 0x10, TURNS);
    assert_int_equal(source_of(0x10)->traced, TURNS);
}

/* value = array[numbers[i]], the base of the array read again in each turn */
static void test_indexes(void **state)
{
    (void)state;
    provenance_begin(&provenance);
    for (uint64_t i = 0; i < TURNS; i++) {
        provenance_load(&provenance, 0x10, value | stack, number, 0x1000 + 8 * i);
        provenance_load(&provenance, 0x20, stack, base, 0x9000);
        provenance_load(&provenance, 0x30, base | number, value, 0x100000 + 64 * (i * 37 % 100));
        provenance_compute(&provenance, 0, value);
    }
    /* But for the first turn, in which the base looks loaded. */
    expect_chain(0x30, 0x10, TURNS);
    expect_chain(0x10, 0, 0);
    expect_chain(0x20, 0, 0);
}

/* What is computed of a loaded value leads on, whatever happens in between. */
static void test_computed(void **state)
{
    (void)state;
    provenance_begin(&provenance);
    for (uint64_t i = 0; i < TURNS; i++) {
        provenance_load(&provenance, 0x10, node, value, 0x1000 + 4096 * i);
        provenance_compute(&provenance, value, number);
        provenance_compute(&provenance, number | base, node);
    }
    expect_chain(0x10, 0x10, TURNS - 1);
    provenance_begin(&provenance);
    for (uint64_t i = 0; i < TURNS; i++) {
        provenance_load(&provenance, 0x10, node, value, 0x1000 + 4096 * i);
        provenance_compute(&provenance, value, number);
        provenance_compute(&provenance, base, node);
    }
    expect_chain(0x10, 0, 0);
}

/* Code without optimization: node = node->next by way of the stack, and a counter there. */
static void test_spilled(void **state)
{
    (void)state;
    provenance_begin(&provenance);
    for (uint64_t i = 0; i < TURNS; i++) {
        provenance_load(&provenance, 0x10, stack, node, 0x7000);
        provenance_load(&provenance, 0x20, node, node, 0x1000 + 4096 * i);
        provenance_store(&provenance, 0x30, stack, node, 0x7000);
        provenance_load(&provenance, 0x40, stack, number, 0x7010);
        provenance_compute(&provenance, number, number);
        provenance_store(&provenance, 0x50, stack, number, 0x7010);
        provenance_load(&provenance, 0x60, base | number, value, 0x200000 + 8 * i);
    }
    expect_chain(0x20, 0x20, TURNS);
    /* The counter was loaded once, by an instruction that nothing leads to. */
    expect_chain(0x60, 0x40, TURNS);
    expect_chain(0x40, 0, 0);
    expect_chain(0x10, 0, 0);
}

/* Of two variables of four bytes side by side, what was stored to one says nothing of the other. */
static void test_neighbours(void **state)
{
    (void)state;
    provenance_begin(&provenance);
    for (uint64_t i = 0; i < TURNS; i++) {
        provenance_load(&provenance, 0x10, stack, number, 0x7004);
        provenance_load(&provenance, 0x20, base | number, value, 0x100000 + 4096 * i);
        provenance_store(&provenance, 0x30, stack, value, 0x7000);
    }
    assert_true(source_of(0x20)->loaded <= 1);
}

/* The load that most addresses came from is named, though another has its turns. */
static void test_majority(void **state)
{
    (void)state;
    provenance_begin(&provenance);
    for (uint64_t i = 0; i < TURNS; i++) {
        uint64_t by = i % 3 == 0 ? 0x10 : 0x20;

        provenance_load(&provenance, by, 0, node, 0x1000 + 4096 * i);
        provenance_load(&provenance, 0x30, node, value, 0x80000 + 512 * i);
    }
    expect_chain(0x30, 0x20, TURNS);
    assert_null(provenance_of(&provenance, 0x77));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),     cmocka_unit_test(test_indexes),
        cmocka_unit_test(test_computed), cmocka_unit_test(test_spilled),
        cmocka_unit_test(test_majority), cmocka_unit_test(test_neighbours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
