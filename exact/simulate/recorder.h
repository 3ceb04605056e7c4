/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of one simulated thread that wait to be written to the profile, in order. */
#ifndef REUSE_EXACT_SIMULATE_RECORDER_H
#define REUSE_EXACT_SIMULATE_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"
#include "profile/writer.h"

struct recorder {
    unsigned char *bytes;
    size_t used, capacity;
    uint64_t lost; /* records for which there was no memory */
};

/* `size` is a multiple of 8. */
void recorder_append(struct recorder *, enum record_type, const void *payload, size_t size);

/* Appends what waits in `from` to `into`, and forgets it there. */
void recorder_move(struct recorder *from, struct recorder *into);

/* Writes what waits, and forgets it. */
void recorder_write(struct recorder *, struct profile_writer *, uint64_t now_ns);

void recorder_free(struct recorder *);

#endif
