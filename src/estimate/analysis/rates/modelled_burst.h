/* SPDX-License-Identifier: BSD-3-Clause */
/* What the modelled processor says of a burst (enum progress_model). */
#ifndef REUSE_ANALYSIS_MODELLED_BURST_H
#define REUSE_ANALYSIS_MODELLED_BURST_H

#include <stdint.h>

#include "profile/format.h"

/* `accesses` and `within` of that place; all 0: the record does not say. */
static inline struct progress_variable modelled_burst(const struct record_progress *record,
                                                      uint64_t place)
{
    for (uint32_t k = 0; k < record->count; k++)
        if (record->variables[k].kind == PROGRESS_MODEL && record->variables[k].place == place)
            return record->variables[k];
    return (struct progress_variable){0};
}

#endif
