/* SPDX-License-Identifier: BSD-3-Clause */
/* See object_groups.h. */
#include "objects/object_groups.h"

#include <stddef.h>
#include <string.h>

enum { KEY_DIGITS = 8 };

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* name:key; the name may hold colons. */
static bool parse_member(const char *text, size_t length, uint32_t *key)
{
    if (length < KEY_DIGITS + 1 || text[length - KEY_DIGITS - 1] != ':')
        return false;
    *key = 0;
    for (size_t i = length - KEY_DIGITS; i < length; i++) {
        if (digit(text[i]) < 0)
            return false;
        *key = *key << 4 | (uint32_t)digit(text[i]);
    }
    return true;
}

bool object_groups_parse(const char *text, struct object_groups *groups)
{
    memset(groups, 0, sizeof *groups);
    if (*text == '\0')
        return true;
    groups->count = 1;
    for (;;) {
        size_t length = strcspn(text, "+,");
        struct object_group *group = &groups->items[groups->count - 1];
        if (group->count == OBJECT_GROUP_MEMBERS_MAX ||
            !parse_member(text, length, &group->keys[group->count]))
            return false;
        group->count++;
        text += length;
        if (*text == '\0')
            return true;
        if (*text++ == ',' && groups->count++ == OBJECT_GROUPS_MAX)
            return false;
    }
}
