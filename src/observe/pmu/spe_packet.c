/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of the SPE stream and records made of them. See spe.h. Signal-safe. */
#include "pmu/spe.h"

#include <string.h>

#include "pmu/bytes.h"

#include "signal_safe.h"

enum {
    PADDING = 0x00,
    END = 0x01,
    TIMESTAMP = 0x71,
    EXTENDED_FIRST = 0x20, /* header of two bytes: 0x20 .. 0x23 */
    EXTENDED_LAST = 0x23,
    ALIGNMENT = 0, /* second byte of an extended header: padding up to an alignment follows */
};

/* What a header byte means; the number of payload bytes is in its bits 5:4. */
static const struct {
    uint8_t type, index_mask;
} headers[256] = {
    [PADDING] = {SPE_PAD, 0},
    [END] = {SPE_END, 0},
    [0x42] = {SPE_EVENTS, 0},
    [0x52] = {SPE_EVENTS, 0},
    [0x62] = {SPE_EVENTS, 0},
    [0x72] = {SPE_EVENTS, 0},
    [0x43] = {SPE_DATA_SOURCE, 0},
    [0x53] = {SPE_DATA_SOURCE, 0},
    [0x63] = {SPE_DATA_SOURCE, 0},
    [0x73] = {SPE_DATA_SOURCE, 0},
    [0x48 ... 0x4b] = {SPE_OPERATION, 3},
    [0x64 ... 0x67] = {SPE_CONTEXT, 3},
    [TIMESTAMP] = {SPE_TIMESTAMP, 0},
    [0x98 ... 0x9f] = {SPE_COUNTER, 7},
    [0xb0 ... 0xb7] = {SPE_ADDRESS, 7},
};

static uint64_t load_payload(const uint8_t *at, unsigned bytes)
{
    switch (bytes) {
    case 1:
        return *at;
    case 2:
        return load16(at);
    case 4:
        return load32(at);
    default:
        return load64(at);
    }
}

/* A packet without payload. */
static bool plain_packet(struct spe_packet *packet, enum spe_packet_type type, unsigned length)
{
    *packet = (struct spe_packet){.type = type, .length = (uint8_t)length};
    return true;
}

static inline bool decode(const uint8_t *at, size_t available, struct spe_packet *packet)
{
    unsigned header, payload, extended = 0, index_high = 0;

    if (available == 0)
        return false;
    header = at[0];
    if (header == PADDING || header == END)
        return plain_packet(packet, (enum spe_packet_type)headers[header].type, 1);
    if (header >= EXTENDED_FIRST && header <= EXTENDED_LAST) {
        if (available < 2)
            return false;
        if (at[1] == ALIGNMENT)
            return plain_packet(packet, SPE_PAD, 2);
        index_high = (header & 3) << 3;
        header = at[1];
        /* Only these two have an index worth extending. */
        if (headers[header].type != SPE_ADDRESS && headers[header].type != SPE_COUNTER)
            return plain_packet(packet, SPE_BAD, 1);
        extended = 1;
    }
    if (headers[header].type == SPE_BAD)
        return plain_packet(packet, SPE_BAD, 1);
    payload = 1u << (header >> 4 & 3);
    if (available < 1 + extended + payload)
        return false;
    packet->type = (enum spe_packet_type)headers[header].type;
    packet->index = (uint8_t)(index_high | (header & headers[header].index_mask));
    packet->length = (uint8_t)(1 + extended + payload);
    packet->payload_bytes = (uint8_t)payload;
    packet->header = (uint8_t)header;
    packet->payload = load_payload(at + 1 + extended, payload);
    return true;
}

bool spe_packet_decode(const uint8_t *at, size_t available, struct spe_packet *packet)
{
    return decode(at, available, packet);
}

/* ---- records ---- */

/*
 * What to do with the packets that make up nearly all of a stream: those that only put a payload
 * into its place in the record. By header; length 0: another one, which add_packet() understands.
 */
struct plain_packet {
    uint32_t field;  /* its bit of enum spe_field */
    uint8_t place;   /* byte offset in struct spe_record */
    uint8_t length;  /* bytes, header included */
    uint8_t surplus; /* bits of the eight bytes behind the header that are no payload */
    uint8_t class;   /* of an operation */
};

#define PLAIN(has, member, bytes, operation_class)                                                 \
    {                                                                                              \
        has, offsetof(struct spe_record, member), 1 + (bytes), 64 - 8 * (bytes), operation_class   \
    }

static const struct plain_packet plain_packets[256] = {
    [0x42] = PLAIN(SPE_HAS_EVENTS, events, 1, 0),
    [0x52] = PLAIN(SPE_HAS_EVENTS, events, 2, 0),
    [0x62] = PLAIN(SPE_HAS_EVENTS, events, 4, 0),
    [0x72] = PLAIN(SPE_HAS_EVENTS, events, 8, 0),
    [0x43] = PLAIN(SPE_HAS_DATA_SOURCE, data_source, 1, 0),
    [0x53] = PLAIN(SPE_HAS_DATA_SOURCE, data_source, 2, 0),
    [0x63] = PLAIN(SPE_HAS_DATA_SOURCE, data_source, 4, 0),
    [0x73] = PLAIN(SPE_HAS_DATA_SOURCE, data_source, 8, 0),
    [0x48] = PLAIN(SPE_HAS_OPERATION, operation, 1, SPE_OTHER),
    [0x49] = PLAIN(SPE_HAS_OPERATION, operation, 1, SPE_MEMORY),
    [0x4a] = PLAIN(SPE_HAS_OPERATION, operation, 1, SPE_BRANCH),
    [0x4b] = PLAIN(SPE_HAS_OPERATION, operation, 1, 3),
    [0x64] = PLAIN(SPE_HAS_CONTEXT_1, context[0], 4, 0),
    [0x65] = PLAIN(SPE_HAS_CONTEXT_2, context[1], 4, 0),
    [0x98] = PLAIN(SPE_HAS_TOTAL, counter[SPE_TOTAL_LATENCY], 2, 0),
    [0x99] = PLAIN(SPE_HAS_ISSUE, counter[SPE_ISSUE_LATENCY], 2, 0),
    [0x9a] = PLAIN(SPE_HAS_TRANSLATION, counter[SPE_TRANSLATION_LATENCY], 2, 0),
    [0xb0] = PLAIN(SPE_HAS_PC, address[SPE_PC], 8, 0),
    [0xb1] = PLAIN(SPE_HAS_TARGET, address[SPE_TARGET], 8, 0),
    [0xb2] = PLAIN(SPE_HAS_VIRTUAL, address[SPE_VIRTUAL], 8, 0),
    [0xb3] = PLAIN(SPE_HAS_PHYSICAL, address[SPE_PHYSICAL], 8, 0),
    [0xb4] = PLAIN(SPE_HAS_PREVIOUS_TARGET, address[SPE_PREVIOUS_TARGET], 8, 0),
};

_Static_assert(offsetof(struct spe_record, operation_class) ==
                   offsetof(struct spe_record, operation) + 4,
               "they are stored at once");

void spe_begin(struct spe_stream *stream)
{
    memset(stream, 0, sizeof *stream);
}

void spe_feed(struct spe_stream *stream, const uint8_t *bytes, size_t size)
{
    stream->at = bytes;
    stream->end = bytes + size;
}

void spe_gap(struct spe_stream *stream)
{
    memset(&stream->record, 0, sizeof stream->record);
    stream->record.fields = SPE_CUT;
    stream->carried = 0;
    stream->at = stream->end;
}

/* Puts the payload into its place; gives the fields that the record has now. It has each packet
 * once: a second one means that the end between two records is missing. */
static inline uint32_t put_payload(struct spe_record *record, uint32_t fields,
                                   const struct plain_packet *plain, uint64_t payload)
{
    uint64_t value = payload | (uint64_t)plain->class << 32;

    memcpy((uint8_t *)record + plain->place, &value, sizeof value);
    return fields | plain->field | (fields & plain->field ? SPE_REPEATED : 0);
}

/* The quick way: plain packets, padding and time stamps for as long as whole packets must be there,
 * up to the first packet of another kind. True when the record has ended. */
static inline bool take_plain_packets(struct spe_stream *stream, struct spe_record *record)
{
    const uint8_t *at = stream->at, *end = stream->end;
    uint32_t fields = record->fields;
    bool ended = false;

    while (end - at >= SPE_PACKET_LARGEST && !ended) {
        const struct plain_packet *plain = &plain_packets[*at];

        if (plain->length) {
            fields = put_payload(record, fields, plain,
                                 load64(at + 1) << plain->surplus >> plain->surplus);
            at += plain->length;
        } else if (*at == PADDING) {
            uint64_t padding = load64(at);

            at += padding ? (unsigned)__builtin_ctzll(padding) / 8 : 8;
        } else if (*at == TIMESTAMP) {
            record->time = load64(at + 1);
            fields |= SPE_HAS_TIME;
            at += 9;
            ended = true;
        } else {
            break;
        }
    }
    stream->at = at;
    record->fields = fields;
    return ended;
}

/* Adds any packet to the record. True when it ends it. */
static inline bool add_packet(struct spe_record *record, const struct spe_packet *packet)
{
    enum { INDEX_EXTENDED = 8 }; /* from here on: none that has a place in the record */
    const struct plain_packet *plain = &plain_packets[packet->header];

    switch (packet->type) {
    case SPE_TIMESTAMP:
        record->fields |= SPE_HAS_TIME;
        record->time = packet->payload;
        return true;
    case SPE_END:
        return true;
    case SPE_BAD:
        record->fields |= SPE_BAD_BYTES;
        return false;
    default:
        if (plain->length && packet->index < INDEX_EXTENDED)
            record->fields = put_payload(record, record->fields, plain, packet->payload);
        return false;
    }
}

/* The packet that began in the piece before. Its bytes are put together in carry. */
static bool decode_carried(struct spe_stream *stream, struct spe_packet *packet)
{
    size_t available = (size_t)(stream->end - stream->at);
    size_t room = sizeof stream->carry - stream->carried;
    size_t copied = available < room ? available : room;

    memcpy(stream->carry + stream->carried, stream->at, copied);
    if (!decode(stream->carry, stream->carried + copied, packet)) {
        stream->carried += (uint8_t)copied;
        stream->at = stream->end;
        return false;
    }
    /* All that was carried belongs to it: with less it was not whole. */
    stream->at += packet->length - stream->carried;
    stream->carried = 0;
    return true;
}

/* The next packet that is no padding; keeps for the next piece what is not whole. */
static inline bool next_packet(struct spe_stream *stream, struct spe_packet *packet)
{
    const uint8_t *at = stream->at, *end = stream->end;

    if (__builtin_expect(stream->carried != 0, 0))
        return decode_carried(stream, packet);
    while (at < end && *at == PADDING)
        at++;
    stream->at = at;
    if (at == end)
        return false;
    if (__builtin_expect(decode(at, (size_t)(end - at), packet), 1)) {
        stream->at = at + packet->length;
        return true;
    }
    stream->carried = (uint8_t)(end - at);
    memcpy(stream->carry, at, stream->carried);
    stream->at = end;
    return false;
}

bool spe_next(struct spe_stream *stream, struct spe_record *record)
{
    static const uint32_t content = SPE_HAS_TIME - 1;
    struct spe_packet packet;

    *record = stream->record;
    if (stream->record.fields)
        memset(&stream->record, 0, sizeof stream->record);
    for (;;) {
        bool ended = !stream->carried && take_plain_packets(stream, record);

        if (!ended) {
            if (!next_packet(stream, &packet))
                break;
            stream->bad_bytes += packet.type == SPE_BAD;
            ended = add_packet(record, &packet);
        }
        if (ended && record->fields & content) {
            stream->records++;
            return true;
        }
        /* The time stamp of a record that went before the beginning of the data is none. */
        if (ended)
            memset(record, 0, sizeof *record);
    }
    stream->record = *record;
    return false;
}
