/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions on what is done with members. */
#include "report/structs/type_uses.h"

/* A thread with this part of the accesses has a member for itself. */
static const double owner_share = 0.9;

double type_uses_together(const struct used_type *used, size_t member, size_t other)
{
    double both = 0, either = 0;

    if (member >= STRUCT_MEMBERS_MAX || other >= STRUCT_MEMBERS_MAX)
        return 0;
    for (size_t i = 0; i < used->together.count; i++) {
        const struct struct_use *use = &used->together.items[i];
        bool a = use->members >> member & 1, b = use->members >> other & 1;

        both += a && b ? use->weight : 0;
        either += a || b ? use->weight : 0;
    }
    return either > 0 ? both / either : 0;
}

uint32_t member_use_owner(const struct member_use *use)
{
    for (size_t i = 0; i < use->threads.count; i++)
        if (use->threads.items[i].loads + use->threads.items[i].stores >=
            owner_share * use->accesses)
            return use->threads.items[i].thread;
    return GROUP_NONE;
}

size_t member_use_readers(const struct member_use *use)
{
    size_t count = 0;

    for (size_t i = 0; i < use->threads.count; i++)
        count += use->threads.items[i].loads > 0;
    return count;
}

size_t member_use_writers(const struct member_use *use)
{
    size_t count = 0;

    for (size_t i = 0; i < use->threads.count; i++)
        count += use->threads.items[i].stores > 0;
    return count;
}
