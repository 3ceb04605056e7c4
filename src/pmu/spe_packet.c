/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of the SPE stream and records made of them. See spe.h. Signal-safe. */
#include "pmu/spe.h"

#include <string.h>

#include "pmu/bytes.h"

#include "signal_safe.h"

enum {
    EXTENDED_FIRST = 0x20, /* header of two bytes: 0x20 .. 0x23 */
    EXTENDED_LAST = 0x23,
    ALIGNMENT = 0, /* second byte of an extended header: padding up to an alignment follows */
};

/* What a header byte means; the number of payload bytes is in its bits 5:4. */
static const struct {
    uint8_t type, index_mask;
} headers[256] = {
    [0x00] = {SPE_PAD, 0},
    [0x01] = {SPE_END, 0},
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
    [0x71] = {SPE_TIMESTAMP, 0},
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
    if (header <= 1)
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
    packet->payload = load_payload(at + 1 + extended, payload);
    return true;
}

bool spe_packet_decode(const uint8_t *at, size_t available, struct spe_packet *packet)
{
    return decode(at, available, packet);
}

/* ---- records ---- */

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

/* A record has each packet once: a second one means that the end between two records is missing. */
static inline void add_field(struct spe_record *record, uint32_t field)
{
    if (record->fields & field)
        record->fields |= SPE_REPEATED;
    record->fields |= field;
}

/* Adds a packet to the record. True when it ends it. */
static inline bool add_packet(struct spe_record *record, const struct spe_packet *packet)
{
    switch (packet->type) {
    case SPE_ADDRESS:
        if (packet->index < SPE_ADDRESSES) {
            add_field(record, (uint32_t)SPE_HAS_PC << packet->index);
            record->address[packet->index] = packet->payload;
        }
        return false;
    case SPE_COUNTER:
        if (packet->index < SPE_COUNTERS) {
            add_field(record, (uint32_t)SPE_HAS_TOTAL << packet->index);
            record->counter[packet->index] = (uint16_t)packet->payload;
        }
        return false;
    case SPE_EVENTS:
        add_field(record, SPE_HAS_EVENTS);
        record->events = (uint32_t)packet->payload;
        return false;
    case SPE_OPERATION:
        add_field(record, SPE_HAS_OPERATION);
        record->operation_class = packet->index;
        record->operation = (uint8_t)packet->payload;
        return false;
    case SPE_DATA_SOURCE:
        add_field(record, SPE_HAS_DATA_SOURCE);
        record->data_source = (uint16_t)packet->payload;
        return false;
    case SPE_CONTEXT:
        if (packet->index < 2) {
            add_field(record, packet->index ? SPE_HAS_CONTEXT_2 : SPE_HAS_CONTEXT_1);
            record->context[packet->index] = (uint32_t)packet->payload;
        }
        return false;
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
    while (at < end && *at == 0)
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

    while (next_packet(stream, &packet)) {
        bool whole;

        if (packet.type == SPE_BAD)
            stream->bad_bytes++;
        if (!add_packet(&stream->record, &packet))
            continue;
        /* The time stamp of a record that went before the beginning of the data is none. */
        whole = stream->record.fields & content;
        if (whole) {
            *record = stream->record;
            stream->records++;
        }
        memset(&stream->record, 0, sizeof stream->record);
        if (whole)
            return true;
    }
    return false;
}
