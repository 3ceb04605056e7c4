/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sharing/structure_lines.h"

#include <stdlib.h>
#include <string.h>

#include "report/sharing/member_lines.h"

static uint64_t member_offset(const struct collision_side *side)
{
    return side->offset - side->instance_offset;
}

static bool is_of_structure(const struct false_sharing *a, const struct false_sharing *b)
{
    return b->collision == COLLISION_MEMBERS && a->sides[1].object == b->sides[1].object &&
           a->type_size == b->type_size &&
           (a->type == b->type ||
            (a->type != NULL && b->type != NULL && strcmp(a->type, b->type) == 0));
}

/* Pairs of members to be parted, and what the second ones are called. */
struct pair_list {
    struct member_pair *pairs;
    const struct false_sharing **findings;
    size_t count;
};

static void list_pairs(const false_sharing_list *findings, const struct false_sharing *one,
                       double accesses, struct pair_list *list)
{
    list->pairs = allocate_zeroed(findings->count, sizeof(*list->pairs));
    list->findings = allocate_zeroed(findings->count, sizeof(*list->findings));
    list->count = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const struct false_sharing *other = &findings->items[i];

        if (other != one &&
            (!is_of_structure(one, other) || worth_of(other, accesses) == PARTING_WORTHLESS))
            continue;
        list->pairs[list->count] =
            (struct member_pair){member_offset(&other->sides[0]), member_offset(&other->sides[1])};
        list->findings[list->count++] = other;
    }
}

static const char *name_at(const struct pair_list *list, uint64_t offset)
{
    for (size_t i = 0; i < list->count; i++)
        if (member_offset(&list->findings[i]->sides[1]) == offset)
            return list->findings[i]->sides[1].member;
    return "";
}

/* The end of the last member before `offset` that is to be parted from what lies there. */
static uint64_t parted_end(const struct pair_list *list, uint64_t offset)
{
    uint64_t end = 0;

    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < 2; k++) {
            const struct collision_side *side = &list->findings[i]->sides[k];
            uint64_t begin = member_offset(side);

            if (begin < offset && begin + side->size > end)
                end = begin + side->size;
        }
    return end;
}

/* The first member from `from` on and before `to`; NULL: none, or not known. */
static const char *member_between(const struct data_type *instance, uint64_t from, uint64_t to)
{
    struct type_members members = {0};
    const char *name = NULL;

    if (!data_type_members(instance, &members))
        return NULL;
    for (size_t i = 0; i < members.items.count && name == NULL; i++) {
        const struct type_member *member = &members.items.items[i];

        if (member->kind == MEMBER_PLAIN && member->offset >= from && member->offset < to &&
            member->size > 0)
            name = member->name;
    }
    free(members.items.items);
    return name;
}

static void plan(const false_sharing_list *findings, const struct data_type *instance,
                 struct false_sharing *finding, double accesses)
{
    struct pair_list list;
    uint64_t *begins;
    size_t count;

    list_pairs(findings, finding, accesses, &list);
    begins = allocate_zeroed(list.count, sizeof(*begins));
    count = member_lines_begin(list.pairs, list.count, begins);
    finding->begin_count = count;
    for (size_t i = 0; i < count && i < FALSE_SHARING_BEGINS_MAX; i++)
        finding->begins[i] = (struct line_begin){
            .offset = begins[i],
            .member = name_at(&list, begins[i]),
            .between = member_between(instance, parted_end(&list, begins[i]), begins[i])};
    free(begins);
    free(list.findings);
    free(list.pairs);
}

void structure_lines_plan(const false_sharing_list *findings, const struct data_type *instances,
                          double accesses)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].collision == COLLISION_MEMBERS)
            plan(findings, &instances[i], &findings->items[i], accesses);
}
