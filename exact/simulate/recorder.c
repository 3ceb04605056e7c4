/* SPDX-License-Identifier: BSD-3-Clause */
/* See recorder.h. */
#include "simulate/recorder.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    uint32_t type;
    uint32_t size; /* of the payload, which follows */
};

void recorder_append(struct recorder *recorder, enum record_type type, const void *payload,
                     size_t size)
{
    struct entry entry = {.type = type, .size = (uint32_t)size};
    size_t needed = recorder->used + sizeof entry + size;

    if (needed > recorder->capacity) {
        size_t capacity = recorder->capacity ? 2 * recorder->capacity : 65536;
        unsigned char *bytes = realloc(recorder->bytes, capacity);
        if (bytes == NULL) {
            recorder->lost++;
            return;
        }
        recorder->bytes = bytes;
        recorder->capacity = capacity;
    }
    memcpy(recorder->bytes + recorder->used, &entry, sizeof entry);
    memcpy(recorder->bytes + recorder->used + sizeof entry, payload, size);
    recorder->used = needed;
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
