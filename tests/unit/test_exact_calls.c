/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack of calls as accesses show it, against one that knows what happens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reuse/exact_calls.h"
#include "sampling/random.h"
#include "support/test_seed.h"

enum { DEPTH_MAX = 200 };

static const uint64_t stack_low = 0x10000000, stack_high = 0x10800000, other_stack = 0x20000000;

struct frame {
    uint64_t slot;
    uint32_t node;
    uint32_t bytes; /* of the frame: where it calls from is fixed */
};

/* Calls, returns, jumps out of many frames, and handlers on another stack, at random. */
static void agrees_with_a_stack(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    struct random random;
    random_seed(&random, seed);
    struct exact_calls calls = {.stack_low = stack_low, .stack_high = stack_high};
    struct frame frames[DEPTH_MAX] = {{.slot = stack_high - 64, .bytes = 16}};
    unsigned depth = 0, own_depth = 0; /* frames above own_depth are on the other stack */
    bool left = false;                 /* a jump: known from the next call on */
    for (int step = 0; step < 200000; step++) {
        unsigned what = random_below(&random, 20);
        if (what < 9 && depth + 1 < DEPTH_MAX) {
            bool switches = own_depth != 0 && depth == own_depth;
            uint64_t from = switches ? other_stack : frames[depth].slot - frames[depth].bytes;
            depth++;
            frames[depth] =
                (struct frame){from, frames[depth - 1].node, 8 * (1 + random_below(&random, 50))};
            exact_calls_call(&calls, frames[depth].slot);
            left = false;
        } else if (what < 16 && depth > 0 && !left) {
            exact_calls_return(&calls, frames[depth].slot);
            depth--;
            if (depth <= own_depth)
                own_depth = 0;
        } else if (what == 16 && depth > 1) {
            depth = random_below(&random, depth);
            if (depth <= own_depth)
                own_depth = 0;
            left = true;
        } else if (what == 17 && !left) {
            frames[depth].node = 1 + random_below(&random, 1000);
            exact_calls_enter(&calls, frames[depth].node);
        } else if (what == 18 && own_depth == 0 && depth > 0 && !left) {
            own_depth = depth; /* a signal: the next call is on the other stack */
        }
        if (!left)
            assert_int_equal(exact_calls_node(&calls), frames[depth].node);
    }
    exact_calls_destroy(&calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
