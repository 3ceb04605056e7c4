/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/structs/struct_advice.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Members that make this part of the accesses are what a structure of their own would hold. */
static const double hot_share = 0.95;

/* Fewer say too little of what is used together. */
enum { BURSTS_MIN = 8 };

const char *struct_advice_name(enum struct_advice_kind kind)
{
    static const char *const names[] = {[STRUCT_REORDER] = "reorder",
                                        [STRUCT_GOOD] = "good",
                                        [STRUCT_UNKNOWN] = "too few samples",
                                        [STRUCT_FIXED] = "fixed"};

    return names[kind];
}

void struct_advice_free(struct struct_advice *advice)
{
    free(advice->text);
}

static bool is_of_library(const char *module)
{
    return module != NULL && strstr(module, ".so") != NULL;
}

/* Why the order is not the programmer's to choose; NULL: it is. The caller frees it. */
static char *reason_to_stay(const struct used_type *used)
{
    const struct type_members *members = &used->members;

    if (members->is_union)
        return copy_string("A union: its members lie in one place, there is no order.");
    if (members->file != NULL && (strncmp(members->file, "/usr/include/", 13) == 0 ||
                                  strncmp(members->file, "/usr/lib/", 9) == 0))
        return copy_string("Declared in a header of the system: code that was compiled elsewhere "
                           "relies on its layout.");
    if (members->packed)
        return copy_string("Packed: members lie where their types could not, as a format from "
                           "outside may ask. It is left as it is.");
    if (members->items.count > STRUCT_MEMBERS_MAX)
        return format_string("More than %d members: no order was tried.", STRUCT_MEMBERS_MAX);
    return NULL;
}

/* Two members, one of them written, that different threads use; false: there are none. */
static bool parted_members(const struct used_type *used, size_t *first, size_t *second)
{
    for (size_t i = 0; i < used->members.items.count; i++) {
        uint32_t owner = member_use_owner(&used->uses[i]);

        for (size_t k = 0; owner != GROUP_NONE && k < i; k++) {
            uint32_t other = member_use_owner(&used->uses[k]);

            if (other == GROUP_NONE || other == owner ||
                used->uses[i].stores + used->uses[k].stores == 0)
                continue;
            *first = k;
            *second = i;
            return true;
        }
    }
    return false;
}

static void list_members(const struct used_type *used, struct struct_member *out)
{
    for (size_t i = 0; i < used->members.items.count; i++) {
        const struct type_member *member = &used->members.items.items[i];

        out[i] = (struct struct_member){.offset = member->offset,
                                        .size = member->size,
                                        .alignment = member->alignment,
                                        .uses = used->uses[i].accesses,
                                        .first = member->kind == MEMBER_BASE ||
                                                 member->kind == MEMBER_TABLE,
                                        .last = member->kind == MEMBER_OPEN};
    }
}

/* "b, a, c": by their offsets then. The caller frees it. */
static char *order_text(const struct used_type *used, const struct struct_order *order)
{
    size_t count = used->members.items.count;
    char *text = copy_string("");
    bool done[STRUCT_MEMBERS_MAX] = {false};

    for (size_t placed = 0; placed < count; placed++) {
        size_t next = count;
        char *longer;

        for (size_t i = 0; i < count; i++)
            if (!done[i] && (next == count || order->offsets[i] < order->offsets[next]))
                next = i;
        done[next] = true;
        longer = format_string("%s%s%s", text, placed > 0 ? ", " : "",
                               used->members.items.items[next].name);
        free(text);
        text = longer;
    }
    return text;
}

/* What parting the structure would give, where most of it is hardly used; "" where that is not so.
 * The caller frees it. */
static char *split_text(const struct used_type *used)
{
    size_t count = used->members.items.count;
    double sum = 0, all = used->accesses - used->padding;
    uint64_t bytes = 0;
    bool taken[STRUCT_MEMBERS_MAX] = {false};
    char *names = copy_string(""), *text;

    while (all > 0 && sum < hot_share * all) {
        size_t most = count;
        char *longer;

        for (size_t i = 0; i < count; i++)
            if (!taken[i] && (most == count || used->uses[i].accesses > used->uses[most].accesses))
                most = i;
        if (most == count || !(used->uses[most].accesses > 0))
            break;
        taken[most] = true;
        sum += used->uses[most].accesses;
        bytes += used->members.items.items[most].size;
        longer = format_string("%s%s%s", names, *names != '\0' ? ", " : "",
                               used->members.items.items[most].name);
        free(names);
        names = longer;
    }
    if (bytes > 0 && 2 * bytes <= used->members.size && used->starts.repeat > 0)
        text = format_string(" About %d %% of the accesses go to %s, %" PRIu64 " of %" PRIu64
                             " B: as an array of their own, %.3g elements lie on a line.",
                             (int)lround(100 * sum / all), names, bytes, used->members.size,
                             (double)used->starts.line / (double)bytes);
    else
        text = copy_string("");
    free(names);
    return text;
}

static char *order_advice(const struct used_type *used, const struct struct_order *order)
{
    char *members, *size, *split = split_text(used), *text;

    if (order->verdict != ORDER_BETTER) {
        text = format_string("No better order: a use of an element touches %.3g line%s, and no "
                             "other saves a twentieth of that or of the size.%s",
                             order->lines_now, order->lines_now == 1 ? "" : "s", split);
        free(split);
        return text;
    }
    members = order_text(used, order);
    size = order->size < used->members.size
               ? format_string(", and an element takes %" PRIu64 " B instead of %" PRIu64,
                               order->size, used->members.size)
           : order->padded
               ? format_string(", if padding at its end keeps it at %" PRIu64 " B", order->size)
               : copy_string("");
    text = format_string(
        "Better order: %s. A use of an element then touches %.3g line%s instead of "
        "%.3g%s (modelled).%s%s",
        members, order->lines_then, order->lines_then == 1 ? "" : "s", order->lines_now, size,
        is_of_library(used->module) ? " It lies in a library: programs may rely on its layout."
                                    : "",
        split);
    free(size);
    free(members);
    free(split);
    return text;
}

struct struct_advice struct_advice_of(const struct model *model, const struct used_type *used)
{
    struct struct_advice advice = {.kind = STRUCT_FIXED, .text = reason_to_stay(used)};
    struct struct_member members[STRUCT_MEMBERS_MAX];
    size_t first, second;

    if (advice.text != NULL)
        return advice;
    list_members(used, members);
    advice.order = struct_order_find(members, used->members.items.count, used->members.size,
                                     used->members.alignment, used->together.items,
                                     used->together.count, &used->starts);
    if (used->bursts < BURSTS_MIN) {
        advice.kind = STRUCT_UNKNOWN;
        advice.text = format_string("Seen in %zu bursts, too few to propose an order: run for "
                                    "longer.",
                                    used->bursts);
    } else if (model->threads.count > 1 && parted_members(used, &first, &second)) {
        advice.text = format_string(
            "Different threads use %s and %s, and write there: they belong on lines of their own "
            "(see --sharing). No order is proposed.",
            used->members.items.items[first].name, used->members.items.items[second].name);
    } else {
        advice.kind = advice.order.verdict == ORDER_BETTER ? STRUCT_REORDER : STRUCT_GOOD;
        advice.text = order_advice(used, &advice.order);
    }
    return advice;
}
