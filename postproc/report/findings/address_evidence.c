/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/address_evidence.h"

#include <math.h>
#include <stdlib.h>

#include "report/model/address_steps.h"

/* Hops from load to load that are followed until one comes back. */
enum { HOPS_MAX = 8 };

/* What a group of probes of one instruction in one burst says. Weights are accesses. */
struct ordered_accesses {
    uint32_t burst;
    double weight, far, even, crowded, chased;
    double traced,
        computed;  /* it is known what made their addresses; and that was no loaded value */
    double stride; /* bytes, without its sign */
};

struct address_order {
    const struct model *model;
    ARRAY(struct ordered_accesses) items;
};

/* Whether the loads that make its addresses come back to one of them: then each has to wait for
 * the one before. */
static bool is_chased(const struct record_steps *record, const struct address_steps *steps)
{
    uint64_t seen[HOPS_MAX];

    for (unsigned hop = 0; hop < HOPS_MAX; hop++) {
        if (steps == NULL || 2 * steps->loaded < steps->traced || steps->loaded == 0)
            return false;
        for (unsigned i = 0; i < hop; i++)
            if (seen[i] == steps->ip)
                return true;
        seen[hop] = steps->ip;
        steps = address_steps_find(record, steps->loaded_by);
    }
    return false;
}

static struct ordered_accesses accesses_of(const struct model *model, size_t observation)
{
    const struct analysed_probe *probe = analysis_probe(model->analysis, observation, NULL);
    const struct record_steps *record = address_steps_record(model, observation);
    const struct address_steps *steps = address_steps_find(record, probe->ip);
    struct ordered_accesses of = {.burst = probe->burst,
                                  .weight = analysis_probe_weight(model->analysis, observation)};

    if (steps == NULL)
        return of;
    of.far = of.weight * steps->far / steps->accesses;
    of.even = of.weight * steps->even / steps->accesses;
    of.stride = fabs((double)steps->stride);
    of.crowded = of.weight * address_steps_crowded(steps);
    if (steps->traced > 0) {
        of.traced = of.weight;
        of.computed = of.weight * (steps->traced - steps->loaded) / steps->traced;
    }
    if (is_chased(record, steps))
        of.chased = of.weight * steps->loaded / steps->traced;
    return of;
}

struct address_order *address_order_of(const struct model *model, struct subset subset)
{
    struct address_order *order = allocate_zeroed(1, sizeof(*order));

    order->model = model;
    for (size_t k = 0; !model->exact && k < subset.member_count; k++)
        ARRAY_PUSH(&order->items, accesses_of(model, subset.members[k]));
    return order;
}

void address_order_free(struct address_order *order)
{
    free(order->items.items);
    free(order);
}

void address_order_evidence(const struct address_order *order, uint32_t run,
                            struct access_evidence *evidence)
{
    double weight = 0, far = 0, even = 0, crowded = 0, chased = 0, most = 0;
    double traced = 0, computed = 0;

    evidence->far_steps = evidence->even_steps = evidence->stride_bytes = 0;
    evidence->crowded = evidence->chased = evidence->computed = 0;
    evidence->traced = false;
    for (size_t i = 0; i < order->items.count; i++) {
        const struct ordered_accesses *of = &order->items.items[i];
        double draws = analysis_resampled_draws(order->model->analysis, run, of->burst);

        weight += draws * of->weight;
        far += draws * of->far;
        even += draws * of->even;
        crowded += draws * of->crowded;
        chased += draws * of->chased;
        traced += draws * of->traced;
        computed += draws * of->computed;
        if (draws * of->even > most) {
            most = draws * of->even;
            evidence->stride_bytes = of->stride;
        }
    }
    if (!(weight > 0))
        return;
    evidence->far_steps = far / weight;
    evidence->even_steps = far > 0 ? even / far : 0;
    evidence->crowded = crowded / weight;
    evidence->chased = chased / weight;
    evidence->traced = traced > 0;
    evidence->computed = traced > 0 ? computed / traced : 0;
}
