/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/shared_footprint.h"

#include <stdbool.h>
#include <string.h>

#include "sampling/hash.h"
#include "sampling/line_mask.h"

#include "signal_safe.h"

/* So long the same lines are preferred, in ns as a power of two: a quarter of a second, several
 * bursts of every process. */
enum { TURN_LOG2 = 28 };

enum { NONE = SHARED_USES_MAX + 1 };

static uint64_t hash_of(const struct shared_range *range, uint64_t line, uint64_t now_ns)
{
    return hash_mix(hash_mix(hash_mix(range->device * 31 + range->inode) + line) +
                    (now_ns >> TURN_LOG2));
}

/* Number of the use of that hash, put in its place if it is among the lowest; NONE: it is not. */
static unsigned use_of(struct shared_footprint *footprint, uint64_t hash)
{
    unsigned at = 0;

    while (at < footprint->count && footprint->hashes[at] < hash)
        at++;
    if (at < footprint->count && footprint->hashes[at] == hash)
        return at;
    if (at > SHARED_USES_MAX)
        return NONE;
    if (footprint->count <= SHARED_USES_MAX)
        footprint->count++;
    for (unsigned i = footprint->count - 1; i > at; i--) {
        footprint->uses[i] = footprint->uses[i - 1];
        footprint->visits[i] = footprint->visits[i - 1];
        footprint->hashes[i] = footprint->hashes[i - 1];
    }
    footprint->hashes[at] = hash;
    memset(&footprint->uses[at], 0, sizeof footprint->uses[at]);
    memset(&footprint->visits[at], 0, sizeof footprint->visits[at]);
    return at;
}

/* The part of the access that lies in one line of the file. */
static void add_part(struct shared_footprint *footprint, const struct access *access,
                     uint32_t index, const struct shared_range *range, unsigned number,
                     uint64_t from, uint64_t to, uint32_t line_size, uint64_t now_ns)
{
    uint64_t line = line_start(from, line_size);
    unsigned at = use_of(footprint, hash_of(range, line, now_ns));
    struct record_shared_use *use = &footprint->uses[at];

    if (at == NONE)
        return;
    use->mapping_id = number + 1;
    use->line = line;
    shared_use_add(use, &footprint->visits[at], access, index, (uint16_t)(from - line),
                   (uint8_t)(to - from), line_mask(line, line_size, from, (uint32_t)(to - from)));
}

void shared_footprint_find(struct shared_footprint *footprint, const struct access *accesses,
                           uint32_t n, const struct shared_range *ranges, unsigned range_count,
                           uint32_t line_size, uint64_t now_ns)
{
    unsigned last = 0;

    footprint->count = 0;
    for (uint32_t i = 0; i < n && range_count > 0; i++) {
        uint64_t address = accesses[i].address;

        if (address - ranges[last].start >= ranges[last].end - ranges[last].start) {
            unsigned r = 0;

            while (r < range_count && address - ranges[r].start >= ranges[r].end - ranges[r].start)
                r++;
            if (r == range_count)
                continue;
            last = r;
        }
        const struct shared_range *range = &ranges[last];
        uint64_t from = address - range->start + range->offset;
        uint64_t end = from + accesses[i].width, most = range->end - range->start + range->offset;

        end = end < most ? end : most;
        while (from < end) {
            uint64_t next = line_start(from, line_size) + line_size;

            next = next < end ? next : end;
            add_part(footprint, &accesses[i], i, range, last, from, next, line_size, now_ns);
            from = next;
        }
    }
    /* That one line more would have been told with a lower hash is the probability of the others.
     */
    double share = 1;

    if (footprint->count > SHARED_USES_MAX) {
        footprint->count = SHARED_USES_MAX;
        share = ((double)footprint->hashes[SHARED_USES_MAX] + 1) * 0x1p-64;
    }
    for (unsigned i = 0; i < footprint->count; i++)
        footprint->uses[i].share = share;
}
