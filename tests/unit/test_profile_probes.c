/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grouped probes: what was encoded is what is decoded, for random and for extreme groups; the bytes
 * are those of docs/profile-format.md; damage is found or harmless; typical groups are small.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/format.h"
#include "profile/probes.h"
#include "sampling/random.h"
#include "support/test_seed.h"

enum { GROUPS_MAX = 300, BYTES_MAX = 1 << 20 };

struct item {
    struct probe_group group;
    struct probe_count counts[PROBE_COUNTS_MAX];
    size_t sizes[PROBE_LINE_SIZES];
};

static struct item *items; /* GROUPS_MAX */
static unsigned char *bytes;

static int set_up(void **state)
{
    (void)state;
    items = calloc(GROUPS_MAX, sizeof(*items));
    bytes = malloc(BYTES_MAX);
    return items && bytes ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(items);
    free(bytes);
    return 0;
}

static size_t encode(size_t n, unsigned line_sizes, size_t room)
{
    struct probe_encoder encoder;
    probe_encoder_begin(&encoder, bytes, room);
    for (size_t i = 0; i < n; i++) {
        const struct probe_count *counts[PROBE_LINE_SIZES] = {items[i].counts};
        for (unsigned k = 1; k < line_sizes; k++)
            counts[k] = counts[k - 1] + items[i].sizes[k - 1];
        probe_encode(&encoder, &items[i].group, line_sizes, counts, items[i].sizes);
    }
    assert_true(encoder.used <= room);
    return encoder.overflow ? SIZE_MAX : encoder.used;
}

static struct probe_decoder decoder_of(const unsigned char *data, size_t size, size_t n,
                                       unsigned line_sizes)
{
    struct probe_decoder decoder;
    struct record_burst burst = {
        .groups = (uint16_t)n,
        .probe_size = (uint32_t)size,
        .flags = line_sizes > 1 ? BURST_WIDE : 0,
    };
    probe_decoder_begin_at(&decoder, &burst, data);
    return decoder;
}

static void assert_same_group(const struct probe_group *a, const struct probe_group *b)
{
    assert_true(a->ip == b->ip);
    assert_true(a->reuse_ip == b->reuse_ip);
    assert_int_equal(a->path_id, b->path_id);
    assert_int_equal(a->object_reference, b->object_reference);
    assert_int_equal(a->object_kind, b->object_kind);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->tracked_log2, b->tracked_log2);
    assert_true(a->place == b->place);
}

/* Encodes n items and compares what comes back. Returns the bytes. */
static size_t round_trip(size_t n, unsigned line_sizes)
{
    size_t size = encode(n, line_sizes, BYTES_MAX);
    assert_true(size != SIZE_MAX);
    struct probe_decoder decoder = decoder_of(bytes, size, n, line_sizes);
    static struct probe_count counts[PROBE_COUNTS_MAX];
    for (size_t i = 0; i < n; i++) {
        struct probe_group group;
        size_t sizes[PROBE_LINE_SIZES];
        assert_true(probe_decode(&decoder, &group, counts, PROBE_COUNTS_MAX, sizes));
        assert_same_group(&group, &items[i].group);
        size_t total = 0;
        for (unsigned k = 0; k < PROBE_LINE_SIZES; k++) {
            assert_int_equal(sizes[k], k < line_sizes ? items[i].sizes[k] : 0);
            total += sizes[k];
        }
        for (size_t k = 0; k < total; k++) {
            assert_int_equal(counts[k].code, items[i].counts[k].code);
            assert_int_equal(counts[k].count, items[i].counts[k].count);
        }
    }
    struct probe_group group;
    size_t sizes[PROBE_LINE_SIZES];
    assert_false(probe_decode(&decoder, &group, counts, PROBE_COUNTS_MAX, sizes));
    assert_false(decoder.damaged);
    return size;
}

/* 0, the highest value, one that was used before, or anything. */
static uint64_t some(struct random *random, uint64_t highest, uint64_t before)
{
    switch (random_below(random, 5)) {
    case 0:
        return 0;
    case 1:
        return highest;
    case 2:
        return before;
    case 3:
        return (before + random_below(random, 300) - 150) & highest;
    default:
        return random_next(random) & highest;
    }
}

static void make_counts(struct random *random, struct item *item, unsigned line_sizes)
{
    size_t total = 0;
    memset(item->sizes, 0, sizeof(item->sizes));
    for (unsigned k = 0; k < line_sizes; k++) {
        unsigned step = 1 + random_below(random, 3000);
        for (unsigned code = random_below(random, step); code < 8192;
             code += 1 + random_below(random, step)) {
            if (probe_code_distance((uint16_t)code) >= PROBE_DISTANCE_BINS || total == 3000)
                continue;
            uint32_t count = random_below(random, 8) ? 1 + random_below(random, 300)
                                                     : (uint32_t)random_next(random) | 1;
            item->counts[total++] = (struct probe_count){(uint16_t)code, count};
            item->sizes[k]++;
        }
    }
}

static void make_group(struct random *random, struct probe_group *group,
                       const struct probe_group *before)
{
    group->ip = some(random, UINT64_MAX, before->ip);
    group->reuse_ip = some(random, UINT64_MAX, random_below(random, 2) ? group->ip : before->ip);
    group->path_id = (uint32_t)some(random, UINT32_MAX, before->path_id);
    group->object_reference = (uint32_t)some(random, UINT32_MAX, before->object_reference);
    group->object_kind = (uint8_t)some(random, UINT8_MAX, before->object_kind);
    group->kind = (uint8_t)random_below(random, 4);
    group->width = (uint8_t)some(random, UINT8_MAX, before->width);
    group->tracked_log2 = (uint8_t)some(random, 31, before->tracked_log2);
    group->place = some(random, UINT64_MAX, before->place);
}

static void test_random_groups_come_back(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, test_seed());
    for (int run = 0; run < 200; run++) {
        static const struct probe_group none;
        unsigned line_sizes = run % 2 ? PROBE_LINE_SIZES : 1;
        size_t n = random_below(&random, run % 10 ? 8 : GROUPS_MAX);
        for (size_t i = 0; i < n; i++) {
            make_group(&random, &items[i].group, i ? &items[i - 1].group : &none);
            make_counts(&random, &items[i], line_sizes);
        }
        (void)round_trip(n, line_sizes);
    }
}

static void test_extremes_come_back(void **state)
{
    (void)state;
    static const struct probe_group highest = {
        .ip = UINT64_MAX,
        .reuse_ip = UINT64_MAX - 1,
        .path_id = UINT32_MAX,
        .object_reference = UINT32_MAX,
        .object_kind = UINT8_MAX,
        .kind = 3,
        .width = UINT8_MAX,
        .tracked_log2 = 31,
        .place = UINT64_MAX,
    };
    static const struct probe_group half = {.ip = (uint64_t)1 << 63, .place = (uint64_t)1 << 63};
    const struct probe_group groups[] = {{0}, highest, {0}, half, {0}, highest, highest};
    size_t n = sizeof(groups) / sizeof(groups[0]);
    for (size_t i = 0; i < n; i++) {
        items[i].group = groups[i];
        memset(items[i].sizes, 0, sizeof(items[i].sizes));
        items[i].sizes[0] = i % 3;
        items[i].counts[0] = (struct probe_count){0, 1};
        items[i].counts[1] = (struct probe_count){
            probe_code(true, PROBE_DISTANCE_BINS - 1, PROBE_TIME_BINS - 1), UINT32_MAX};
    }
    (void)round_trip(n, 1);
    (void)round_trip(n, PROBE_LINE_SIZES);
    (void)round_trip(0, 1);
}

/* The example of docs/profile-format.md. */
static void test_the_bytes_are_those_of_the_documentation(void **state)
{
    (void)state;
    static const unsigned char expected[] = {
        0x60, 0x80, 0x80, 0x01, 0x0a, 0x22, 0x06, 0x21, 0x80, 0x01, 0x63, 0x80, 0x02, /* one */
        0x1e, 0x14, 0x10, 0x02, 0x41, 0x02, 0x90, 0x21, 0x0c,                         /* another */
    };
    items[0] = (struct item){
        .group = {.ip = 0x2000,
                  .reuse_ip = 0x2000,
                  .path_id = 5,
                  .object_reference = 3,
                  .object_kind = OBJECT_HEAP,
                  .kind = ACCESS_LOAD,
                  .width = 8,
                  .tracked_log2 = 2,
                  .place = 64},
        .counts = {{probe_code(false, 3, 3), 256}},
        .sizes = {1},
    };
    items[1] = (struct item){
        .group = items[0].group,
        .counts = {{probe_code(false, 2, 1), 2}, {probe_code(true, 6, 18), 12}},
        .sizes = {2},
    };
    items[1].group.ip = 0x200a;
    items[1].group.reuse_ip = 0;
    items[1].group.place = 72;
    assert_int_equal(round_trip(2, 1), sizeof(expected));
    assert_memory_equal(bytes, expected, sizeof(expected));
}

/* A loop over arrays of one object: an instruction, its place some elements on, one bin. */
static void test_typical_groups_are_small(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, test_seed());
    for (size_t i = 0; i < 100; i++) {
        uint64_t ip = i ? items[i - 1].group.ip + 3 + random_below(&random, 40) : 0x555555561230;
        items[i] = (struct item){
            .group = {.ip = ip,
                      .reuse_ip = random_below(&random, 2) ? ip : ip - random_below(&random, 200),
                      .path_id = 100 + random_below(&random, 60),
                      .object_reference = 1 + (uint32_t)i / 5,
                      .object_kind = OBJECT_HEAP,
                      .kind = ACCESS_LOAD,
                      .width = i % 4 ? 8 : 4,
                      .place = random_below(&random, 8000)},
            .counts = {{probe_code(false, random_below(&random, PROBE_DISTANCE_BINS),
                                   random_below(&random, PROBE_TIME_BINS)),
                        1 + random_below(&random, 100)}},
            .sizes = {1},
        };
    }
    size_t size = round_trip(100, 1);
    print_message("%zu bytes for 100 groups\n", size);
    assert_in_range(size, 1, 1100);
}

static void test_too_little_room_is_told(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, test_seed());
    static const struct probe_group none;
    for (size_t i = 0; i < 5; i++) {
        make_group(&random, &items[i].group, i ? &items[i - 1].group : &none);
        make_counts(&random, &items[i], 1);
    }
    size_t size = encode(5, 1, BYTES_MAX);
    for (size_t room = 0; room < size; room += 1 + room / 50)
        assert_int_equal(encode(5, 1, room), SIZE_MAX);
    assert_int_equal(encode(5, 1, size), size);
}

/* Reads as much as there is; every group that comes back is a sound one. */
static size_t decode_all(const unsigned char *data, size_t size, size_t n, unsigned line_sizes,
                         size_t capacity, bool *damaged)
{
    struct probe_decoder decoder = decoder_of(data, size, n, line_sizes);
    struct probe_group group;
    struct probe_count *counts = malloc(capacity * sizeof(*counts) + 1);
    size_t sizes[PROBE_LINE_SIZES], groups = 0;
    while (probe_decode(&decoder, &group, counts, capacity, sizes)) {
        size_t total = 0, k = 0;
        groups++;
        for (unsigned s = 0; s < PROBE_LINE_SIZES; s++) {
            total += sizes[s];
            for (size_t first = k; k < total; k++) {
                assert_true(counts[k].code < 8192 && counts[k].count > 0);
                assert_true(probe_code_distance(counts[k].code) < PROBE_DISTANCE_BINS);
                assert_true(k == first || counts[k - 1].code < counts[k].code);
            }
        }
        assert_true(total <= capacity);
    }
    free(counts);
    *damaged = decoder.damaged;
    assert_false(probe_decode(&decoder, &group, NULL, 0, sizes));
    return groups;
}

static void test_truncation_is_found(void **state)
{
    (void)state;
    struct random random;
    static const struct probe_group none;
    random_seed(&random, test_seed());
    for (size_t i = 0; i < 6; i++) {
        make_group(&random, &items[i].group, i ? &items[i - 1].group : &none);
        make_counts(&random, &items[i], PROBE_LINE_SIZES);
    }
    size_t size = encode(6, PROBE_LINE_SIZES, BYTES_MAX);
    bool damaged;
    for (size_t cut = 0; cut < size; cut += 1 + cut / 50) {
        unsigned char *copy = malloc(cut + 1); /* of its own, for checkers of memory */
        memcpy(copy, bytes, cut);
        assert_true(decode_all(copy, cut, 6, PROBE_LINE_SIZES, PROBE_COUNTS_MAX, &damaged) < 6);
        assert_true(damaged);
        free(copy);
    }
    assert_int_equal(decode_all(bytes, size, 5, PROBE_LINE_SIZES, PROBE_COUNTS_MAX, &damaged), 5);
    assert_true(damaged); /* bytes are left over */
    assert_int_equal(decode_all(bytes, size, 7, PROBE_LINE_SIZES, PROBE_COUNTS_MAX, &damaged), 6);
    assert_true(damaged);
    size_t most = 0;
    for (size_t i = 0; i < 6; i++) {
        size_t total = 0;
        for (unsigned k = 0; k < PROBE_LINE_SIZES; k++)
            total += items[i].sizes[k];
        most = total > most ? total : most;
    }
    assert_int_equal(decode_all(bytes, size, 6, PROBE_LINE_SIZES, most, &damaged), 6);
    assert_false(damaged);
    (void)decode_all(bytes, size, 6, PROBE_LINE_SIZES, most - 1, &damaged);
    assert_true(damaged);
}

static void test_any_bytes_are_survived(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, test_seed());
    for (int run = 0; run < 20000; run++) {
        size_t size = random_below(&random, 200);
        unsigned char *data = malloc(size + 1);
        bool damaged;
        for (size_t i = 0; i < size; i++)
            data[i] = (unsigned char)(random_next(&random) & (run % 3 ? 127 : 255));
        (void)decode_all(data, size, random_below(&random, 40), run % 2 ? PROBE_LINE_SIZES : 1,
                         random_below(&random, 100), &damaged);
        free(data);
    }
}

static void test_bytes_that_say_what_cannot_be(void **state)
{
    (void)state;
    static const struct {
        unsigned char data[24];
        size_t size;
    } cases[] = {
        {{0xff}, 1},                                     /* flags that nobody knows */
        {{0x7f, 0, 0, 1}, 4},                            /* open, and reused by itself */
        {{0x5f, 0, 5, 0}, 4},                            /* a count of 0 */
        {{0x5f, 0, 0x80, 0x40, 1}, 5},                   /* code 8192 */
        {{0x5f, 0, 0x80, 0x1c, 1}, 5},                   /* a distance bin too many */
        {{0x5f, 0, 5, 0x80, 0x80, 0x80, 0x80, 0x10}, 8}, /* a count of 2^32 */
        {{0x5d, 0x02, 0, 5, 1}, 5},                      /* context 1 ... */
        {{0x5d, 0x01, 0, 5, 1}, 5},                      /* context -1 */
        {{0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 1, 5, 1}, 14},
    };
    bool damaged;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t groups = decode_all(cases[i].data, cases[i].size, 1, 1, 10, &damaged);
        assert_int_equal(damaged, i != 6); /* the one that is good */
        assert_int_equal(groups, i == 6);
    }
}

static void test_bins_cover_every_value(void **state)
{
    (void)state;
    for (unsigned bin = 0; bin < PROBE_DISTANCE_BINS; bin++) {
        uint32_t low = probe_distance_low(bin), next = probe_distance_low(bin + 1);
        assert_true(low < next);
        assert_int_equal(probe_distance_bin(low), bin);
        assert_int_equal(probe_distance_bin(next - 1), bin);
        assert_true(next - low == 1 || (next - low) * 8 <= low);
    }
    for (unsigned bin = 0; bin < PROBE_TIME_BINS; bin++) {
        uint32_t low = probe_time_low(bin), next = probe_time_low(bin + 1);
        assert_true(low < next);
        assert_int_equal(probe_time_bin(low), bin);
        assert_int_equal(probe_time_bin(next - 1), bin);
        assert_true(next - low == 1 || (next - low) * 2 <= low);
    }
    for (uint32_t value = 0; value < 16; value++)
        assert_int_equal(probe_distance_bin(value), value);
    assert_int_equal(probe_distance_bin(65535), PROBE_DISTANCE_BINS - 1);
    assert_int_equal(probe_distance_bin(65536), PROBE_DISTANCE_BINS - 1);
    assert_int_equal(probe_distance_bin(UINT32_MAX), PROBE_DISTANCE_BINS - 1);
    assert_int_equal(probe_time_bin(UINT32_MAX), PROBE_TIME_BINS - 1);
    assert_int_equal(probe_distance_low(PROBE_DISTANCE_BINS), 65536);
    assert_int_equal(probe_time_low(PROBE_TIME_BINS), 65536);
}

static void test_line_sizes(void **state)
{
    (void)state;
    static const uint32_t expected[][1 + PROBE_LINE_SIZES] = {
        {64, 64, 32, 128, 256}, {32, 32, 0, 64, 128}, {4096, 4096, 2048, 0, 0}};
    for (size_t i = 0; i < 3; i++) {
        for (unsigned k = 0; k < PROBE_LINE_SIZES; k++)
            assert_int_equal(probe_line_size(expected[i][0], k), expected[i][1 + k]);
        assert_int_equal(probe_line_size(expected[i][0], PROBE_LINE_SIZES), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_groups_come_back),
        cmocka_unit_test(test_extremes_come_back),
        cmocka_unit_test(test_the_bytes_are_those_of_the_documentation),
        cmocka_unit_test(test_typical_groups_are_small),
        cmocka_unit_test(test_too_little_room_is_told),
        cmocka_unit_test(test_truncation_is_found),
        cmocka_unit_test(test_any_bytes_are_survived),
        cmocka_unit_test(test_bytes_that_say_what_cannot_be),
        cmocka_unit_test(test_bins_cover_every_value),
        cmocka_unit_test(test_line_sizes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
