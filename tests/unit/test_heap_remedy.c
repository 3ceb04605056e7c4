/* SPDX-License-Identifier: BSD-3-Clause */
/* What reuse-run --try takes, and that nonsense is refused with its reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "heap_remedy.h"

static void places_are_read(void **state)
{
    struct heap_remedies remedies;

    (void)state;
    assert_null(
        heap_remedies_read("align:app+0x113f=64,align:libc++.so.1+0xAB+0x1=4096", &remedies));
    assert_int_equal(remedies.count, 2);
    assert_string_equal(remedies.items[0].module, "app");
    assert_int_equal(remedies.items[0].address, 0x113f);
    assert_int_equal(remedies.items[0].alignment, 64);
    assert_string_equal(remedies.items[1].module, "libc++.so.1+0xAB");
    assert_int_equal(remedies.items[1].address, 1);
    assert_int_equal(remedies.items[1].alignment, 4096);
    assert_null(heap_remedies_read("align:a=b+0xffffffffffffffff=16", &remedies));
    assert_string_equal(remedies.items[0].module, "a=b");
    assert_true(remedies.items[0].address == UINT64_MAX);
}

static void huge_pages_are_read(void **state)
{
    struct heap_remedies remedies;

    (void)state;
    assert_null(heap_remedies_read("hugepages:app+0x113f,align:app+0x2=64,hugepages:a=b+0x1=+0x9",
                                   &remedies));
    assert_int_equal(remedies.count, 3);
    assert_true(remedies.items[0].huge_pages);
    assert_string_equal(remedies.items[0].module, "app");
    assert_int_equal(remedies.items[0].address, 0x113f);
    assert_int_equal(remedies.items[0].alignment, 2 * 1024 * 1024);
    assert_false(remedies.items[1].huge_pages);
    assert_int_equal(remedies.items[1].alignment, 64);
    assert_string_equal(remedies.items[2].module, "a=b+0x1=");
    assert_int_equal(remedies.items[2].address, 9);
}

static void check_refused(const char *text, const char *reason)
{
    struct heap_remedies remedies;
    const char *wrong = heap_remedies_read(text, &remedies);

    assert_non_null(wrong);
    assert_non_null(strstr(wrong, reason));
}

static void nonsense_is_refused(void **state)
{
    char many[17 * sizeof(",align:app+0x1=64")] = "align:app+0x1=64", longest[400] = "align:";

    (void)state;
    check_refused("", "what can be tried");
    check_refused("align", "what can be tried");
    check_refused("pack:app+0x1=64", "what can be tried");
    check_refused("align:app+0x1=64,", "what can be tried");
    check_refused("align:", "=BYTES is missing");
    check_refused("align:app+0x1", "=BYTES is missing");
    check_refused("align:app+0x1=", "power of two");
    check_refused("align:app+0x1=8", "power of two");
    check_refused("align:app+0x1=8192", "power of two");
    check_refused("align:app+0x1=0x40", "power of two");
    check_refused("align:app+0x1=18446744073709551680", "power of two");
    check_refused("align:=64", "only heap blocks");
    check_refused("align:+0x1=64", "only heap blocks");
    check_refused("align:counter=64", "only heap blocks");
    check_refused("align:app+0x=64", "only heap blocks");
    check_refused("align:app+0xg=64", "only heap blocks");
    check_refused("align:app+0x11111111111111111=64", "only heap blocks");
    check_refused("align:lib/app+0x1=64", "only heap blocks");
    memset(longest + 6, 'a', 256);
    strcat(longest, "+0x1=64");
    check_refused(longest, "only heap blocks");
    for (int i = 1; i < 17; i++)
        strcat(many, ",align:app+0x1=64");
    check_refused(many, "at most 16 places");
    check_refused("hugepages", "what can be tried");
    check_refused("hugepages:", "huge pages can be tried for heap blocks alone");
    check_refused("hugepages:table", "huge pages can be tried for heap blocks alone");
    check_refused("hugepages:app+0x12=64", "huge pages can be tried for heap blocks alone");
    check_refused("hugepages:lib/app+0x1", "huge pages can be tried for heap blocks alone");
    check_refused("hugepages:+0x1", "huge pages can be tried for heap blocks alone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_read),
        cmocka_unit_test(huge_pages_are_read),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
