/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/member_order.h"

static uint64_t align_up(uint64_t offset, uint64_t alignment)
{
    return (offset + alignment - 1) & ~(alignment - 1);
}

/* Of those that need least padding at the offset, the one of the largest alignment. */
static struct ordered_member *next_member(struct ordered_member *members, size_t count, bool hot,
                                          uint64_t offset)
{
    struct ordered_member *best = NULL;

    for (size_t i = 0; i < count; i++) {
        struct ordered_member *member = &members[i];
        uint64_t start = align_up(offset, member->alignment);

        if (member->placed || member->hot != hot)
            continue;
        if (best == NULL || start < align_up(offset, best->alignment) ||
            (start == align_up(offset, best->alignment) && member->alignment > best->alignment))
            best = member;
    }
    return best;
}

/* The largest of the others that fits into a hole of so many bytes at the offset. */
static struct ordered_member *filler(struct ordered_member *members, size_t count, uint64_t offset,
                                     uint64_t hole)
{
    struct ordered_member *best = NULL;

    for (size_t i = 0; i < count; i++) {
        struct ordered_member *member = &members[i];

        if (!member->placed && !member->hot && member->size > 0 && member->size <= hole &&
            offset % member->alignment == 0 && (best == NULL || member->size > best->size))
            best = member;
    }
    return best;
}

uint64_t order_members(struct ordered_member *members, size_t count)
{
    uint64_t offset = 0, alignment = 1;

    for (size_t i = 0; i < count; i++)
        members[i].placed = false;
    for (size_t placed = 0; placed < count; placed++) {
        struct ordered_member *member = next_member(members, count, true, offset);

        if (member != NULL) {
            struct ordered_member *between =
                filler(members, count, offset, align_up(offset, member->alignment) - offset);

            member = between != NULL ? between : member;
        } else {
            member = next_member(members, count, false, offset);
        }
        member->placed = true;
        member->offset = align_up(offset, member->alignment);
        offset = member->offset + member->size;
        if (member->alignment > alignment)
            alignment = member->alignment;
    }
    return align_up(offset, alignment);
}
