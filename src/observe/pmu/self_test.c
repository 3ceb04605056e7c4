/* SPDX-License-Identifier: BSD-3-Clause */
/* See self_test.h. Signal-safe. */
#include "pmu/self_test.h"

#include "pmu/reason.h"

#include "signal_safe.h"

enum { WORDS_OF_PASS = 3, LOADS_OF_PASS = 2 };

struct self_test_plan self_test_plan(uint64_t samples_per_second)
{
    enum {
        USUAL_RATE = 80 * 1000, /* 80 samples a tick, with the shortest ticks */
        RATE_LEAST = 1000,      /* one a tick: the kernel never allows less */
        SAMPLES = 32,
        MULTIPLE = 65536, /* of what every unit rounds to */
        ACCESSES_OF_PASS = SELF_TEST_WORDS / WORDS_OF_PASS * WORDS_OF_PASS,
    };
    const uint64_t accesses_per_second = UINT64_C(4000000000); /* no processor makes more */
    struct self_test_plan plan = {.period = 4000, .passes = 60};
    uint64_t rate = samples_per_second > RATE_LEAST ? samples_per_second : RATE_LEAST;

    if (samples_per_second == 0 || samples_per_second >= USUAL_RATE)
        return plan;
    /* Three in five of what is allowed. */
    plan.period = accesses_per_second / 3 * 5 / rate;
    plan.period = (plan.period + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
    plan.passes = (unsigned)(SAMPLES * plan.period / ACCESSES_OF_PASS + 1);
    return plan;
}

void self_test_run(struct self_test *test, volatile uint64_t *array, unsigned passes)
{
    uint64_t rounds = SELF_TEST_WORDS / WORDS_OF_PASS;

    test->begin = (uintptr_t)array;
    test->end = test->begin + SELF_TEST_WORDS * sizeof array[0];
    test->loads += passes * rounds * LOADS_OF_PASS;
    test->stores += passes * rounds;
    for (unsigned pass = 0; pass < passes; pass++) {
#if defined __x86_64__
        /* So written that no compiler option adds an access of its own. */
        volatile uint64_t *at = array;
        uint64_t left = rounds, first, second;

        __asm__ volatile("1:\n\t"
                         "movq (%0), %2\n\t"
                         "movq 8(%0), %3\n\t"
                         "movq %2, 16(%0)\n\t"
                         "addq $24, %0\n\t"
                         "decq %1\n\t"
                         "jnz 1b"
                         : "+r"(at), "+r"(left), "=&r"(first), "=&r"(second)
                         :
                         : "memory", "cc");
#else
        for (uint64_t i = 0; i < rounds * WORDS_OF_PASS; i += WORDS_OF_PASS) {
            uint64_t first = array[i];

            (void)array[i + 1];
            array[i + 2] = first;
        }
#endif
    }
}

void self_test_record(struct self_test *test, const struct access_record *record)
{
    if (record->privilege == PRIVILEGE_KERNEL || record->privilege == PRIVILEGE_HYPERVISOR)
        return;
    test->samples++;
    if (record->flags & PMU_DAMAGED) {
        test->damaged++;
        return;
    }
    if (record->kinds == 0 || !(record->flags & PMU_HAS_ADDRESS))
        return;
    test->accesses++;
    if (record->address < test->begin || record->address >= test->end)
        return;
    test->inside++;
    if (record->kinds & ACCESS_LOAD)
        test->inside_loads++;
}

void self_test_unreadable(struct self_test *test, uint64_t count)
{
    test->samples += count;
    test->damaged += count;
}

void self_test_count(struct self_test *test, const struct pmu_event *event, uint64_t count)
{
    uint64_t accesses = count * event->accesses;

    test->counted = true;
    if (event->kinds == ACCESS_LOAD)
        test->counted_loads += accesses;
    else if (event->kinds == ACCESS_STORE)
        test->counted_stores += accesses;
    else
        test->counted_both += accesses;
}

/* ---- reasons ---- */

static bool fail(char *reason, const char *before, uint64_t number, const char *between,
                 uint64_t other, const char *after)
{
    reason[0] = '\0';
    reason_append(reason, SELF_TEST_REASON, "self-test: ");
    reason_append(reason, SELF_TEST_REASON, before);
    reason_append_number(reason, SELF_TEST_REASON, number);
    reason_append(reason, SELF_TEST_REASON, between);
    reason_append_number(reason, SELF_TEST_REASON, other);
    reason_append(reason, SELF_TEST_REASON, after);
    return false;
}

/* Within `percent` of what was done, and a little for what surrounds the loop. */
static bool near(uint64_t counted, uint64_t done, unsigned percent)
{
    enum { AROUND = 2000 };
    uint64_t slack = done / 100 * percent + AROUND;

    return counted + slack >= done && counted <= done + slack;
}

static bool judge_counts(const struct self_test *test, const struct pmu_choice *choice,
                         char *reason)
{
    enum { RETIRED_PERCENT = 5, SPECULATIVE_PERCENT = 40 };
    unsigned percent = choice->unit == PMU_PEBS ? RETIRED_PERCENT : SPECULATIVE_PERCENT;
    uint64_t counted = test->counted_loads + test->counted_stores + test->counted_both;
    bool apart = test->counted_both == 0;

    if (!test->counted)
        return true;
    if (apart && !near(test->counted_loads, test->loads, percent))
        return fail(reason, "", test->loads, " loads of a known loop were counted as ",
                    test->counted_loads, "");
    if (apart && !near(test->counted_stores, test->stores, percent))
        return fail(reason, "", test->stores, " stores of a known loop were counted as ",
                    test->counted_stores, "");
    if (!near(counted, test->loads + test->stores, percent))
        return fail(reason, "", test->loads + test->stores,
                    " accesses of a known loop were counted as ", counted, "");
    return true;
}

/* |loads / accesses - expected| against five standard deviations and a bias of a tenth, squared so
 * that no root is needed. */
static bool mix_is_right(const struct self_test *test)
{
    double n = (double)test->inside, share = (double)test->inside_loads / n;
    double expected = (double)test->loads / (double)(test->loads + test->stores);
    double off = share > expected ? share - expected : expected - share;

    off -= 0.1;
    return off <= 0 || off * off <= 25 * expected * (1 - expected) / n;
}

static bool judge_samples(const struct self_test *test, const struct pmu_choice *choice,
                          char *reason)
{
    uint64_t expected = test->period ? (test->loads + test->stores) / test->period : 0;
    uint64_t least = SELF_TEST_SAMPLES_LEAST;

    if (test->throttled > 0) {
        expected = 0;
        least = SELF_TEST_THROTTLED_LEAST;
    }
    if (choice->unit == PMU_OVERFLOW)
        return test->samples >= least ||
               fail(reason, "only ", test->samples, " interrupts came where about ", expected,
                    " were to be expected");
    if (test->accesses < least || 2 * test->accesses < expected)
        return fail(reason, "", test->accesses, " samples with an address came, of ", test->samples,
                    " in all, from a known loop");
    if (10 * test->inside < 9 * test->accesses)
        return fail(reason, "only ", test->inside, " of ", test->accesses,
                    " sampled addresses lie in the array that was swept");
    if (!mix_is_right(test))
        return fail(reason, "", test->inside_loads, " of ", test->inside,
                    " samples are loads where two in three should be");
    return true;
}

bool self_test_judge(const struct self_test *test, const struct pmu_choice *choice, char *reason)
{
    return judge_counts(test, choice, reason) && judge_samples(test, choice, reason);
}
