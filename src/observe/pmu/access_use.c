/* SPDX-License-Identifier: BSD-3-Clause */
/* See access_use.h. Signal-safe. */
#include "pmu/access_use.h"

#include "signal_safe.h"

enum access_use access_use(const struct access_record *access)
{
    if (access->privilege == PRIVILEGE_KERNEL || access->privilege == PRIVILEGE_HYPERVISOR)
        return USE_KERNEL;
    if (access->flags & PMU_DAMAGED)
        return USE_DAMAGED;
    if (access->kinds == 0)
        return USE_NO_ACCESS;
    if (access->flags & PMU_SPECULATIVE)
        return USE_SPECULATIVE;
    if (!(access->flags & PMU_HAS_ADDRESS) || access->address == 0)
        return USE_NO_ADDRESS;
    return USE_ACCESS;
}
