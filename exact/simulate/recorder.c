/* SPDX-License-Identifier: BSD-3-Clause */
/* See recorder.h. */
#include "simulate/recorder.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    uint32_t type;
    uint32_t size; /* of the payload, which follows */
};

static bool make_room(struct recorder *recorder, size_t size)
{
    size_t capacity = recorder->capacity ? recorder->capacity : 65536;
    unsigned char *bytes;

    while (capacity < recorder->used + size)
        capacity *= 2;
    if (capacity == recorder->capacity)
        return true;
    bytes = realloc(recorder->bytes, capacity);
    if (bytes == NULL)
        return false;
    recorder->bytes = bytes;
    recorder->capacity = capacity;
    return true;
}

void recorder_append(struct recorder *recorder, enum record_type type, const void *payload,
                     size_t size)
{
    struct entry entry = {.type = type, .size = (uint32_t)size};

    if (!make_room(recorder, sizeof entry + size)) {
        recorder->lost++;
        return;
    }
    memcpy(recorder->bytes + recorder->used, &entry, sizeof entry);
    memcpy(recorder->bytes + recorder->used + sizeof entry, payload, size);
    recorder->used += sizeof entry + size;
}

void recorder_move(struct recorder *from, struct recorder *into)
{
    if (from->used > 0 && make_room(into, from->used)) {
        memcpy(into->bytes + into->used, from->bytes, from->used);
        into->used += from->used;
        from->used = 0;
    }
}

void recorder_write(struct recorder *recorder, struct profile_writer *writer, uint64_t now_ns)
{
    size_t at = 0;

    while (at < recorder->used) {
        struct entry entry;
        memcpy(&entry, recorder->bytes + at, sizeof entry);
        at += sizeof entry;
        profile_writer_append(writer, (enum record_type)entry.type, recorder->bytes + at,
                              entry.size, NULL, 0, now_ns);
        at += entry.size;
    }
    recorder->used = 0;
}

void recorder_free(struct recorder *recorder)
{
    free(recorder->bytes);
    *recorder = (struct recorder){0};
}
