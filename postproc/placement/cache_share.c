/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement/cache_share.h"

#include <math.h>
#include <stdlib.h>

#include "support/memory.h"

/* At any size: linear between the points, constant outside of them. */
static double miss_ratio_at(const struct thread_locality *thread, double bytes)
{
    size_t high = 0;

    while (high < thread->points && thread->bytes[high] < bytes)
        high++;
    if (thread->points == 0)
        return 0;
    if (high == 0)
        return thread->miss_ratio[0];
    if (high == thread->points)
        return thread->miss_ratio[high - 1];
    return thread->miss_ratio[high - 1] +
           (thread->miss_ratio[high] - thread->miss_ratio[high - 1]) *
               (bytes - thread->bytes[high - 1]) / (thread->bytes[high] - thread->bytes[high - 1]);
}

/*
 * Bytes that the thread fetches in the time of a given part of the run. Over a step of sizes with
 * constant miss ratio m the time passes linearly: dt = dc / (line_size accesses m).
 */
static double occupancy_after(const struct thread_locality *thread, double time, double line_size)
{
    double bytes = 0, passed = 0;

    for (size_t i = 0; i <= thread->points; i++) {
        bool last = i == thread->points;
        double next = last ? INFINITY : thread->bytes[i];
        double ratio = miss_ratio_at(thread, last ? bytes : (bytes + next) / 2);
        double speed = line_size * thread->accesses * ratio;

        /* Nothing more is fetched: it has what it uses. */
        if (speed <= 0)
            return bytes;
        if (last || passed + (next - bytes) / speed >= time)
            return bytes + (time - passed) * speed;
        passed += (next - bytes) / speed;
        bytes = next;
    }
    return bytes;
}

static double occupancy_of_all(const struct thread_locality *threads, size_t count, double time,
                               double line_size)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += occupancy_after(&threads[i], time, line_size);
    return sum;
}

void cache_share_misses(const struct thread_locality *threads, size_t count, double cache_bytes,
                        double line_size, double *misses)
{
    enum { HALVINGS = 60 };
    double time = 1; /* the whole run: the cache never fills up */

    if (occupancy_of_all(threads, count, 1, line_size) > cache_bytes) {
        double low = 0, high = 1;

        for (int i = 0; i < HALVINGS; i++) {
            time = (low + high) / 2;
            if (occupancy_of_all(threads, count, time, line_size) > cache_bytes)
                high = time;
            else
                low = time;
        }
    }
    for (size_t i = 0; i < count; i++)
        misses[i] = threads[i].accesses *
                    miss_ratio_at(&threads[i], occupancy_after(&threads[i], time, line_size));
}

/* Misses of the threads of one group. */
static double group_misses(const struct placement_tree *tree, size_t level, uint32_t group,
                           size_t threads, const uint32_t *place,
                           const struct thread_locality *localities, double line_size)
{
    struct thread_locality *members = allocate_zeroed(threads, sizeof(*members));
    double *misses = allocate_zeroed(threads, sizeof(*misses)), sum = 0;
    size_t count = 0;

    for (size_t i = 0; i < threads; i++)
        if (tree->levels[level].group[place[i]] == group)
            members[count++] = localities[i];
    cache_share_misses(members, count, (double)tree->levels[level].cache_bytes, line_size, misses);
    for (size_t i = 0; i < count; i++)
        sum += misses[i];
    free(misses);
    free(members);
    return sum;
}

struct edge_traffic cache_share_traffic(const struct communication_matrix *matrix,
                                        const struct placement_tree *tree, size_t level,
                                        const uint32_t *place,
                                        const struct thread_locality *localities, double line_size)
{
    const struct tree_level *caches = &tree->levels[level];
    double *lines = allocate_zeroed(caches->groups, sizeof(*lines));
    struct edge_traffic traffic = {0};

    for (uint32_t group = 0; group < caches->groups; group++) {
        lines[group] =
            group_misses(tree, level, group, matrix->threads, place, localities, line_size);
        traffic.misses += lines[group];
    }
    for (uint32_t a = 0; a < matrix->threads; a++) {
        for (size_t i = matrix->begin[a]; i < matrix->begin[a + 1]; i++) {
            uint32_t b = matrix->entries[i].column;

            if (b < a || caches->group[place[a]] == caches->group[place[b]])
                continue;
            traffic.transfers += matrix->entries[i].weight;
            lines[caches->group[place[a]]] += matrix->entries[i].weight;
            lines[caches->group[place[b]]] += matrix->entries[i].weight;
        }
    }
    for (uint32_t group = 0; group < caches->groups; group++)
        traffic.busiest = fmax(traffic.busiest, lines[group]);
    free(lines);
    return traffic;
}
