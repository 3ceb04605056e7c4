/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grouped probes <-> bytes. Signal-safe.
 *
 * What a group shares with the one before it costs a bit; what is near it, the difference. So
 * groups in the order of their instructions take some ten bytes each.
 */
#include "profile/probes.h"

#include "access.h"
#include "profile/format_bursts.h"
#include "profile/format_run.h"

#include "signal_safe.h"

/* First byte of a group: what is not said again. */
enum group_flags {
    SAME_IP = 1,     /* as in the group before */
    SAME_PATH = 2,   /* likewise, and so on */
    SAME_OBJECT = 4, /* kind, reference and tracking */
    SAME_ACCESS = 8, /* width and kind */
    OPEN_GROUP = 16, /* no next use: reuse_ip is 0 */
    REUSED_BY_ITSELF = 32,
    ONE_COUNT = 64, /* of the run's line size: their number is not said */
};

enum {
    DISTANCE_SINGLE = 16, /* bins of one value */
    DISTANCE_OCTAVE_LOG2 = 3,
    TIME_SINGLE = 4,
    TIME_OCTAVE_LOG2 = 1,
    CODE_END = 2 * 4096,
    TRACKED_BITS = 5,
    KIND_BITS = 2,
    NUMBER_BYTES_MAX = 10,
};

uint32_t probe_line_size(uint32_t run_line_size, unsigned index)
{
    uint32_t size = index == 0   ? run_line_size
                    : index == 1 ? run_line_size / 2
                    : index == 2 ? run_line_size * 2
                    : index == 3 ? run_line_size * 4
                                 : 0;
    return line_size_is_valid(size) ? size : 0;
}

/* Values below `single` have bins of their own; octaves above have 2^octave_log2. */
static unsigned bin_of(uint32_t value, unsigned single, unsigned octave_log2)
{
    if (value < single)
        return value;
    if (value > UINT16_MAX)
        value = UINT16_MAX;
    unsigned first = 31u - (unsigned)__builtin_clz(single);
    unsigned octave = 31u - (unsigned)__builtin_clz(value);
    unsigned within = value >> (octave - octave_log2) & ((1u << octave_log2) - 1);
    return single + ((octave - first) << octave_log2) + within;
}

static uint32_t low_of(unsigned bin, unsigned single, unsigned octave_log2)
{
    if (bin < single)
        return bin;
    unsigned first = 31u - (unsigned)__builtin_clz(single);
    unsigned octave = first + ((bin - single) >> octave_log2);
    unsigned within = (bin - single) & ((1u << octave_log2) - 1);
    return (1u << octave) + (within << (octave - octave_log2));
}

unsigned probe_distance_bin(uint32_t distance)
{
    return bin_of(distance, DISTANCE_SINGLE, DISTANCE_OCTAVE_LOG2);
}

uint32_t probe_distance_low(unsigned bin)
{
    return low_of(bin, DISTANCE_SINGLE, DISTANCE_OCTAVE_LOG2);
}

unsigned probe_time_bin(uint32_t time)
{
    return bin_of(time, TIME_SINGLE, TIME_OCTAVE_LOG2);
}

uint32_t probe_time_low(unsigned bin)
{
    return low_of(bin, TIME_SINGLE, TIME_OCTAVE_LOG2);
}

/* From what the place of a group's probe is told as a difference. */
static uint64_t place_origin(const struct probe_group *group, const struct probe_group *last,
                             unsigned flags)
{
    if (flags & SAME_OBJECT)
        return last->place;
    return group->object_kind == OBJECT_GLOBAL ? group->ip : 0; /* in the same module, mostly */
}

/* ---- writing ---- */

static void put_byte(struct probe_encoder *encoder, unsigned value)
{
    if (encoder->used < encoder->room)
        encoder->out[encoder->used++] = (unsigned char)value;
    else
        encoder->overflow = true;
}

/* A burst has thousands: kept in registers until it is written, a byte may be any object's. */
static void put_number(struct probe_encoder *encoder, uint64_t value)
{
    unsigned char *out = encoder->out + encoder->used;

    if (encoder->room - encoder->used < NUMBER_BYTES_MAX) {
        for (; value > 127; value >>= 7)
            put_byte(encoder, (unsigned)(value & 127) | 128);
        put_byte(encoder, (unsigned)value);
        return;
    }
    for (; value > 127; value >>= 7)
        *out++ = (unsigned char)(value | 128);
    *out++ = (unsigned char)value;
    encoder->used = (size_t)(out - encoder->out);
}

static void put_difference(struct probe_encoder *encoder, uint64_t value, uint64_t origin)
{
    uint64_t difference = value - origin;
    put_number(encoder, difference << 1 ^ -(difference >> 63));
}

static void put_counts(struct probe_encoder *encoder, const struct probe_count *counts, size_t n)
{
    unsigned next = 0; /* the lowest code that may follow */
    for (size_t i = 0; i < n; i++) {
        put_number(encoder, counts[i].code - next);
        put_number(encoder, counts[i].count);
        next = counts[i].code + 1u;
    }
}

static bool same_object(const struct probe_group *a, const struct probe_group *b)
{
    return a->object_kind == b->object_kind && a->object_reference == b->object_reference &&
           a->tracked_log2 == b->tracked_log2;
}

static unsigned group_flags(const struct probe_group *group, const struct probe_group *last,
                            size_t counts)
{
    unsigned flags = counts == 1 ? ONE_COUNT : 0;
    if (group->ip == last->ip)
        flags |= SAME_IP;
    if (group->path_id == last->path_id)
        flags |= SAME_PATH;
    if (same_object(group, last))
        flags |= SAME_OBJECT;
    if (group->width == last->width && group->kind == last->kind)
        flags |= SAME_ACCESS;
    if (group->reuse_ip == 0)
        flags |= OPEN_GROUP;
    else if (group->reuse_ip == group->ip)
        flags |= REUSED_BY_ITSELF;
    return flags;
}

static void put_group(struct probe_encoder *encoder, const struct probe_group *group,
                      unsigned flags)
{
    const struct probe_group *last = &encoder->last;
    put_byte(encoder, flags);
    if (!(flags & SAME_IP))
        put_difference(encoder, group->ip, last->ip);
    if (!(flags & (OPEN_GROUP | REUSED_BY_ITSELF)))
        put_difference(encoder, group->reuse_ip, group->ip);
    if (!(flags & SAME_PATH))
        put_difference(encoder, group->path_id, last->path_id);
    if (!(flags & SAME_OBJECT)) {
        put_number(encoder, (unsigned)group->object_kind << TRACKED_BITS |
                                (group->tracked_log2 & ((1u << TRACKED_BITS) - 1)));
        put_difference(encoder, group->object_reference, last->object_reference);
    }
    if (!(flags & SAME_ACCESS))
        put_number(encoder,
                   (unsigned)group->width << KIND_BITS | (group->kind & ((1u << KIND_BITS) - 1)));
    put_difference(encoder, group->place, place_origin(group, last, flags));
}

void probe_encoder_begin(struct probe_encoder *encoder, unsigned char *out, size_t room)
{
    *encoder = (struct probe_encoder){.out = out, .room = room};
}

void probe_encode(struct probe_encoder *encoder, const struct probe_group *group,
                  unsigned line_sizes, const struct probe_count *const counts[],
                  const size_t sizes[])
{
    unsigned flags = group_flags(group, &encoder->last, sizes[0]);
    put_group(encoder, group, flags);
    for (unsigned i = 0; i < line_sizes; i++) {
        if (i > 0 || !(flags & ONE_COUNT))
            put_number(encoder, sizes[i]);
        put_counts(encoder, counts[i], sizes[i]);
    }
    encoder->last = *group;
}

/* ---- reading ---- */

/* What is damaged reads as zeros. */
static unsigned get_byte(struct probe_decoder *decoder)
{
    if (decoder->at < decoder->end)
        return *decoder->at++;
    decoder->damaged = true;
    return 0;
}

static uint64_t get_long_number(struct probe_decoder *decoder)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < NUMBER_BYTES_MAX; i++) {
        unsigned byte = get_byte(decoder);
        if (i == NUMBER_BYTES_MAX - 1 && byte > 1)
            break;
        value |= (uint64_t)(byte & 127) << 7 * i;
        if (byte < 128)
            return value;
    }
    decoder->damaged = true;
    return 0;
}

/* Most are of one byte. */
static inline uint64_t get_number(struct probe_decoder *decoder)
{
    if (decoder->at < decoder->end && *decoder->at < 128)
        return *decoder->at++;
    return get_long_number(decoder);
}

static uint64_t get_limited(struct probe_decoder *decoder, uint64_t highest)
{
    uint64_t value = get_number(decoder);
    if (value <= highest)
        return value;
    decoder->damaged = true;
    return 0;
}

static uint64_t get_difference(struct probe_decoder *decoder, uint64_t origin)
{
    uint64_t number = get_number(decoder);
    return origin + (number >> 1 ^ -(number & 1));
}

static uint32_t get_identifier(struct probe_decoder *decoder, uint32_t origin)
{
    uint64_t value = get_difference(decoder, origin);
    if (value <= UINT32_MAX)
        return (uint32_t)value;
    decoder->damaged = true;
    return 0;
}

static void get_group(struct probe_decoder *decoder, unsigned flags)
{
    const struct probe_group last = decoder->last;
    struct probe_group *group = &decoder->last;
    if (!(flags & SAME_IP))
        group->ip = get_difference(decoder, last.ip);
    group->reuse_ip = flags & REUSED_BY_ITSELF ? group->ip : 0;
    if (!(flags & (OPEN_GROUP | REUSED_BY_ITSELF)))
        group->reuse_ip = get_difference(decoder, group->ip);
    if (!(flags & SAME_PATH))
        group->path_id = get_identifier(decoder, last.path_id);
    if (!(flags & SAME_OBJECT)) {
        uint64_t packed =
            get_limited(decoder, (UINT8_MAX << TRACKED_BITS) + (1 << TRACKED_BITS) - 1);
        group->object_kind = (uint8_t)(packed >> TRACKED_BITS);
        group->tracked_log2 = (uint8_t)(packed & ((1u << TRACKED_BITS) - 1));
        group->object_reference = get_identifier(decoder, last.object_reference);
    }
    if (!(flags & SAME_ACCESS)) {
        uint64_t packed = get_limited(decoder, (UINT8_MAX << KIND_BITS) + (1 << KIND_BITS) - 1);
        group->width = (uint8_t)(packed >> KIND_BITS);
        group->kind = (uint8_t)(packed & ((1u << KIND_BITS) - 1));
    }
    group->place = get_difference(decoder, place_origin(group, &last, flags));
}

static bool code_is_valid(uint64_t code)
{
    return code < CODE_END && probe_code_distance((uint16_t)code) < PROBE_DISTANCE_BINS;
}

static void get_counts(struct probe_decoder *decoder, struct probe_count *counts, size_t n)
{
    uint64_t next = 0;
    for (size_t i = 0; i < n && !decoder->damaged; i++) {
        uint64_t code = next + get_limited(decoder, CODE_END);
        uint64_t count = get_limited(decoder, UINT32_MAX);
        if (!code_is_valid(code) || count == 0)
            decoder->damaged = true;
        counts[i] = (struct probe_count){(uint16_t)code, (uint32_t)count};
        next = code + 1;
    }
}

void probe_decoder_begin_at(struct probe_decoder *decoder, const struct record_burst *burst,
                            const unsigned char *tail)
{
    *decoder = (struct probe_decoder){
        .at = tail,
        .end = tail + burst->probe_size,
        .line_sizes = burst->flags & BURST_WIDE ? PROBE_LINE_SIZES : 1,
        .left = burst->groups,
    };
}

void probe_decoder_begin(struct probe_decoder *decoder, const struct record_burst *burst)
{
    probe_decoder_begin_at(decoder, burst, burst->tail);
}

bool probe_decode(struct probe_decoder *decoder, struct probe_group *group,
                  struct probe_count *counts, size_t capacity, size_t sizes[PROBE_LINE_SIZES])
{
    if (decoder->left == 0) {
        decoder->damaged |= decoder->at < decoder->end;
        return false;
    }
    unsigned flags = get_byte(decoder);
    decoder->damaged |= flags > 127 || (flags & OPEN_GROUP && flags & REUSED_BY_ITSELF);
    if (!decoder->damaged)
        get_group(decoder, flags);
    for (unsigned i = 0; i < PROBE_LINE_SIZES; i++) {
        sizes[i] = i == 0 && flags & ONE_COUNT ? 1 : 0;
        if (!decoder->damaged && i < decoder->line_sizes && sizes[i] == 0)
            sizes[i] = get_limited(decoder, capacity);
        if (decoder->damaged || sizes[i] > capacity) {
            decoder->damaged = true;
            return false;
        }
        get_counts(decoder, counts, sizes[i]);
        counts += sizes[i];
        capacity -= sizes[i];
    }
    *group = decoder->last;
    decoder->left--;
    return !decoder->damaged;
}
