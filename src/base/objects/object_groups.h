/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of data objects as an option has them: groups apart by commas, members by plus signs, each
 * member a name for the reader, a colon, and its key (object_key.h) in eight hexadecimal digits:
 *
 *     values:1f00c2aa+column_indices:90e1b7d4,x:00c0ffee
 *
 * Pure, no allocation, signal-safe.
 */
#ifndef REUSE_OBJECTS_OBJECT_GROUPS_H
#define REUSE_OBJECTS_OBJECT_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

enum { OBJECT_GROUPS_MAX = 8, OBJECT_GROUP_MEMBERS_MAX = 16 };

struct object_group {
    unsigned count;
    uint32_t keys[OBJECT_GROUP_MEMBERS_MAX];
};

struct object_groups {
    unsigned count;
    struct object_group items[OBJECT_GROUPS_MAX];
};

/* Reads a list; "" is none. False when it is not one, or holds too many groups or members. */
bool object_groups_parse(const char *text, struct object_groups *);

#endif
