/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/export/protobuf.h"

enum { WIRE_NUMBER = 0, WIRE_BYTES = 2, WIRE_BITS = 3 };

/* Seven bits a byte, the lowest first; the top bit says that more follow. */
void message_packed(message_bytes *message, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        unsigned char more = (unsigned char)(value | 0x80);

        ARRAY_PUSH(message, more);
    }
    ARRAY_PUSH(message, (unsigned char)value);
}

void message_number(message_bytes *message, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    message_packed(message, (uint64_t)field << WIRE_BITS | WIRE_NUMBER);
    message_packed(message, value);
}

void message_field(message_bytes *message, unsigned field, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;

    message_packed(message, (uint64_t)field << WIRE_BITS | WIRE_BYTES);
    message_packed(message, size);
    for (size_t i = 0; i < size; i++)
        ARRAY_PUSH(message, from[i]);
}
