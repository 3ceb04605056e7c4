/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of paths, beside those of their frames looked up one by one; and what they take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "objects/context_tree.h"
#include "output/paths.h"
#include "recording/tape.h"
#include "sampling/random.h"
#include "unwinding/attribution.h"

enum { CAPACITY = 1 << 20, STEPS = 2000, ABOVE = 5 };

_Atomic(enum tape_mode) tape_mode;
__thread bool tape_inside;
uint64_t tape_pass(enum tape_tag item, uint64_t value)
{
    (void)item;
    return value;
}

static struct context_tree *tree;
static unsigned lookups;
static struct paths paths;

size_t attribution_frames(ucontext_t *context, uint64_t frames[UNWIND_FRAMES_MAX])
{
    (void)context;
    for (size_t i = 0; i < ABOVE; i++)
        frames[i] = 0x1000 + i;
    return ABOVE;
}

uint32_t attribution_path(const uint64_t *frames, size_t n)
{
    lookups += (unsigned)n;
    return context_tree_intern(tree, frames, n);
}

uint32_t attribution_path_on(uint32_t path, uint64_t return_address)
{
    lookups++;
    return context_tree_child(tree, path, return_address);
}

/* Calls are so many of ten events; some of the frames are hidden. */
static void walk(unsigned calls_of_ten, uint64_t seed)
{
    struct random random;

    random_seed(&random, seed);
    paths_begin(&paths, NULL);
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t frame =
            random_below(&random, 8) == 0 ? CALL_PATH_HIDDEN : 0x2000 + random_below(&random, 3);

        call_path_add(&paths.calls, i, random_below(&random, 10) < calls_of_ten ? frame : 0);
    }
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t frames[CALL_PATH_FRAMES];
        uint32_t number = paths_at(&paths, i);

        assert_int_equal(number,
                         context_tree_intern(tree, frames, call_path_frames(&paths.calls, frames)));
    }
}

static void a_path_has_the_number_of_its_frames(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++)
        walk(3 + seed % 5, seed);
}

static void there_was_room(void **state)
{
    (void)state;
    assert_int_equal(context_tree_overflows(tree), 0);
}

static void a_call_takes_one_lookup(void **state)
{
    (void)state;
    memset(&paths, 0, sizeof paths);
    lookups = 0;
    paths_begin(&paths, NULL);
    for (unsigned i = 0; i < 20; i++)
        call_path_add(&paths.calls, i, 0x3000 + i);
    for (unsigned i = 0; i < 20; i++)
        paths_at(&paths, i);
    assert_int_equal(lookups, ABOVE + 20);
    /* Known from then on, to later bursts as well. */
    paths_rewind(&paths);
    for (unsigned i = 0; i < 20; i++)
        paths_at(&paths, i);
    assert_int_equal(lookups, ABOVE + 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_has_the_number_of_its_frames),
        cmocka_unit_test(a_call_takes_one_lookup),
        cmocka_unit_test(there_was_room),
    };

    void *memory = mmap(NULL, context_tree_size(CAPACITY), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    tree = context_tree_create(memory, CAPACITY, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
