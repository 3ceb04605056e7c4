/* SPDX-License-Identifier: BSD-3-Clause */
/* Bursts against brute force: next uses, distances, groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/format.h"
#include "support/burst_oracle.h"

static void check_described(uint32_t touch, uint32_t line_size)
{
    struct burst_probe probe = oracle_probe(touch, line_size);
    struct record_sample sample = {0};
    const struct access *access = &oracle.stream[probe.index];

    burst_describe(oracle.burst, &probe, &sample);
    assert_int_equal(sample.ip, access->ip);
    assert_int_equal(sample.kind, access->kind);
    assert_int_equal(sample.address, probe.address);
    assert_int_equal(sample.width, probe.width);
    assert_int_equal(!!(sample.flags & SAMPLE_STRADDLES), probe.straddles);
    assert_int_equal(sample.accesses_ahead, oracle.count - 1 - probe.index);
    assert_int_equal(sample.lines_ahead, oracle.uses[touch].distance + 1);
    if (oracle.uses[touch].next == 0) {
        assert_int_equal(sample.reuse_ip, 0);
        assert_int_equal(sample.reuse_time[line_size_index(line_size)], REUSE_TIME_NONE);
    } else {
        uint32_t next = oracle.touches[oracle.uses[touch].next].access;

        assert_int_equal(sample.reuse_ip, oracle.stream[next].ip);
        assert_int_equal(sample.reuse_time[line_size_index(line_size)], next - probe.index);
    }
}

static void uses_and_distances_are_exact(void **state)
{
    static const uint32_t lengths[] = {1, 2, 3, 64, 65, 700, 2047, 2048, 2049, 4095, 4096};
    struct random random;

    (void)state;
    for (uint64_t seed = 1; seed <= 66; seed++) {
        uint32_t line_size = 32u << seed % 8;

        random_seed(&random, seed);
        oracle_make_stream(&random, lengths[seed % 11], 2 + random_below(&random, 60), seed % 3);
        oracle_feed(&random, line_size, false);
        for (uint32_t i = 0; i < oracle.probe_count; i++)
            check_described(i, line_size);
    }
}

/* The first later access that touches a line that the probe's bytes are in, at any size. */
static uint32_t brute_time(const struct burst_probe *probe, uint32_t line)
{
    for (uint32_t i = probe->index + 1; i < oracle.count; i++)
        if (oracle.stream[i].address / line <= (probe->address + probe->width - 1) / line &&
            probe->address / line <= (oracle.stream[i].address + oracle.stream[i].width - 1) / line)
            return i - probe->index;
    return REUSE_TIME_NONE;
}

static void reuse_times_hold_at_every_line_size(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 3);
    for (int round = 0; round < 8; round++) {
        oracle_make_stream(&random, BURST_ACCESSES, 40, true);
        oracle_feed(&random, 64, false);
        for (int i = 0; i < 300; i++) {
            struct burst_probe probe = burst_draw(oracle.burst, &random);
            struct record_sample sample = {0};

            burst_describe(oracle.burst, &probe, &sample);
            for (uint32_t line = LINE_SIZE_MIN; line <= LINE_SIZE_MAX; line *= 2)
                assert_int_equal(sample.reuse_time[line_size_index(line)],
                                 brute_time(&probe, line));
        }
    }
}

/*
 * An access to two lines touches the lower one first: between two such accesses in a row there is
 * one other line for each of them, as between any other uses.
 */
static void an_access_to_two_lines_counts_as_two_touches(void **state)
{
    static const struct brute_use expected[] = {{2, 1}, {3, 1}, {4, 1}, {0, 1}, {0, 0}};
    struct random random;

    (void)state;
    random_seed(&random, 1);
    oracle.count = 3;
    for (uint32_t i = 0; i < 2; i++)
        oracle.stream[i] =
            (struct access){.ip = 1, .address = 0x1000030, .width = 32, .kind = ACCESS_LOAD};
    oracle.stream[2] =
        (struct access){.ip = 2, .address = 0x1000000, .width = 8, .kind = ACCESS_LOAD};
    oracle_feed(&random, 64, false);
    assert_int_equal(oracle.probe_count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(oracle.uses[i].next, expected[i].next);
        assert_int_equal(oracle.uses[i].distance, expected[i].distance);
        check_described(i, 64);
    }
}

static void an_empty_burst_has_nothing(void **state)
{
    unsigned char out[16];
    struct record_burst record = {.flags = 0xff};
    struct burst_marker marker;

    (void)state;
    burst_begin(oracle.burst, 64, true);
    assert_int_equal(burst_close(oracle.burst, &oracle_host), 0);
    assert_int_equal(burst_open(oracle.burst), 0);
    assert_true(burst_encode(oracle.burst, &record, out, sizeof out));
    assert_int_equal(record.groups, 0);
    assert_int_equal(record.accesses, 0);
    assert_int_equal(record.probe_size, 0);
    assert_false(burst_marker_find(oracle.burst, 0, 0, 8, &marker));
}

static void no_more_is_taken_than_needed(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 1);
    oracle_make_stream(&random, BURST_ACCESSES, 4, false);
    burst_begin_after(oracle.burst, 64, false, &oracle.stream[0]);
    assert_int_equal(burst_feed(oracle.burst, oracle.stream, BURST_ACCESSES), BURST_ACCESSES - 1);
    assert_int_equal(burst_feed(oracle.burst, oracle.stream, 5), 0);
    assert_int_equal(burst_count(oracle.burst), BURST_ACCESSES);
    assert_memory_equal(burst_access(oracle.burst, 0), &oracle.stream[0], sizeof *oracle.stream);
    assert_memory_equal(burst_access(oracle.burst, 1), &oracle.stream[0], sizeof *oracle.stream);
}

/* ---- groups ---- */

static unsigned char tail[PROFILE_RECORD_MAX];
static struct probe_group groups[BRUTE_TOUCHES];
static struct probe_count group_counts[BRUTE_TOUCHES * PROBE_LINE_SIZES];
static size_t first_count[BRUTE_TOUCHES], sizes[BRUTE_TOUCHES][PROBE_LINE_SIZES];
static uint32_t group_count;

/* What the burst writes, read again. */
static void write_and_read(struct record_burst *record)
{
    static unsigned char payload[sizeof *record + PROFILE_RECORD_MAX];
    struct probe_decoder decoder;
    size_t at = 0;

    assert_true(burst_encode(oracle.burst, record, tail, sizeof tail));
    memcpy(payload, record, sizeof *record);
    memcpy(payload + offsetof(struct record_burst, tail), tail, record->probe_size);
    probe_decoder_begin(&decoder, (const struct record_burst *)(const void *)payload);
    for (group_count = 0; probe_decode(&decoder, &groups[group_count], group_counts + at,
                                       PROBE_COUNTS_MAX, sizes[group_count]);
         group_count++) {
        first_count[group_count] = at;
        for (unsigned s = 0; s < decoder.line_sizes; s++)
            at += sizes[group_count][s];
    }
    assert_false(decoder.damaged);
    assert_int_equal(group_count, record->groups);
}

static uint64_t sum_of_groups(void)
{
    uint64_t sum = 0;

    for (uint32_t g = 0; g < group_count; g++)
        sum += groups[g].path_id * 1000 + groups[g].ip;
    return sum;
}

static bool belongs(const struct probe_group *group, uint32_t touch, uint32_t line_size)
{
    struct burst_probe probe = oracle_probe(touch, line_size);
    const struct access *access = &oracle.stream[probe.index];
    struct burst_object object;

    oracle_identify(NULL, probe.address, &object);
    return group->ip == access->ip && group->kind == access->kind &&
           group->reuse_ip ==
               (oracle.uses[touch].next
                    ? oracle.stream[oracle.touches[oracle.uses[touch].next].access].ip
                    : 0) &&
           group->path_id == oracle_path(probe.index) &&
           group->object_reference == object.reference && group->object_kind == object.kind &&
           group->tracked_log2 == object.tracked_log2;
}

static uint16_t code_of(uint32_t touch)
{
    uint32_t end =
        oracle.uses[touch].next ? oracle.touches[oracle.uses[touch].next].access : oracle.count - 1;

    return probe_code(oracle.uses[touch].next == 0, probe_distance_bin(oracle.uses[touch].distance),
                      probe_time_bin(end - oracle.touches[touch].access));
}

/* Takes one probe of that code off the counts at a line size; false: there is none left. */
static bool take(uint32_t group, unsigned size, uint16_t code)
{
    struct probe_count *counts = group_counts + first_count[group];

    for (unsigned s = 0; s < size; s++)
        counts += sizes[group][s];
    for (size_t i = 0; i < sizes[group][size]; i++) {
        assert_true(i == 0 || counts[i].code > counts[i - 1].code);
        if (counts[i].code == code && counts[i].count > 0) {
            counts[i].count--;
            return true;
        }
    }
    return false;
}

/* The place and width are those of a probe of the group. */
static bool is_place(const struct probe_group *group, uint32_t touch, uint32_t line_size)
{
    struct burst_probe probe = oracle_probe(touch, line_size);
    struct burst_object object;

    oracle_identify(NULL, probe.address, &object);
    return belongs(group, touch, line_size) && group->place == probe.address - object.base &&
           group->width == probe.width;
}

static uint32_t group_of[BRUTE_TOUCHES]; /* of the touches of the run's size */

/* Each probe is in exactly one group, and nothing else is. */
static void check_groups(uint32_t line_size)
{
    for (uint32_t i = 0; i < oracle.probe_count; i++) {
        uint32_t found = group_count;

        for (uint32_t g = 0; g < group_count; g++)
            if (belongs(&groups[g], i, line_size)) {
                assert_int_equal(found, group_count);
                found = g;
            }
        assert_true(found < group_count);
        assert_true(take(found, 0, code_of(i)));
        group_of[i] = found;
    }
    for (uint32_t g = 0; g < group_count; g++) {
        bool placed = false;

        for (uint32_t i = 0; i < oracle.probe_count; i++)
            placed |= group_of[i] == g && is_place(&groups[g], i, line_size);
        assert_true(placed);
    }
}

static void nothing_is_left(unsigned line_sizes)
{
    for (uint32_t g = 0; g < group_count; g++) {
        const struct probe_count *counts = group_counts + first_count[g];

        for (unsigned s = 0; s < line_sizes; s++)
            for (size_t i = 0; i < sizes[g][s]; i++)
                assert_int_equal((counts++)->count, 0);
    }
}

/* At another line size: the group is that of the lowest touch of the run's size within. */
static void check_other_size(unsigned size, uint32_t line_size)
{
    static struct brute_touch run[BRUTE_TOUCHES];
    uint32_t other = probe_line_size(line_size, size);

    memcpy(run, oracle.touches, sizeof run);
    oracle_find_all(other);
    for (uint32_t i = 0, lowest = 0; i < oracle.probe_count; i++) {
        struct burst_probe part = oracle_probe(i, other);

        lowest = 0;
        while (run[lowest].access != part.index || part.address >= run[lowest].line + line_size)
            lowest++;
        assert_true(take(group_of[lowest], size, code_of(i)));
    }
}

static void groups_hold_every_probe_once(void **state)
{
    static const uint32_t lengths[] = {1, 5, 300, 1000, 3000, 4096};
    struct random random;

    (void)state;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        uint32_t line_size = seed % 4 ? 64 : 32u << seed / 4 % 8;
        struct record_burst record = {0};
        bool wide = seed % 2;

        random_seed(&random, 100 + seed);
        oracle_make_stream(&random, lengths[seed % 6], 1 + random_below(&random, 9), seed % 3);
        oracle_feed(&random, line_size, wide);
        write_and_read(&record);
        assert_int_equal(record.accesses, oracle.count);
        assert_int_equal(record.probes, oracle_probes());
        assert_int_equal(record.touches, oracle.probe_count);
        assert_int_equal(record.open, oracle.open_count);
        assert_int_equal(record.flags, wide ? BURST_WIDE : 0);
        assert_int_equal(oracle.met, group_count);
        assert_int_equal(oracle.met_sum, sum_of_groups());
        check_groups(line_size);
        for (unsigned s = 1; wide && s < PROBE_LINE_SIZES; s++)
            if (probe_line_size(line_size, s)) {
                oracle_find_all(line_size);
                check_other_size(s, line_size);
            }
        nothing_is_left(wide ? PROBE_LINE_SIZES : 1);
    }
}

/* Nothing of a burst shows in the next one. */
static void bursts_do_not_depend_on_those_before(void **state)
{
    static unsigned char first[PROFILE_RECORD_MAX];
    struct record_burst record = {0}, again = {0};
    struct burst *fresh = calloc(1, burst_memory_size()), *used = oracle.burst;
    struct random random;

    (void)state;
    assert_non_null(fresh);
    random_seed(&random, 9);
    for (int i = 0; i < 5; i++) {
        oracle_make_stream(&random, BURST_ACCESSES, 50, true);
        oracle_feed(&random, 128, i % 2);
    }
    oracle_make_stream(&random, 1500, 50, true);
    oracle_feed(&random, 64, true);
    assert_true(burst_encode(oracle.burst, &record, first, sizeof first));
    oracle.burst = fresh;
    oracle_feed(&random, 64, true);
    assert_true(burst_encode(oracle.burst, &again, tail, sizeof tail));
    assert_int_equal(record.groups, again.groups);
    /* Places are drawn anew. */
    write_and_read(&again);
    check_groups(64);
    oracle.burst = used;
    write_and_read(&record);
    check_groups(64);
    free(fresh);
}

static void too_little_room_is_told(void **state)
{
    struct record_burst record = {0};
    struct random random;

    (void)state;
    random_seed(&random, 4);
    oracle_make_stream(&random, BURST_ACCESSES, 200, true);
    oracle_feed(&random, 64, true);
    assert_false(burst_encode(oracle.burst, &record, tail, 100));
    assert_true(burst_encode(oracle.burst, &record, tail, sizeof tail));
}

static void recorded_bursts_say_so(void **state)
{
    struct record_burst record = {.flags = BURST_WIDE};
    struct random random;

    (void)state;
    random_seed(&random, 8);
    oracle_make_stream(&random, 10, 3, false);
    burst_begin_after(oracle.burst, 64, false, &oracle.stream[0]);
    burst_feed(oracle.burst, oracle.stream + 1, 9);
    burst_close(oracle.burst, &oracle_host);
    assert_true(burst_encode(oracle.burst, &record, tail, sizeof tail));
    assert_int_equal(record.flags, BURST_RECORDED);
    assert_int_equal(record.accesses, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uses_and_distances_are_exact),
        cmocka_unit_test(reuse_times_hold_at_every_line_size),
        cmocka_unit_test(an_access_to_two_lines_counts_as_two_touches),
        cmocka_unit_test(an_empty_burst_has_nothing),
        cmocka_unit_test(no_more_is_taken_than_needed),
        cmocka_unit_test(groups_hold_every_probe_once),
        cmocka_unit_test(bursts_do_not_depend_on_those_before),
        cmocka_unit_test(too_little_room_is_told),
        cmocka_unit_test(recorded_bursts_say_so),
    };

    oracle.burst = calloc(1, burst_memory_size());
    return oracle.burst == NULL ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
