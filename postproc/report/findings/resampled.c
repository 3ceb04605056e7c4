/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/resampled.h"

#include <stdlib.h>
#include <string.h>

#include "report/findings/address_evidence.h"
#include "report/findings/curve_evidence.h"
#include "report/findings/layout.h"

/* Sums of the weights of clusters and of their squares. */
struct clusters {
    double one, sum, squares;
    uint32_t burst;
};

static void end_cluster(struct clusters *clusters)
{
    clusters->sum += clusters->one;
    clusters->squares += clusters->one * clusters->one;
    clusters->one = 0;
}

static void add_to_cluster(struct clusters *clusters, uint32_t burst, double weight)
{
    if (burst != clusters->burst)
        end_cluster(clusters);
    clusters->burst = burst;
    clusters->one += weight;
}

static double effective_count(struct clusters *clusters)
{
    end_cluster(clusters);
    return clusters->squares > 0 ? clusters->sum * clusters->sum / clusters->squares : 0;
}

static uint32_t burst_of(const struct model *model, size_t observation)
{
    return analysis_probe(model->analysis, observation, NULL)->burst;
}

static double independent_bursts(const struct model *model, struct subset all)
{
    struct clusters clusters = {.burst = GROUP_NONE};

    for (size_t k = 0; k < all.member_count; k++)
        add_to_cluster(&clusters, burst_of(model, all.members[k]),
                       analysis_probe_weight(model->analysis, all.members[k]));
    return effective_count(&clusters);
}

static int compare_observations(const void *left, const void *right)
{
    const struct late_use *a = left, *b = right;

    return (a->observation > b->observation) - (a->observation < b->observation);
}

/* Watches of one burst are of accesses that followed each other. Each counts for one. */
static double independent_reuses(const struct model *model, const late_use_list *late)
{
    struct clusters clusters = {.burst = GROUP_NONE};
    late_use_list sorted = {0};

    for (size_t i = 0; i < late->count; i++)
        ARRAY_PUSH(&sorted, late->items[i]);
    if (sorted.count > 0)
        qsort(sorted.items, sorted.count, sizeof(*sorted.items), compare_observations);
    for (size_t i = 0; i < sorted.count; i++)
        add_to_cluster(&clusters, burst_of(model, sorted.items[i].observation), 1);
    free(sorted.items);
    return effective_count(&clusters);
}

/* What late reuses say in one of the runs. scratch: of the place's late uses, to be reordered. */
static void resample_reuses(const struct model *model, const struct resampled_place *place,
                            uint32_t run, late_use_list *scratch, struct access_evidence *evidence)
{
    double all = 0, elsewhere = 0, seen = 0;

    for (size_t i = 0; i < place->late->count; i++) {
        struct late_use use = place->late->items[i];

        use.draws =
            analysis_resampled_draws(model->analysis, run, burst_of(model, use.observation));
        all += use.draws * use.weight;
        elsewhere += place->elsewhere[i] ? use.draws * use.weight : 0;
        seen += use.draws > 0;
        scratch->items[i] = use;
    }
    evidence->late_reuses = (size_t)seen;
    evidence->late_spread = late_uses_spread(scratch);
    evidence->reused_elsewhere = all > 0 ? elsewhere / all : 0;
}

void resample_evidence(struct model *model, const struct access_costs *costs,
                       const struct resampled_place *place, struct access_evidence *own,
                       struct access_evidence *evidence)
{
    uint32_t count = analysis_resampled_count(model->analysis);
    size_t n = model->size_count;
    double *ratios = allocate_zeroed(count * n + 1, sizeof(*ratios));
    late_use_list scratch = {0};
    struct element_places *places = element_places_of(model, place->loop);
    struct address_order *order = address_order_of(model, place->all);

    own->independent_bursts = independent_bursts(model, place->all);
    own->independent_reuses = independent_reuses(model, place->late);
    analysis_resampled_ratios(model->analysis, place->all, model->sizes, n, ratios);
    for (size_t i = 0; i < place->late->count; i++)
        ARRAY_PUSH(&scratch, place->late->items[i]);
    for (uint32_t run = 0; run < count; run++) {
        struct curve_point points[MODEL_SIZES_MAX];

        for (size_t k = 0; k < n; k++) {
            points[k] = place->points[k];
            points[k].miss_ratio.value = ratios[run * n + k];
        }
        evidence[run] = *own;
        curve_evidence(model, costs, points, &evidence[run]);
        address_order_evidence(order, run, &evidence[run]);
        layout_of_accesses(places, run, &evidence[run]);
        resample_reuses(model, place, run, &scratch, &evidence[run]);
    }
    address_order_free(order);
    element_places_free(places);
    free(scratch.items);
    free(ratios);
}
