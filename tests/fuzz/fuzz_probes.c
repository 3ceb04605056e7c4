/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random bytes as the grouped probes of a burst: what comes back are probes that there can be, and
 * encoding them again and decoding that gives the same. First byte: bit 0: a wide burst; second:
 * groups.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/driver.h"
#include "profile/format.h"
#include "profile/probes.h"

const char fuzz_target[] = "random bytes as the probes of bursts";

/* Whatever a group may hold comes out with no more than this and its bytes doubled. */
enum { HEAD_BYTES = 2, ROOM = 4 * FUZZ_INPUT_MAX };

static struct probe_count decoded[PROBE_COUNTS_MAX], again[PROBE_COUNTS_MAX];
static unsigned char encoded[ROOM];

static struct probe_decoder begin(const uint8_t *bytes, size_t size, unsigned groups, bool wide)
{
    struct probe_decoder decoder;
    struct record_burst burst = {
        .groups = (uint16_t)groups,
        .flags = wide ? BURST_WIDE : 0,
        .probe_size = (uint32_t)size,
    };

    probe_decoder_begin_at(&decoder, &burst, bytes);
    return decoder;
}

static size_t check_counts(const struct probe_count *counts, const size_t sizes[])
{
    size_t total = 0;

    for (unsigned s = 0; s < PROBE_LINE_SIZES; s++) {
        for (size_t i = 0; i < sizes[s]; i++, total++) {
            fuzz_require(counts[total].count > 0 && counts[total].code < 8192);
            fuzz_require(probe_code_distance(counts[total].code) < PROBE_DISTANCE_BINS);
            fuzz_require(i == 0 || counts[total - 1].code < counts[total].code);
        }
    }
    fuzz_require(total <= PROBE_COUNTS_MAX);
    return total;
}

static void encode(struct probe_encoder *encoder, const struct probe_group *group, bool wide,
                   const size_t sizes[])
{
    const struct probe_count *counts[PROBE_LINE_SIZES] = {decoded};

    for (unsigned s = 1; s < PROBE_LINE_SIZES; s++)
        counts[s] = counts[s - 1] + sizes[s - 1];
    probe_encode(encoder, group, wide ? PROBE_LINE_SIZES : 1, counts, sizes);
}

static bool same_group(const struct probe_group *a, const struct probe_group *b)
{
    return a->ip == b->ip && a->reuse_ip == b->reuse_ip && a->path_id == b->path_id &&
           a->object_reference == b->object_reference && a->object_kind == b->object_kind &&
           a->kind == b->kind && a->width == b->width && a->tracked_log2 == b->tracked_log2 &&
           a->place == b->place;
}

void fuzz_check(const uint8_t *input, size_t size)
{
    struct probe_decoder decoder, second;
    struct probe_encoder encoder;
    struct probe_group group, group_again;
    size_t sizes[PROBE_LINE_SIZES], sizes_again[PROBE_LINE_SIZES];
    unsigned groups = 0;

    if (size < HEAD_BYTES)
        return;
    bool wide = input[0] & 1;
    unsigned asked = input[1] * 16;

    decoder = begin(input + HEAD_BYTES, size - HEAD_BYTES, asked, wide);
    probe_encoder_begin(&encoder, encoded, sizeof encoded);
    for (; probe_decode(&decoder, &group, decoded, PROBE_COUNTS_MAX, sizes); groups++) {
        check_counts(decoded, sizes);
        encode(&encoder, &group, wide, sizes);
    }
    fuzz_require(groups <= asked && (decoder.damaged || groups == asked));
    fuzz_require(!encoder.overflow);
    decoder = begin(input + HEAD_BYTES, size - HEAD_BYTES, asked, wide);
    second = begin(encoded, encoder.used, groups, wide);
    for (unsigned i = 0; i < groups; i++) {
        fuzz_require(probe_decode(&decoder, &group, decoded, PROBE_COUNTS_MAX, sizes));
        fuzz_require(probe_decode(&second, &group_again, again, PROBE_COUNTS_MAX, sizes_again));
        fuzz_require(same_group(&group, &group_again));
        fuzz_require(memcmp(sizes, sizes_again, sizeof sizes) == 0);
        size_t total = check_counts(decoded, sizes);
        for (size_t k = 0; k < total; k++)
            fuzz_require(decoded[k].code == again[k].code && decoded[k].count == again[k].count);
    }
    fuzz_require(!probe_decode(&second, &group_again, again, PROBE_COUNTS_MAX, sizes_again));
    fuzz_require(!second.damaged);
}

/* Groups of small numbers, and now and then something else. */
size_t fuzz_make(struct random *random, uint8_t *input)
{
    unsigned groups = random_below(random, 4);
    struct probe_encoder encoder;

    input[0] = (uint8_t)random_below(random, 2);
    input[1] = (uint8_t)groups;
    probe_encoder_begin(&encoder, input + HEAD_BYTES, FUZZ_INPUT_MAX - HEAD_BYTES);
    for (unsigned i = 0; i < 16 * groups; i++) {
        struct probe_group group = {.ip = random_below(random, 1000),
                                    .reuse_ip = random_below(random, 3) * 100,
                                    .path_id = random_below(random, 5),
                                    .object_kind = (uint8_t)random_below(random, 4),
                                    .width = 8,
                                    .place = random_next(random) >> random_below(random, 64)};
        size_t sizes[PROBE_LINE_SIZES] = {random_below(random, 3), 1, 0, 2};

        decoded[0] = (struct probe_count){(uint16_t)random_below(random, 100), 1};
        decoded[1] = (struct probe_count){(uint16_t)(100 + random_below(random, 100)), 7};
        const struct probe_count *counts[] = {decoded, decoded, decoded, decoded};
        probe_encode(&encoder, &group, input[0] & 1 ? PROBE_LINE_SIZES : 1, counts, sizes);
    }
    size_t size = HEAD_BYTES + encoder.used;

    for (uint32_t i = random_below(random, 4); i > 0; i--)
        input[random_below(random, (uint32_t)size)] = (uint8_t)random_next(random);
    return random_below(random, 4) ? size : random_below(random, (uint32_t)size + 1);
}
