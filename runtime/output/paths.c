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

static uint32_t find(struct paths *paths)
{
    uint64_t frames[CALL_PATH_FRAMES], hash;
    unsigned place;

    if (!call_path_is_known(&paths->calls))
        return 0;
    hash = call_path_hash(&paths->calls);
    place = hash % PATHS_REMEMBERED;
    if (paths->remembered[place].number == 0 || paths->remembered[place].hash != hash) {
        paths->remembered[place].hash = hash;
        paths->remembered[place].number =
            attribution_path(frames, call_path_frames(&paths->calls, frames));
    }
    return paths->remembered[place].number;
}

uint32_t paths_at(struct paths *paths, uint32_t index)
{
    bool moved = call_path_seek(&paths->calls, index);

    if (moved || !paths->sought)
        paths->current = (uint32_t)tape_value(TAPE_ATTRIBUTION, tape_supplies() ? 0 : find(paths));
    paths->sought = true;
    return paths->current;
}
