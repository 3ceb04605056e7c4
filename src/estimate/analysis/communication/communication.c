/* SPDX-License-Identifier: BSD-3-Clause */
/* See communication.h. */
#include "analysis/communication/communication.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/communication/communication_internal.h"
#include "support/memory.h"

struct flow *communication_add(struct communication *communication)
{
    if (communication->count == communication->capacity) {
        communication->capacity = communication->capacity ? 2 * communication->capacity : 256;
        communication->flows =
            reallocate(communication->flows, communication->capacity, sizeof *communication->flows);
    }
    struct flow *flow = &communication->flows[communication->count++];

    memset(flow, 0, sizeof *flow);
    return flow;
}

float *communication_more_values(struct communication *communication)
{
    size_t n = communication->replicates;

    if (communication->count > communication->value_capacity) {
        communication->value_capacity = communication->capacity;
        communication->values =
            reallocate(communication->values, communication->value_capacity * n, sizeof(float));
    }
    return memset(communication->values + (communication->count - 1) * n, 0, n * sizeof(float));
}

struct communication *communication_create(const struct analysis *analysis, uint32_t line_size,
                                           char *message, size_t message_size)
{
    uint32_t size = line_size ? line_size : analysis->run_line_size;
    struct communication *communication;

    if (!line_size_is_valid(size) || size < analysis->run_line_size) {
        snprintf(message, message_size,
                 "communication at line size %u is not known: ask for a power of two from the "
                 "run's %u to %d",
                 size, analysis->run_line_size, LINE_SIZE_MAX);
        return NULL;
    }
    communication = allocate_zeroed(1, sizeof *communication);
    communication->analysis = analysis;
    communication->line_size = size;
    if (analysis->exact ? !communication_from_counts(communication, message, message_size)
                        : !communication_from_watches(communication, message, message_size)) {
        communication_free(communication);
        return NULL;
    }
    return communication;
}

void communication_free(struct communication *communication)
{
    if (!communication)
        return;
    free(communication->flows);
    free(communication->values);
    free(communication);
}

bool communication_is_modelled(const struct communication *communication)
{
    return communication->modelled;
}

size_t communication_flow_count(const struct communication *communication)
{
    return communication->count;
}

const struct flow *communication_flow(const struct communication *communication, size_t index)
{
    return &communication->flows[index];
}

/* A group of flows: its sum, how many observations it rests on, and its replicates. */
struct group {
    double value;
    double watched;      /* of it, what was not modelled */
    size_t observations; /* of that */
    size_t stores;       /* of them after sampled stores */
    float *replicates;
};

/* Groups whose replicates are kept at a time. */
enum { GROUPS_AT_ONCE = 1 << 14 };

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return x < y ? -1 : x > y;
}

/*
 * From the 2.5th to the 97.5th percentile of the replicates: rates that are hardly known make their
 * distribution skew. Few observations cannot exclude more: n of them have a relative error of
 * 1/sqrt(n) at least, and none at all may be a third of what one would have counted (rule of
 * three).
 */
static struct estimate interval(const struct communication *communication, struct group *group)
{
    struct estimate total = {group->value, group->value, group->value};
    uint32_t n = communication->replicates;
    double least = RULE_OF_THREE * communication->least / (1 + (double)group->stores);

    if (n == 0)
        return total;
    qsort(group->replicates, n, sizeof *group->replicates, compare_floats);
    total.lo = fmin(total.lo, (double)group->replicates[n / 40]);
    total.hi = fmax(total.hi, (double)group->replicates[n - 1 - n / 40]);
    if (group->observations) {
        double half = 1.96 * group->watched / sqrt((double)group->observations);

        total.lo = fmin(total.lo, group->value - half);
        total.hi = fmax(total.hi, group->value + half);
    }
    total.lo = fmax(0, total.lo);
    total.hi = fmax(total.hi, group->value + least);
    return total;
}

/* Totals of the groups first .. first+n-1. */
static void add_up(const struct communication *communication, const uint32_t *labels, size_t first,
                   size_t n, struct group *groups, struct estimate *totals)
{
    uint32_t replicates = communication->replicates;

    for (size_t i = 0; i < communication->count; i++) {
        size_t index = (labels ? labels[i] : 0) - first;

        if (index >= n)
            continue;
        groups[index].value += communication->flows[i].transfers;
        if (!communication->flows[i].modelled) {
            groups[index].watched += communication->flows[i].transfers;
            groups[index].observations++;
        }
        groups[index].stores += i < communication->watched_flows;
        for (uint32_t r = 0; r < replicates; r++)
            groups[index].replicates[r] += communication->values[i * replicates + r];
    }
    for (size_t g = 0; g < n; g++)
        totals[g] = interval(communication, &groups[g]);
}

void communication_totals(const struct communication *communication, const uint32_t *labels,
                          size_t group_count, struct estimate *totals)
{
    uint32_t replicates = communication->replicates;
    size_t room = group_count < GROUPS_AT_ONCE ? group_count : GROUPS_AT_ONCE;
    struct group *groups = allocate(room + 1, sizeof *groups);
    float *values = allocate(room * replicates + 1, sizeof *values);

    memset(totals, 0, group_count * sizeof *totals);
    for (size_t first = 0; first < group_count; first += room) {
        size_t n = group_count - first < room ? group_count - first : room;

        memset(values, 0, n * replicates * sizeof *values);
        for (size_t g = 0; g < n; g++)
            groups[g] = (struct group){.replicates = values + g * replicates};
        add_up(communication, labels, first, n, groups, totals + first);
    }
    free(groups);
    free(values);
}

struct estimate communication_total(const struct communication *communication,
                                    const uint32_t *labels, uint32_t group)
{
    struct estimate total = {0};
    uint32_t *chosen = allocate(communication->count + 1, sizeof *chosen);

    for (size_t i = 0; i < communication->count; i++)
        chosen[i] = labels && labels[i] != group;
    communication_totals(communication, chosen, 1, &total);
    free(chosen);
    return total;
}
