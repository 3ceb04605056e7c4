/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/call_path.h"

#include "signal_safe.h"

void call_path_begin(struct call_path *path)
{
    path->count = 0;
    path->overflow = false;
}

void call_path_add(struct call_path *path, uint64_t accesses, uint64_t return_address)
{
    if (path->count == CALL_PATH_EVENTS)
        path->overflow = true;
    else
        path->events[path->count++] = (struct call_event){accesses, return_address};
}

size_t call_path_frames(const struct call_path *path, uint64_t index, uint64_t leaf,
                        const uint64_t *unwound, size_t n, uint64_t *frames, size_t max)
{
    /* Return addresses of calls that have not returned, as indexes of events: a stack. */
    uint16_t open[CALL_PATH_EVENTS];
    size_t depth = 0, left = 0, stored = 0;

    frames[stored++] = leaf;
    if (path->overflow && path->events[path->count - 1].accesses <= index)
        return stored;
    for (unsigned i = 0; i < path->count && path->events[i].accesses <= index; i++) {
        if (path->events[i].return_address)
            open[depth++] = (uint16_t)i;
        else if (depth > 0)
            depth--;
        else
            left++; /* out of a frame that was there at the interruption */
    }
    while (depth > 0 && stored < max)
        frames[stored++] = path->events[open[--depth]].return_address;
    for (size_t i = left + 1; i < n && stored < max; i++)
        frames[stored++] = unwound[i];
    return stored;
}
