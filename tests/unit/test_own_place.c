/* SPDX-License-Identifier: BSD-3-Clause */
/* Places for memory of our own, against what the kernel does with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "own/own_place.h"

static char *map(void *where, size_t bytes)
{
    char *memory = mmap(where, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_true(memory != MAP_FAILED);
    return memory;
}

static void everybody_gets_another(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), sizes[] = {1, page, page + 1, 40 * page, 7};
    uintptr_t free_from = 0;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uintptr_t place = (uintptr_t)own_place(sizes[i]);

        assert_int_equal(place % page, 0);
        assert_true(place >= free_from);
        free_from = place + sizes[i];
    }
}

static void the_kernel_agrees(void **state)
{
    enum { BYTES = 1 << 20 };
    void *place = own_place(BYTES);

    (void)state;
    assert_ptr_equal(map(place, BYTES), place);
}

/* The gap is the highest that is free, which the kernel would choose. */
static void gaps_of_the_target_stay_free(void **state)
{
    enum { BYTES = 64 << 20, GAP = 16 << 20 };
    char *area = map(NULL, BYTES), *gap = area + GAP, *ours;

    (void)state;
    assert_int_equal(munmap(gap, GAP), 0);
    ours = map(own_place(GAP), GAP);
    assert_true(ours + GAP <= gap || ours >= gap + GAP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_gets_another),
        cmocka_unit_test(the_kernel_agrees),
        cmocka_unit_test(gaps_of_the_target_stay_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
