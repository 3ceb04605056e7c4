/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/shared_use.h"

#include <stdbool.h>

#include "signal_safe.h"

/* Whether the access is of another visit than the one before; count: visits so far. */
static bool is_new(struct shared_use_visit *visit, uint16_t count, uint32_t index)
{
    bool new = count == 0 || index - visit->last > LINE_VISIT_GAP ||
               index - visit->first >= LINE_VISIT_ACCESSES;

    visit->first = new ? index : visit->first;
    visit->last = index;
    return new;
}

static void add_store(struct record_shared_use *use, struct shared_use_visits *visits,
                      const struct access *access, uint32_t index, uint16_t offset, uint8_t width)
{
    if (!is_new(&visits->store, use->stores, index))
        return;
    if (use->stores == 0) {
        use->store_ip = access->ip;
        use->store_offset = offset;
        use->store_width = width;
    }
    use->stores++;
}

static void add_load(struct record_shared_use *use, struct shared_use_visits *visits,
                     const struct access *access, uint32_t index, uint16_t offset, uint8_t width)
{
    if (!is_new(&visits->load, use->loads, index))
        return;
    if (use->loads == 0) {
        use->load_ip = access->ip;
        use->load_offset = offset;
        use->load_width = width;
    }
    use->loads++;
}

void shared_use_add(struct record_shared_use *use, struct shared_use_visits *visits,
                    const struct access *access, uint32_t index, uint16_t offset, uint8_t width,
                    uint64_t mask)
{
    if (access->kind == ACCESS_STORE) {
        use->written |= mask;
        add_store(use, visits, access, index, offset, width);
        return;
    }
    use->read |= mask;
    /* The load of a read-modify-write is part of its store. */
    if (!access->read_modify_write)
        add_load(use, visits, access, index, offset, width);
}
