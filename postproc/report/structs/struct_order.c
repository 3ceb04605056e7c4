/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/structs/struct_order.h"

#include <stdlib.h>

#include "report/model/member_order.h"
#include "support/memory.h"

/* Less is not worth an edit, nor carried by what samples tell. */
static const double least_saving = 0.05;

static uint64_t align_up(uint64_t offset, uint64_t alignment)
{
    return (offset + alignment - 1) & ~(alignment - 1);
}

/* The largest power of two that divides the size. */
static uint64_t power_in(uint64_t size)
{
    return size & (~size + 1);
}

struct line_span {
    uint64_t first, last;
};

/* Of a member longer than a line, one use touches a part: it counts as one line. */
static struct line_span lines_of(const struct struct_member *member, uint64_t start, uint64_t line)
{
    uint64_t at = start + member->offset;
    struct line_span span = {at / line, at / line};

    if (member->size > 0 && member->size <= line)
        span.last = (at + member->size - 1) / line;
    return span;
}

/* Distinct lines that the members of the set lie on, when the structure begins at `start`. */
static uint64_t lines_of_set(const struct struct_member *members, size_t count, uint64_t set,
                             uint64_t start, uint64_t line)
{
    uint64_t lines = 0;

    for (size_t i = 0; i < count; i++) {
        struct line_span span = lines_of(&members[i], start, line);

        for (uint64_t at = span.first; (set >> i & 1) != 0 && at <= span.last; at++) {
            bool known = false;

            for (size_t k = 0; k < i && !known; k++) {
                struct line_span other = lines_of(&members[k], start, line);

                known = (set >> k & 1) != 0 && other.first <= at && at <= other.last;
            }
            lines += known ? 0 : 1;
        }
    }
    return lines;
}

double struct_lines(const struct struct_member *members, size_t count,
                    const struct struct_use *uses, size_t use_count,
                    const struct struct_starts *starts)
{
    uint64_t grain = starts->repeat > 0 && power_in(starts->repeat) < starts->grain
                         ? power_in(starts->repeat)
                         : starts->grain;
    double sum = 0, weight = 0;

    for (size_t u = 0; u < use_count; u++) {
        uint64_t lines = 0;

        for (uint64_t start = starts->phase % grain; start < starts->line; start += grain)
            lines += lines_of_set(members, count, uses[u].members, start, starts->line);
        sum += uses[u].weight * (double)lines / (double)(starts->line / grain);
        weight += uses[u].weight;
    }
    return weight > 0 ? sum / weight : 0;
}

struct attempt {
    struct struct_member members[STRUCT_MEMBERS_MAX];
    uint64_t size;
    double lines;
};

/* Members in front keep their places as one block, which is placed first as nothing is aligned
 * more; `hot` of the others come next. */
static void place_members(const struct struct_member *members, size_t count, uint64_t alignment,
                          const bool *hot, struct attempt *out)
{
    struct ordered_member order[STRUCT_MEMBERS_MAX + 1];
    size_t of[STRUCT_MEMBERS_MAX + 1], ordered = 0;
    uint64_t front = 0, end;

    for (size_t i = 0; i < count; i++) {
        out->members[i] = members[i];
        if (members[i].first && members[i].offset + members[i].size > front)
            front = members[i].offset + members[i].size;
    }
    if (front > 0) {
        of[ordered] = count;
        order[ordered++] =
            (struct ordered_member){.size = front, .alignment = alignment, .hot = true};
    }
    for (size_t i = 0; i < count; i++) {
        if (members[i].first || members[i].last)
            continue;
        of[ordered] = i;
        order[ordered++] = (struct ordered_member){
            .size = members[i].size, .alignment = members[i].alignment, .hot = hot[i]};
    }
    end = order_members(order, ordered);
    for (size_t k = 0; k < ordered; k++)
        if (of[k] < count)
            out->members[of[k]].offset = order[k].offset;
    for (size_t i = 0; i < count; i++)
        if (members[i].last)
            out->members[i].offset = end = align_up(end, members[i].alignment);
    out->size = align_up(end, alignment);
}

static size_t most_used(const struct struct_member *members, size_t count, const bool *hot)
{
    size_t best = count;

    for (size_t i = 0; i < count; i++)
        if (!hot[i] && !members[i].first && !members[i].last && members[i].uses > 0 &&
            (best == count || members[i].uses > members[best].uses))
            best = i;
    return best;
}

/* Lines that it touches, if elements are as far apart as they are long then. */
static void count_lines(struct attempt *attempt, size_t count, uint64_t size,
                        const struct struct_use *uses, size_t use_count,
                        const struct struct_starts *starts)
{
    struct struct_starts then = *starts;

    then.repeat = starts->repeat == size ? attempt->size : starts->repeat;
    attempt->lines = struct_lines(attempt->members, count, uses, use_count, &then);
}

static bool is_better(const struct attempt *attempt, const struct attempt *than)
{
    double difference = attempt->lines - than->lines;

    if (difference > 1e-9 || difference < -1e-9)
        return difference < 0;
    return attempt->size < than->size;
}

static uint64_t packed_size(const struct attempt *attempt, size_t count, uint64_t alignment)
{
    uint64_t end = 0;

    for (size_t i = 0; i < count; i++)
        if (attempt->members[i].offset + attempt->members[i].size > end)
            end = attempt->members[i].offset + attempt->members[i].size;
    return align_up(end, alignment);
}

struct struct_order struct_order_find(const struct struct_member *members, size_t count,
                                      uint64_t size, uint64_t alignment,
                                      const struct struct_use *uses, size_t use_count,
                                      const struct struct_starts *starts)
{
    struct struct_order order = {.verdict = ORDER_GOOD, .size = size};
    struct attempt *best, *attempt;
    bool hot[STRUCT_MEMBERS_MAX] = {false};
    size_t next;

    if (count > STRUCT_MEMBERS_MAX)
        return (struct struct_order){.verdict = ORDER_TOO_MANY, .size = size};
    order.lines_now = order.lines_then = struct_lines(members, count, uses, use_count, starts);
    for (size_t i = 0; i < count; i++)
        order.offsets[i] = members[i].offset;
    if (use_count == 0 || order.lines_now == 0)
        order.verdict = ORDER_UNUSED;
    else if (count < 2)
        order.verdict = ORDER_ALONE;
    if (order.verdict != ORDER_GOOD)
        return order;
    best = allocate_zeroed(1, sizeof(*best));
    attempt = allocate_zeroed(1, sizeof(*attempt));
    for (size_t i = 0; i < count; i++)
        best->members[i] = members[i];
    best->size = size;
    best->lines = order.lines_now;
    while ((next = most_used(members, count, hot)) < count) {
        hot[next] = true;
        place_members(members, count, alignment, hot, attempt);
        count_lines(attempt, count, size, uses, use_count, starts);
        if (attempt->size <= size && is_better(attempt, best))
            *best = *attempt;
        /* As long as it was, it may cross fewer lines: 128 bytes rather than 120. */
        if (attempt->size < size) {
            attempt->size = size;
            count_lines(attempt, count, size, uses, use_count, starts);
            if (is_better(attempt, best))
                *best = *attempt;
        }
    }
    if (best->lines < order.lines_now * (1 - least_saving) ||
        (double)best->size < (double)size * (1 - least_saving)) {
        order.verdict = ORDER_BETTER;
        order.size = best->size;
        order.padded = best->size == size && packed_size(best, count, alignment) < size;
        order.lines_then = best->lines;
        for (size_t i = 0; i < count; i++)
            order.offsets[i] = best->members[i].offset;
    }
    free(attempt);
    free(best);
    return order;
}
