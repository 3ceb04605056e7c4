/* SPDX-License-Identifier: BSD-3-Clause */
/* See event_names.h. */
#include "support/event_names.h"

#include <perfmon/pfmlib_perf_event.h>
#include <string.h>

bool event_encode(const char *name, struct encoded_event *event)
{
    struct perf_event_attr attributes;
    pfm_perf_encode_arg_t encoding;
    if (pfm_initialize() != PFM_SUCCESS)
        return false;
    memset(&attributes, 0, sizeof attributes);
    memset(&encoding, 0, sizeof encoding);
    encoding.attr = &attributes;
    encoding.size = sizeof encoding;
    if (pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &encoding) != PFM_SUCCESS)
        return false;
    *event = (struct encoded_event){attributes.type, attributes.config, attributes.config1,
                                    attributes.config2};
    return true;
}

const char *event_processor(void)
{
    if (pfm_initialize() != PFM_SUCCESS)
        return "no processor PMU";
    for (int pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; pmu++) {
        pfm_pmu_info_t information;
        memset(&information, 0, sizeof information);
        information.size = sizeof information;
        if (pfm_get_pmu_info((pfm_pmu_t)pmu, &information) == PFM_SUCCESS &&
            information.is_present && information.type == PFM_PMU_TYPE_CORE)
            return information.desc;
    }
    return "no processor PMU";
}
