/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "output/paths.h"

#include <string.h>

#include "recording/tape.h"
#include "unwinding/attribution.h"

#include "signal_safe.h"

void paths_begin(struct paths *paths, ucontext_t *context)
{
    uint64_t frames[UNWIND_FRAMES_MAX];
    size_t n = attribution_frames(context, frames);

    paths->above_count = n < CALL_PATH_FRAMES ? n : CALL_PATH_FRAMES;
    memcpy(paths->above, frames, paths->above_count * sizeof *frames);
    paths->sought = false;
    call_path_begin(&paths->calls, paths->above, paths->above_count);
}

void paths_rewind(struct paths *paths)
{
    paths->sought = false;
    call_path_rewind(&paths->calls, paths->above, paths->above_count);
}

static struct remembered_path *place_of(struct paths *paths, uint64_t hash)
{
    return &paths->remembered[hash % PATHS_REMEMBERED];
}

/* 0: not known. */
static uint32_t recall(struct paths *paths, uint64_t hash)
{
    const struct remembered_path *path = place_of(paths, hash);

    return path->hash == hash ? path->number : 0;
}

static void remember(struct paths *paths, uint64_t hash, uint32_t number)
{
    *place_of(paths, hash) = (struct remembered_path){.hash = hash, .number = number};
}

static bool is_numbered(struct paths *paths, struct call_frame_entry *frame)
{
    if (frame->number == 0)
        frame->number = recall(paths, frame->hash);
    return frame->number != 0;
}

/* Few frames: all of them tell the path, which goes on from the one that they had before. */
static uint32_t number_all(struct paths *paths)
{
    struct call_frame_entry *frames = paths->calls.frames;
    unsigned depth = paths->calls.depth, i = depth;
    uint32_t number;

    while (i > 0 && !is_numbered(paths, &frames[i - 1]))
        i--;
    number = i > 0 ? frames[i - 1].number : 0;
    for (; i < depth; i++) {
        if (frames[i].return_address != CALL_PATH_HIDDEN) {
            number = attribution_path_on(number, frames[i].return_address);
            if (number == 0)
                return 0;
        }
        frames[i].number = number;
        remember(paths, frames[i].hash, number);
    }
    return number;
}

/* Many: the innermost ones do, and another set of them after each call. */
static uint32_t number_innermost(struct paths *paths)
{
    uint64_t frames[CALL_PATH_FRAMES], hash = call_path_hash(&paths->calls);
    uint32_t number = recall(paths, hash);

    if (number == 0) {
        number = attribution_path(frames, call_path_frames(&paths->calls, frames));
        remember(paths, hash, number);
    }
    return number;
}

static uint32_t find(struct paths *paths)
{
    if (!call_path_is_known(&paths->calls))
        return 0;
    return paths->calls.depth <= CALL_PATH_FRAMES ? number_all(paths) : number_innermost(paths);
}

uint32_t paths_at(struct paths *paths, uint32_t index)
{
    bool moved = call_path_seek(&paths->calls, index);

    if (moved || !paths->sought)
        paths->current = (uint32_t)tape_value(TAPE_ATTRIBUTION, tape_supplies() ? 0 : find(paths));
    paths->sought = true;
    return paths->current;
}
