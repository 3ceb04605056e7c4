/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/odometer.h"

#include <stddef.h>

#include "signal_safe.h"

void followed_begin(struct followed_odometer *followed, const struct odometer *odometer)
{
    followed->odometer = odometer;
    followed->arrivals = 0;
    followed->test_count = 0;
}

void followed_arrival(struct followed_odometer *followed, uint64_t value, uint64_t accesses)
{
    if (followed->arrivals == FOLLOWED_ARRIVALS)
        return;
    followed->value[followed->arrivals] = value;
    followed->accesses[followed->arrivals] = accesses;
    followed->arrivals++;
}

void followed_condition(struct followed_odometer *followed, uint64_t ip, int64_t outcome)
{
    unsigned visit = followed->arrivals - 1; /* wraps before the first arrival */

    if (followed->arrivals == 0 || followed->arrivals == FOLLOWED_ARRIVALS)
        return;
    for (unsigned i = 0; i < followed->test_count; i++) {
        struct followed_test *test = &followed->tests[i];

        if (test->ip != ip)
            continue;
        if (test->seen == visit)
            test->outcome[test->seen++] = outcome;
        return;
    }
    if (visit == 0 && followed->test_count < FOLLOWED_TESTS)
        followed->tests[followed->test_count++] =
            (struct followed_test){.ip = ip, .seen = 1, .outcome = {outcome}};
}

bool followed_is_steady(const struct followed_odometer *followed)
{
    if (followed->arrivals < 2)
        return false;
    for (unsigned i = 1; i < followed->arrivals; i++)
        if (odometer_visits(followed->odometer, followed->value[i - 1], followed->value[i]) != 1)
            return false;
    return true;
}

double followed_accesses_per_visit(const struct followed_odometer *followed)
{
    unsigned last = followed->arrivals - 1;

    if (followed->arrivals < 2)
        return 0;
    return (double)(followed->accesses[last] - followed->accesses[0]) / last;
}

double followed_visits_left(const struct followed_odometer *followed, uint64_t *ip, int64_t *step)
{
    double left = 0;

    *ip = 0;
    *step = 0;

    for (unsigned i = 0; i < followed->test_count; i++) {
        const struct followed_test *test = &followed->tests[i];
        int64_t change = (int64_t)((uint64_t)test->outcome[1] - (uint64_t)test->outcome[0]);
        int64_t last = test->outcome[FOLLOWED_ARRIVALS - 2];
        double visits;

        if (test->seen < FOLLOWED_ARRIVALS - 1 || change == 0 ||
            (int64_t)((uint64_t)last - (uint64_t)test->outcome[1]) != change)
            continue;
        /* The test of the visit under way came out as `last`; it reaches zero so much later. */
        visits = -(double)last / (double)change;
        if (visits < 1 || (left > 0 && visits >= left))
            continue;
        left = visits;
        *ip = test->ip;
        *step = change;
    }
    return left;
}
