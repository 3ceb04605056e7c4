/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/timed_evidence.h"

#include <math.h>

#include "report/model/model.h"
#include "support/intern_table.h"

static const struct timed_loads *loads_of(const struct record_timed_loads *record, uint64_t ip)
{
    for (uint32_t i = 0; record != NULL && ip != 0 && i < record->count; i++)
        if (record->loads[i].ip == ip)
            return &record->loads[i];
    return NULL;
}

struct timed_evidence timed_evidence_of(const struct model *model, struct subset subset)
{
    struct intern_table *seen = intern_table_create(), *bursts = intern_table_create();
    struct timed_evidence sum = {0};
    uint32_t pairs = 0;

    for (size_t k = 0; !model->exact && k < subset.member_count; k++) {
        size_t profile;
        const struct analysed_probe *probe =
            analysis_probe(model->analysis, subset.members[k], &profile);
        const struct record_burst *burst = analysis_probe_burst(model->analysis, subset.members[k]);
        const struct timed_loads *loads =
            loads_of(profile_timed_loads(model->profiles[profile], burst->burst_id), probe->ip);
        const uint64_t key[] = {profile, burst->burst_id, probe->ip};

        /* An instruction of a burst may have several groups of probes. */
        if (loads == NULL || loads->timed == 0 ||
            intern_table_insert(seen, key, sizeof key) != pairs)
            continue;
        pairs++;
        intern_table_insert(bursts, key, 2 * sizeof *key);
        sum.timed += loads->timed;
        sum.from_memory += loads->from_memory;
    }
    sum.bursts = intern_table_count(bursts);
    intern_table_free(bursts);
    intern_table_free(seen);
    return sum;
}

double timed_evidence_least(const struct timed_evidence *evidence)
{
    static const double z = 1.96;
    double n = (double)evidence->bursts, share;

    if (evidence->bursts == 0)
        return 0;
    share = evidence->from_memory / evidence->timed;
    return fmax(
        0, (share + z * z / (2 * n) - z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))) /
               (1 + z * z / n));
}
