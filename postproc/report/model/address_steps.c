/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/address_steps.h"

const struct record_steps *address_steps_record(const struct model *model, size_t observation)
{
    size_t profile;

    analysis_probe(model->analysis, observation, &profile);
    return profile_steps(model->profiles[profile],
                         analysis_probe_burst(model->analysis, observation)->burst_id);
}

const struct address_steps *address_steps_find(const struct record_steps *record, uint64_t ip)
{
    for (uint32_t i = 0; record != NULL && ip != 0 && i < record->count; i++)
        if (record->steps[i].ip == ip)
            return &record->steps[i];
    return NULL;
}

const struct address_steps *address_steps_of(const struct model *model, size_t observation)
{
    return address_steps_find(address_steps_record(model, observation),
                              analysis_probe(model->analysis, observation, NULL)->ip);
}

double address_steps_crowded(const struct address_steps *steps)
{
    return steps != NULL && steps->judged > 0 ? (double)steps->crowded / steps->judged : 0;
}
