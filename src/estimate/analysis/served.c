/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/served.h"

#include <math.h>
#include <string.h>

bool served_shares_of(const struct profile *const *profiles, size_t count, uint32_t thread_id,
                      unsigned kinds, struct served_shares *shares)
{
    double weights = 0, squares = 0;

    memset(shares, 0, sizeof *shares);
    for (size_t p = 0; p < count; p++)
        for (size_t i = 0; i < profiles[p]->served.count; i++) {
            const struct record_served *record = &profiles[p]->served.items[i];
            double weight = (double)record->weight;

            if ((thread_id != 0 && record->thread_id != thread_id) || !(record->kind & kinds) ||
                record->samples == 0)
                continue;
            shares->samples += record->samples;
            if (record->level == LEVEL_UNKNOWN || record->level >= LEVEL_COUNT)
                continue;
            shares->told += record->samples;
            shares->weight[record->level] += weight;
            weights += weight;
            squares += weight * weight / (double)record->samples;
        }
    shares->effective = squares > 0 ? weights * weights / squares : 0;
    return shares->samples > 0;
}

/* Wilson's score interval of a share that was seen in n samples. */
static struct estimate interval(double share, double n)
{
    static const double z = 1.959964;
    double spread = z * z / n, middle = share + spread / 2;
    double half = z * sqrt(share * (1 - share) / n + spread / n / 4);

    if (!(n > 0))
        return (struct estimate){0, 0, 1};
    /* Rounding must not leave the value outside. */
    return (struct estimate){share, fmin(share, fmax(0, (middle - half) / (1 + spread))),
                             fmax(share, fmin(1, (middle + half) / (1 + spread)))};
}

static struct estimate share_of(const struct served_shares *shares, double part)
{
    double all = 0;

    for (size_t i = 0; i < LEVEL_COUNT; i++)
        all += shares->weight[i];
    return interval(all > 0 ? fmin(1, part / all) : 0, shares->effective);
}

struct estimate served_share(const struct served_shares *shares, enum access_level level)
{
    return share_of(shares, shares->weight[level]);
}

struct estimate served_beyond(const struct served_shares *shares, unsigned cache)
{
    double part = 0;

    for (size_t i = LEVEL_UNKNOWN + 1; i < LEVEL_COUNT; i++) {
        bool within = (i == LEVEL_L1 || i == LEVEL_FILL_BUFFER) || (i == LEVEL_L2 && cache >= 2) ||
                      (i == LEVEL_L3 && cache >= 3);

        part += within ? 0 : shares->weight[i];
    }
    return share_of(shares, part);
}
