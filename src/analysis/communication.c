/* SPDX-License-Identifier: BSD-3-Clause */
/* See communication.h. */
#include "analysis/communication.h"

#include <math.h>
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

size_t communication_flow_count(const struct communication *communication)
{
    return communication->count;
}

const struct flow *communication_flow(const struct communication *communication, size_t index)
{
    return &communication->flows[index];
}

/* Sum and observations of one group of flows. */
struct group_sum {
    double value;
    size_t observations;
};

/* What few observations cannot exclude: n of them have a relative error of 1/sqrt(n) at least, and
 * none at all may be one in three of what one would have counted (rule of three). */
static struct estimate interval(const struct communication *communication,
                                const struct group_sum *sum, double squares)
{
    struct estimate total = {sum->value, sum->value, sum->value};
    double half;

    if (communication->replicates == 0)
        return total;
    half = 1.96 * sqrt(squares / communication->replicates);
    if (sum->observations)
        half = fmax(half, 1.96 * sum->value / sqrt((double)sum->observations));
    total.lo = fmax(0, sum->value - half);
    total.hi = sum->value + fmax(half, 3 * communication->least / (1 + (double)sum->observations));
    return total;
}

void communication_totals(const struct communication *communication, const uint32_t *labels,
                          size_t group_count, struct estimate *totals)
{
    uint32_t replicates = communication->replicates;
    struct group_sum *sums = calloc(group_count + 1, sizeof *sums);
    double *squares = calloc(group_count + 1, sizeof *squares);
    double *replicate = calloc(group_count + 1, sizeof *replicate);

    memset(totals, 0, group_count * sizeof *totals);
    for (size_t i = 0; sums && i < communication->count; i++) {
        uint32_t label = labels ? labels[i] : 0;

        if (label < group_count) {
            sums[label].value += communication->flows[i].transfers;
            sums[label].observations++;
        }
    }
    for (uint32_t r = 0; sums && squares && replicate && r < replicates; r++) {
        memset(replicate, 0, group_count * sizeof *replicate);
        for (size_t i = 0; i < communication->count; i++) {
            uint32_t label = labels ? labels[i] : 0;

            if (label < group_count)
                replicate[label] += (double)communication->values[i * replicates + r];
        }
        for (size_t g = 0; g < group_count; g++)
            squares[g] += (replicate[g] - sums[g].value) * (replicate[g] - sums[g].value);
    }
    for (size_t g = 0; sums && squares && g < group_count; g++)
        totals[g] = interval(communication, &sums[g], squares[g]);
    free(sums);
    free(squares);
    free(replicate);
}

struct estimate communication_total(const struct communication *communication,
                                    const uint32_t *labels, uint32_t group)
{
    struct estimate total = {0};
    uint32_t *chosen = malloc((communication->count + 1) * sizeof *chosen);

    for (size_t i = 0; chosen && i < communication->count; i++)
        chosen[i] = labels && labels[i] != group;
    if (chosen)
        communication_totals(communication, chosen, 1, &total);
    free(chosen);
    return total;
}
