/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/call_path.h"

#include "signal_safe.h"

/* Odd, so that powers of it have an inverse: 2^64 / golden ratio. */
static const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t factor_to_the_frames(void)
{
    uint64_t power = 1;

    for (unsigned i = 0; i < CALL_PATH_FRAMES; i++)
        power *= factor;
    return power;
}

static uint64_t mix(uint64_t address)
{
    address ^= address >> 29;
    address *= UINT64_C(0xbf58476d1ce4e5b9);
    return address ^ address >> 32;
}

static void push(struct call_path *path, uint64_t return_address)
{
    uint64_t below = path->depth ? path->frames[path->depth - 1].hash : 0;

    path->frames[path->depth++] = (struct call_frame_entry){
        .return_address = return_address, .hash = below * factor + mix(return_address)};
}

void call_path_begin(struct call_path *path, const uint64_t *above, size_t n)
{
    path->count = 0;
    path->overflow = false;
    call_path_rewind(path, above, n);
}

void call_path_rewind(struct call_path *path, const uint64_t *above, size_t n)
{
    path->applied = path->depth = 0;
    for (size_t i = n < CALL_PATH_FRAMES ? n : CALL_PATH_FRAMES; i-- > 0;)
        push(path, above[i]);
}

void call_path_add(struct call_path *path, uint64_t accesses, uint64_t return_address)
{
    if (path->count == CALL_PATH_EVENTS)
        path->overflow = true;
    else
        path->events[path->count++] = (struct call_event){accesses, return_address};
}

bool call_path_seek(struct call_path *path, uint64_t index)
{
    unsigned before = path->applied;

    while (path->applied < path->count && path->events[path->applied].accesses <= index) {
        uint64_t return_address = path->events[path->applied++].return_address;

        if (return_address)
            push(path, return_address);
        else if (path->depth > 0)
            path->depth--;
    }
    return path->applied != before;
}

bool call_path_is_known(const struct call_path *path)
{
    return !path->overflow || path->applied < path->count;
}

/* Of the innermost frames alone: what lies below them is taken out again. */
uint64_t call_path_hash(const struct call_path *path)
{
    unsigned depth = path->depth;
    uint64_t hash = depth ? path->frames[depth - 1].hash : 0;

    if (depth > CALL_PATH_FRAMES)
        hash -= path->frames[depth - 1 - CALL_PATH_FRAMES].hash * factor_to_the_frames();
    return hash;
}

size_t call_path_frames(const struct call_path *path, uint64_t frames[CALL_PATH_FRAMES])
{
    size_t n = 0;

    for (unsigned i = 0; i < path->depth && i < CALL_PATH_FRAMES; i++) {
        uint64_t address = path->frames[path->depth - 1 - i].return_address;

        if (address != CALL_PATH_HIDDEN)
            frames[n++] = address;
    }
    return n;
}
