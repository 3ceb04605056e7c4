/* SPDX-License-Identifier: BSD-3-Clause */
/* Horvitz-Thompson estimates over heap blocks. */
#include "objects/block_sample.h"

#include <math.h>

double block_sample_concentration(const uint64_t *sorted_bases, size_t count)
{
    double pairs = 0;
    if (count < 2)
        return 1;
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && sorted_bases[end] == sorted_bases[i])
            end++;
        pairs += (double)(end - i) * (double)(end - i - 1);
        i = end;
    }
    return pairs / ((double)count * (double)(count - 1));
}

double block_sample_variance(const struct tracked_accesses *tracked)
{
    const double inverse = ldexp(1, tracked->tracked_log2);
    return (inverse - 1) * inverse * tracked->concentration * tracked->accesses * tracked->accesses;
}

void block_sample_estimate(const struct tracked_accesses *tracked, size_t count, double total,
                           struct block_sample_estimate *estimates,
                           struct block_sample_estimate *rest)
{
    double certain = 0, chosen = 0;
    *rest = (struct block_sample_estimate){0, 0};
    for (size_t i = 0; i < count; i++) {
        estimates[i].accesses = ldexp(tracked[i].accesses, tracked[i].tracked_log2);
        estimates[i].variance = block_sample_variance(&tracked[i]);
        *(tracked[i].tracked_log2 == 0 ? &certain : &chosen) += estimates[i].accesses;
        rest->variance += estimates[i].variance;
    }
    if (certain + chosen <= total) {
        rest->accesses = total - certain - chosen;
        return;
    }
    const double scale = chosen > 0 ? (total - certain) / chosen : 1;
    for (size_t i = 0; i < count; i++) {
        if (tracked[i].tracked_log2 == 0)
            continue;
        estimates[i].accesses *= scale;
        estimates[i].variance *= scale * scale;
    }
}
