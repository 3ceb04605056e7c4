/* SPDX-License-Identifier: BSD-3-Clause */
/* --partition-groups: which of the chosen groups a data object belongs to, told by its key
 * (objects/object_key.h). Any thread. */
#ifndef REUSE_EXACT_PARTITION_GROUPS_H
#define REUSE_EXACT_PARTITION_GROUPS_H

#include <stdint.h>

#include "profile/writer.h"

/* Before the guest starts: a list that object_groups_parse() takes. */
void partition_groups_choose(const char *list);

unsigned partition_groups_count(void);

/* Bit g: the object is a member of group g. */
uint32_t partition_groups_of(uint32_t object);

/* Says of the groups' members which no object of the run was. Once, at its end. */
void partition_groups_note_missing(void);

#endif
