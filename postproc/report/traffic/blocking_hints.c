/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/traffic/blocking_hints.h"

#include <math.h>

/* A fall of the curve may take this factor of sizes: sampled curves are not steps. */
static const double fall_width = 4;

/* More of a stream's misses may stop in no cache between the first and the last. */
static const double flat = 0.8;

/* Less of a fetched line's bytes asked for than this part is a matter of layout. */
static const double sparse = 0.25;

static size_t point_of_level(const struct hint_question *question, size_t level)
{
    double bytes = (double)question->machine->caches[level].bytes;
    size_t at = 0;

    while (at + 1 < question->count && question->points[at].bytes < bytes)
        at++;
    return at;
}

/* Points that are known: those before the first that lies beyond what was watched. */
static size_t known_points(const struct hint_question *question)
{
    size_t known = 0;

    while (known < question->count && !question->points[known].beyond)
        known++;
    return known;
}

static struct estimate misses_at(const struct hint_question *question, size_t point)
{
    struct estimate ratio = question->points[point].miss_ratio;

    return (struct estimate){ratio.value * question->accesses, ratio.lo * question->accesses,
                             ratio.hi * question->accesses};
}

/* The size at which most of a fall is done. */
static size_t end_of_fall(const struct hint_question *question, size_t from, size_t to)
{
    double high = question->points[from].miss_ratio.value;
    double low = question->points[to].miss_ratio.value;
    size_t at = from;

    while (at < to && question->points[at].miss_ratio.value > low + 0.1 * (high - low))
        at++;
    return at;
}

/* The steepest fall beyond the first cache: *from and *to; how much of a ratio falls. */
static double steepest_fall(const struct hint_question *question, size_t known, size_t *from,
                            size_t *to)
{
    double most = 0;

    for (size_t a = point_of_level(question, 0); a < known; a++)
        for (size_t b = a + 1;
             b < known && question->points[b].bytes <= fall_width * question->points[a].bytes;
             b++) {
            double fall =
                question->points[a].miss_ratio.value - question->points[b].miss_ratio.value;

            /* Of equal falls the shortest: it tells the size best. */
            if (fall > most * (1 + 1e-9)) {
                most = fall;
                *from = a;
                *to = b;
            }
        }
    return most;
}

/* A reuse that needs hardly more than a cache has is noise of the model: associativity alone moves
 * it in or out. */
static const double hardly_more = 1.2;

/* The outermost cache that is clearly smaller than what the reuse needs. */
static size_t level_below(const struct machine *machine, double bytes)
{
    size_t level = 0;

    while (level + 1 < machine->levels &&
           hardly_more * (double)machine->caches[level + 1].bytes < bytes)
        level++;
    return level;
}

static bool is_worthwhile(const struct hint_question *question, const struct hint *hint)
{
    double least =
        hint->level == 0 && question->machine->levels > 1 ? HINT_FIRST_MISSES_MIN : HINT_MISSES_MIN;

    return hint->misses.lo > 0 && hint->misses.value >= least * question->total_accesses;
}

static bool find_block(const struct hint_question *question, size_t known, struct hint *hint)
{
    size_t from = 0, to = 0, level_point;
    double fall = steepest_fall(question, known, &from, &to);
    double first = question->points[point_of_level(question, 0)].miss_ratio.value;
    struct estimate before, after;

    if (first <= 0 || fall < HINT_FALL_MIN * first)
        return false;
    hint->need_bytes = question->points[end_of_fall(question, from, to)].bytes;
    hint->level = level_below(question->machine, hint->need_bytes);
    level_point = point_of_level(question, hint->level);
    before = misses_at(question, level_point);
    after = misses_at(question, to);
    hint->misses = (struct estimate){before.value - after.value, fmax(0, before.lo - after.hi),
                                     before.hi - after.lo};
    hint->kind = HINT_BLOCK;
    return level_point < to &&
           hint->need_bytes > hardly_more * (double)question->machine->caches[hint->level].bytes &&
           is_worthwhile(question, hint);
}

/* Misses that no cache stops: the last level that is known, if the curve is flat up to it. */
static bool find_stream(const struct hint_question *question, size_t known, struct hint *hint)
{
    size_t first = point_of_level(question, 0), last = 0;
    double missed, asked;

    if (known == 0 || question->machine->levels < 2)
        return false;
    hint->level = question->machine->levels - 1;
    while (hint->level > 1 && point_of_level(question, hint->level) >= known)
        hint->level--;
    last = point_of_level(question, hint->level);
    missed = question->points[first].miss_ratio.value;
    if (last >= known || missed <= 0 || question->points[last].miss_ratio.value < flat * missed)
        return false;
    hint->misses = misses_at(question, last);
    if (!is_worthwhile(question, hint))
        return false;
    asked = question->width / question->points[last].miss_ratio.value;
    hint->bytes_of_line = fmin(asked, question->line_size);
    if (question->width > 0 && hint->bytes_of_line <= sparse * question->line_size) {
        hint->kind = HINT_LAYOUT;
        return true;
    }
    /* Without widths: a line that is fetched serves several accesses. */
    hint->kind = HINT_STREAM;
    return question->width > 0 ? hint->bytes_of_line > (1 - sparse) * question->line_size
                               : question->points[last].miss_ratio.value <= 0.5;
}

struct hint hint_for(const struct hint_question *question)
{
    struct hint hint = {.kind = HINT_NONE};
    size_t known = known_points(question);

    if (question->machine->levels == 0 || question->accesses <= 0)
        return hint;
    if (find_block(question, known, &hint) || find_stream(question, known, &hint))
        return hint;
    return (struct hint){.kind = HINT_NONE};
}
