/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/shared_use.h"

#include "signal_safe.h"

static void add_store(struct record_shared_use *use, struct shared_use_visits *visits,
                      const struct access *access, uint32_t index, uint16_t offset, uint8_t width)
{
    if (index < visits->store)
        return;
    if (use->stores == 0) {
        use->store_ip = access->ip;
        use->store_offset = offset;
        use->store_width = width;
    }
    use->stores++;
    visits->store = index + LINE_VISIT_ACCESSES;
}

static void add_load(struct record_shared_use *use, struct shared_use_visits *visits,
                     const struct access *access, uint32_t index, uint16_t offset, uint8_t width)
{
    if (index < visits->load)
        return;
    if (use->loads == 0) {
        use->load_ip = access->ip;
        use->load_offset = offset;
        use->load_width = width;
    }
    use->loads++;
    visits->load = index + LINE_VISIT_ACCESSES;
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
