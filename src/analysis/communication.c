/* SPDX-License-Identifier: BSD-3-Clause */
/* See communication.h. */
#include "analysis/communication.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/communication_internal.h"

struct flow *communication_add(struct communication *communication)
{
    if (communication->count == communication->capacity) {
        size_t capacity = communication->capacity ? 2 * communication->capacity : 256;
        struct flow *flows = realloc(communication->flows, capacity * sizeof *flows);

        if (!flows)
            return NULL;
        communication->flows = flows;
        communication->capacity = capacity;
    }
    struct flow *flow = &communication->flows[communication->count++];

    memset(flow, 0, sizeof *flow);
    return flow;
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
    communication = calloc(1, sizeof *communication);
    if (!communication) {
        snprintf(message, message_size, "out of memory");
        return NULL;
    }
    communication->analysis = analysis;
    communication->line_size = size;
    if (!analysis->exact) {
        snprintf(message, message_size,
                 "%s was sampled: communication is known from `-e exact` profiles only",
                 analysis->profiles[0]->path);
        communication_free(communication);
        return NULL;
    }
    if (!communication_from_counts(communication, message, message_size)) {
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
    free(communication);
}

size_t communication_flow_count(const struct communication *communication)
{
    return communication->count;
}

const struct flow *communication_flow(const struct communication *communication, size_t index)
{
    return &communication->flows[index];
}

struct estimate communication_total(const struct communication *communication,
                                    const uint32_t *labels, uint32_t group)
{
    struct estimate total = {0};

    for (size_t i = 0; i < communication->count; i++)
        if (!labels || labels[i] == group)
            total.value += communication->flows[i].transfers;
    total.lo = total.hi = total.value;
    return total;
}

void communication_totals(const struct communication *communication, const uint32_t *labels,
                          size_t group_count, struct estimate *totals)
{
    memset(totals, 0, group_count * sizeof *totals);
    for (size_t i = 0; i < communication->count; i++)
        if (labels[i] < group_count)
            totals[labels[i]].value += communication->flows[i].transfers;
    for (size_t g = 0; g < group_count; g++)
        totals[g].lo = totals[g].hi = totals[g].value;
}
