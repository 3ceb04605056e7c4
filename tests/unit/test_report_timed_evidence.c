/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the lines of a place come from, by loads that are made up: this file stands in for the
 * analysis and for the profile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/findings/timed_evidence.h"
#include "report/model/model.h"

enum { BURSTS = 3 };

static const struct analysed_probe probes[] = {
    {.burst = 0, .ip = 0x10}, {.burst = 0, .ip = 0x10}, {.burst = 0, .ip = 0x20},
    {.burst = 1, .ip = 0x10}, {.burst = 2, .ip = 0x10},
};

static struct record_burst bursts[BURSTS] = {{.burst_id = 1}, {.burst_id = 2}, {.burst_id = 3}};

const struct analysed_probe *analysis_probe(const struct analysis *analysis, size_t index,
                                            size_t *profile)
{
    (void)analysis;
    if (profile != NULL)
        *profile = 0;
    return &probes[index];
}

const struct record_burst *analysis_probe_burst(const struct analysis *analysis, size_t index)
{
    (void)analysis;
    return &bursts[probes[index].burst];
}

/* Burst 1: two instructions; burst 2: none; burst 3: the first one. */
const struct record_timed_loads *profile_timed_loads(const struct profile *profile,
                                                     uint64_t burst_id)
{
    static struct record_timed_loads *records[BURSTS + 1];
    const struct timed_loads of[BURSTS + 1][2] = {
        [1] = {{.ip = 0x10, .timed = 8, .from_memory = 6},
               {.ip = 0x20, .timed = 4, .from_memory = 0}},
        [3] = {{.ip = 0x30, .timed = 9}, {.ip = 0x10, .timed = 2, .from_memory = 2}}};

    (void)profile;
    if (of[burst_id][0].ip == 0)
        return NULL;
    if (records[burst_id] == NULL) {
        records[burst_id] = calloc(1, sizeof(struct record_timed_loads) + sizeof of[burst_id]);
        assert_non_null(records[burst_id]);
        records[burst_id]->count = 2;
        for (unsigned i = 0; i < 2; i++)
            records[burst_id]->loads[i] = of[burst_id][i];
    }
    return records[burst_id];
}

static struct timed_evidence evidence_of(uint32_t *members, size_t count)
{
    const struct profile *profiles[] = {NULL};
    struct model model = {.profiles = profiles, .profile_count = 1};

    return timed_evidence_of(&model, (struct subset){.members = members, .member_count = count});
}

static void loads_count_once(void **state)
{
    uint32_t first[] = {0, 1, 3, 4}, both[] = {0, 1, 2, 3, 4}, none[] = {3};
    struct timed_evidence evidence = evidence_of(first, 4);

    (void)state;
    assert_int_equal(evidence.bursts, 2);
    assert_float_equal(evidence.timed, 10, 0);
    assert_float_equal(evidence.from_memory, 8, 0);
    evidence = evidence_of(both, 5);
    assert_int_equal(evidence.bursts, 2);
    assert_float_equal(evidence.timed, 14, 0);
    assert_float_equal(evidence.from_memory, 8, 0);
    evidence = evidence_of(none, 1);
    assert_int_equal(evidence.bursts, 0);
    assert_float_equal(timed_evidence_least(&evidence), 0, 0);
}

/* The ends of Wilson's interval for 10 of 10 and 10 of 20 trials (Newcombe, Statistics in Medicine
 * 17, 1998, formula 3). */
static void bursts_are_the_trials(void **state)
{
    const struct timed_evidence all = {10, 300, 300}, half = {20, 600, 300};

    (void)state;
    assert_float_equal(timed_evidence_least(&all), 0.7225, 1e-4);
    assert_float_equal(timed_evidence_least(&half), 0.2993, 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_count_once),
        cmocka_unit_test(bursts_are_the_trials),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
