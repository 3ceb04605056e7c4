/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See tape_format.h. */
#include "recording/tape_format.h"

#include <string.h>

#include "signal_safe.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#endif

struct tape_head tape_head(void)
{
    return (struct tape_head){.magic = {'r', 'e', 'u', 's', 'e', 't', 'p', 2}, .machine = MACHINE};
}

static const char *wrong_machine(uint16_t machine)
{
    switch (machine) {
    case EM_X86_64:
        return "was recorded on x86-64: replay it on such a processor";
    case EM_AARCH64:
        return "was recorded on 64-bit Arm: replay it on such a processor";
    default:
        return "was recorded on another processor";
    }
}

const char *tape_reader_begin(struct tape_reader *reader, const void *bytes, size_t size)
{
    const struct tape_head ours = tape_head();
    struct tape_head head;

    *reader = (struct tape_reader){.bytes = bytes, .size = size, .at = sizeof head};
    if (size < sizeof head)
        return "is no recording of reuse-run --record-raw";
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.magic, ours.magic, sizeof head.magic - 1) != 0)
        return "is no recording of reuse-run --record-raw";
    if (head.magic[7] != ours.magic[7])
        return "was recorded by another version of libreuse, in another format";
    return head.machine == ours.machine ? NULL : wrong_machine(head.machine);
}

bool tape_reader_peek(const struct tape_reader *reader, struct tape_item *item)
{
    size_t at = reader->at, left = reader->size - at;
    uint32_t length;

    if (reader->diverged || left == 0)
        return false;
    *item = (struct tape_item){.tag = reader->bytes[at], .bytes = reader->bytes + at + 1};
    left--;
    switch (item->tag) {
    case TAPE_CLOCK:
    case TAPE_CALL:
    case TAPE_SETTING:
    case TAPE_COUNT:
    case TAPE_ATTRIBUTION:
        item->size = sizeof item->value;
        if (left < item->size)
            return false;
        memcpy(&item->value, item->bytes, sizeof item->value);
        return true;
    case TAPE_LINE:
        item->size = TAPE_LINE_BYTES;
        return left >= TAPE_LINE_BYTES;
    case TAPE_LINE_SAME:
    case TAPE_LINE_FAULT:
    case TAPE_END:
        return true;
    default:
        if (left < sizeof length)
            return false;
        memcpy(&length, item->bytes, sizeof length);
        item->bytes += sizeof length;
        item->size = length;
        return left - sizeof length >= length;
    }
}

void tape_reader_take(struct tape_reader *reader, const struct tape_item *item)
{
    reader->at = (size_t)(item->bytes - reader->bytes) + item->size;
}

bool tape_reader_expect(struct tape_reader *reader, enum tape_tag wanted, struct tape_item *item)
{
    if (!tape_reader_peek(reader, item))
        return false;
    if (wanted != 0 && item->tag != wanted) {
        reader->diverged = true;
        return false;
    }
    tape_reader_take(reader, item);
    return true;
}
