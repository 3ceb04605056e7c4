/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/guarded_memory.h"

#include <string.h>

#include "signal_safe.h"

struct guarded_entry {
    int32_t load;    /* the load, relative to this field */
    int32_t landing; /* where to go on after a fault, relative to this field */
};

/* Bounds of the table; the linker defines them for a section whose name is a C identifier. */
extern const struct guarded_entry __start_reuse_guarded[] __attribute__((visibility("hidden")));
extern const struct guarded_entry __stop_reuse_guarded[] __attribute__((visibility("hidden")));

uint64_t guarded_memory_recover(uint64_t ip)
{
    for (const struct guarded_entry *entry = __start_reuse_guarded; entry < __stop_reuse_guarded;
         entry++) {
        if ((uint64_t)(uintptr_t)&entry->load + (uint64_t)(int64_t)entry->load == ip)
            return (uint64_t)(uintptr_t)&entry->landing + (uint64_t)(int64_t)entry->landing;
    }
    return 0;
}

bool guarded_memory_read(uint64_t address, void *buffer, size_t size)
{
    uint8_t *out = buffer;
    uint64_t value;
    for (; size >= 8; size -= 8, address += 8, out += 8) {
        if (!guarded_load_64(address, &value))
            return false;
        memcpy(out, &value, 8);
    }
    for (; size > 0; size--, address++, out++) {
        if (!guarded_load_8(address, &value))
            return false;
        *out = (uint8_t)value;
    }
    return true;
}
