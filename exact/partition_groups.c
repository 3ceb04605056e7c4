/* SPDX-License-Identifier: BSD-3-Clause */
/* See partition_groups.h. */
#include "partition_groups.h"

#include <stdbool.h>
#include <stddef.h>

#include "heap.h"
#include "modules.h"
#include "objects.h"
#include "objects/doorbell.h"
#include "objects/object_groups.h"
#include "objects/object_key.h"
#include "output.h"

static struct object_groups groups; /* set before the guest starts */

/* Members that an object was found for; bits are set by any thread. */
static uint32_t found[OBJECT_GROUPS_MAX];

void partition_groups_choose(const char *list)
{
    (void)object_groups_parse(list, &groups);
}

unsigned partition_groups_count(void)
{
    return groups.count;
}

static uint64_t add_address(uint64_t key, uint64_t address)
{
    for (struct module *module = modules_all(); module != NULL; module = module->following)
        if (address >= module->start && address < module->end)
            return object_key_address(key, module->path, address - module->start);
    return key;
}

static uint32_t key_of(struct object_identity identity)
{
    uint64_t key = object_key_begin(identity.kind), frames[DOORBELL_FRAMES_MAX];
    char name[DOORBELL_NAME_MAX];

    if (identity.kind == OBJECT_GLOBAL)
        return object_key_end(add_address(key, identity.symbol));
    size_t n = heap_site_frames(identity.reference, frames, DOORBELL_FRAMES_MAX, name);
    if (identity.kind == OBJECT_NAMED)
        return object_key_end(object_key_text(key, name));
    for (size_t i = 0; i < n; i++)
        key = add_address(key, frames[i]);
    return object_key_end(key);
}

uint32_t partition_groups_of(uint32_t object)
{
    struct object_identity identity = object_identity(object);
    uint32_t of = 0;

    if (identity.kind != OBJECT_HEAP && identity.kind != OBJECT_MAPPING &&
        identity.kind != OBJECT_NAMED && !(identity.kind == OBJECT_GLOBAL && identity.symbol != 0))
        return 0;
    uint32_t key = key_of(identity);
    for (unsigned g = 0; g < groups.count; g++)
        for (unsigned m = 0; m < groups.items[g].count; m++)
            if (groups.items[g].keys[m] == key) {
                of |= UINT32_C(1) << g;
                __atomic_or_fetch(&found[g], UINT32_C(1) << m, __ATOMIC_RELAXED);
            }
    return of;
}

void partition_groups_note_missing(void)
{
    for (unsigned g = 0; g < groups.count; g++)
        for (unsigned m = 0; m < groups.items[g].count; m++)
            if (!(__atomic_load_n(&found[g], __ATOMIC_RELAXED) >> m & 1))
                output_note("--partition-groups: no data object with the key %08x was used; keys "
                            "hold for the very program file that they were made for",
                            groups.items[g].keys[m]);
}
