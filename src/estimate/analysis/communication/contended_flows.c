/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/communication/contended_flows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampling/line_mask.h"
#include "support/memory.h"

/* What one thread's act does after another's: the flow that it is counted in. */
struct contended_pair {
    uint32_t source, destination; /* acts */
    uint8_t kind;
    size_t flow;
    uint32_t next; /* of the same hash, + 1 */
};

/* ---- acts ---- */

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_acts(const void *a, const void *b)
{
    const struct act *x = a, *y = b;
    int order = compare(x->thread_id, y->thread_id);

    order = order ? order : compare(x->address, y->address);
    order = order ? order : compare(x->ip, y->ip);
    return order ? order : compare(x->store, y->store);
}

static struct act act_of_use(const struct contended_flows *flows, const struct line_use *use)
{
    const struct record_sample *record =
        flows->communication->analysis->samples[use->sample].record;

    return (struct act){.thread_id = use->thread_id,
                        .address = record->address,
                        .ip = record->ip,
                        .store = use->store,
                        .sample = use->sample,
                        .mask = line_mask(use->line, flows->communication->analysis->run_line_size,
                                          record->address, record->width)};
}

void contended_flows_begin(struct contended_flows *flows, const struct line_use *uses, size_t first,
                           size_t end)
{
    struct act *acts = flows->acts;
    size_t count = 0;

    flows->pair_count = 0;
    memset(flows->buckets, 0, sizeof flows->buckets);
    for (size_t i = first; i < end; i++)
        acts[i - first] = act_of_use(flows, &uses[i]);
    qsort(acts, end - first, sizeof *acts, compare_acts);
    for (size_t i = 0; i < end - first; i++)
        if (count == 0 || compare_acts(&acts[count - 1], &acts[i]) != 0)
            acts[count++] = acts[i];
    flows->act_count = count;
    for (size_t i = first; i < end; i++) {
        struct act key = act_of_use(flows, &uses[i]);

        flows->act_of[i] =
            (uint32_t)((struct act *)bsearch(&key, acts, count, sizeof key, compare_acts) - acts);
    }
}

/* ---- flows ---- */

static bool is_true_sharing(const struct contended_flows *flows, const struct contended_pair *pair)
{
    const struct act *source = &flows->acts[pair->source];
    const struct act *destination = &flows->acts[pair->destination];
    uint64_t bytes = 0;

    /* Of a read: what others stored; of a store: what the holder of the copy did with it. */
    for (size_t i = 0; i < flows->act_count; i++) {
        const struct act *act = &flows->acts[i];

        if (pair->kind == TRANSFER_RAW ? act->store && act->thread_id != destination->thread_id
                                       : act->thread_id == source->thread_id)
            bytes |= act->mask;
    }
    return bytes & destination->mask;
}

/* The flow of that pair, made if there is none. Its values are zero. */
static struct contended_pair *find_pair(struct contended_flows *flows, struct contended_pair key)
{
    struct communication *communication = flows->communication;
    const struct analysis *analysis = communication->analysis;
    uint32_t *bucket =
        &flows->buckets[(key.source * 31 + key.destination * 7 + key.kind) % CONTENDED_BUCKETS];
    struct flow *flow;

    for (uint32_t i = *bucket; i; i = flows->pairs[i - 1].next) {
        struct contended_pair *pair = &flows->pairs[i - 1];

        if (pair->source == key.source && pair->destination == key.destination &&
            pair->kind == key.kind)
            return pair;
    }
    if (flows->pair_count == flows->pair_capacity) {
        flows->pair_capacity = flows->pair_capacity ? 2 * flows->pair_capacity : 64;
        flows->pairs = reallocate(flows->pairs, flows->pair_capacity, sizeof *flows->pairs);
    }
    flow = communication_add(communication);
    communication_more_values(communication);
    communication_describe_flow(analysis, flows->acts[key.source].sample, flow);
    flow->kind = key.kind;
    flow->true_sharing = is_true_sharing(flows, &key);
    flow->modelled = true;
    flow->source = communication_sample_end(
        analysis->samples[flows->acts[key.source].sample].record, analysis->run_line_size);
    flow->destination = communication_sample_end(
        analysis->samples[flows->acts[key.destination].sample].record, analysis->run_line_size);
    key.flow = communication->count - 1;
    key.next = *bucket;
    flows->pairs[flows->pair_count++] = key;
    *bucket = (uint32_t)flows->pair_count;
    return &flows->pairs[flows->pair_count - 1];
}

double scenarios_between(const struct scenarios *scenarios, double place)
{
    const double *of = scenarios->of;
    double low = place < .5 ? of[LEAST] : of[USUAL], high = place < .5 ? of[USUAL] : of[MOST];
    double part = place < .5 ? 2 * place : 2 * place - 1;

    return low > 0 ? low * pow(high / low, part) : high * part;
}

void contended_flows_add(struct contended_flows *flows, size_t source, size_t destination,
                         enum transfer_kind kind, const struct scenarios *transfers)
{
    struct communication *communication = flows->communication;
    struct contended_pair *pair;
    float *values;

    if (!(transfers->of[MOST] > 0))
        return;
    pair = find_pair(flows, (struct contended_pair){.source = (uint32_t)source,
                                                    .destination = (uint32_t)destination,
                                                    .kind = (uint8_t)kind});
    values = &communication->values[pair->flow * communication->replicates];
    communication->flows[pair->flow].transfers += transfers->of[USUAL] * flows->scale[USUAL][0];
    for (uint32_t r = 1; r <= communication->replicates; r++) {
        struct scenarios scaled;

        for (unsigned s = 0; s < SCENARIOS; s++)
            scaled.of[s] = transfers->of[s] * flows->scale[s][r];
        values[r - 1] += (float)scenarios_between(&scaled, communication_doubt(r));
    }
}

void contended_flows_create(struct contended_flows *flows, struct communication *communication,
                            size_t uses)
{
    *flows = (struct contended_flows){
        .communication = communication,
        .acts = allocate(uses + 1, sizeof *flows->acts),
        .act_of = allocate(uses + 1, sizeof *flows->act_of),
    };
    flows->scale[0] = allocate(SCENARIOS * (communication->replicates + 1), sizeof(double));
    for (unsigned s = 1; s < SCENARIOS; s++)
        flows->scale[s] = flows->scale[s - 1] + communication->replicates + 1;
}

void contended_flows_free(struct contended_flows *flows)
{
    free(flows->acts);
    free(flows->act_of);
    free(flows->pairs);
    free(flows->scale[0]);
}
