/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communication at a larger line size than the run's: a model, since watches looked at the run's
 * line alone (docs/communication.md, "Communication at larger lines"). What moved then either moves
 * still or comes along with another part of the same line; communication_neighbours.c adds what did
 * not have to move before.
 *
 * What is not known lies between bounds. Each bootstrap replicate takes it from one place between
 * them, the same for all flows: intervals so contain what the bounds do, and the bounds themselves.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/communication/communication_internal.h"
#include "sampling/line_mask.h"
#include "sampling/watch_design.h"
#include "support/memory.h"

double communication_doubt(uint32_t replicate)
{
    /* Multiples of the golden section are spread evenly over [0, 1) however many there are. */
    double place = fmod(.5 + replicate * .6180339887498949, 1);

    /* One in twelve at each end, more than intervals leave out. */
    return fmin(1, fmax(0, 1.2 * place - .1));
}

/* What becomes of a flow: transfers that it still stands for, per one at the run's line size. */
struct remains {
    double value, least, most;
    bool known; /* the window tells */
};

struct instruction_flow {
    uint32_t profile;
    uint32_t flow;
    uint64_t ip;
};

static int compare_instruction_flows(const void *a, const void *b)
{
    const struct instruction_flow *x = a, *y = b;

    if (x->profile != y->profile)
        return x->profile < y->profile ? -1 : 1;
    if (x->ip != y->ip)
        return x->ip < y->ip ? -1 : 1;
    return x->flow < y->flow ? -1 : x->flow > y->flow;
}

/*
 * A burst of accesses to the parts of a line moves it once, and one of them is its last: a flow
 * counts unless the thread goes on to another part of the larger line. The window tells, unless the
 * thread comes back to the run's line first.
 */
static struct remains judge(const struct communication *communication, const struct flow *flow)
{
    const struct analysis *analysis = communication->analysis;
    const uint32_t *reuse = analysis->samples[flow->sample].record->reuse_time;
    uint32_t own = reuse[line_size_index(analysis->run_line_size)];
    uint32_t wide = reuse[line_size_index(communication->line_size)];
    double parts = (double)communication->line_size / analysis->run_line_size;

    if (wide == REUSE_TIME_NONE)
        return (struct remains){1, 1, 1, true};
    if (wide > VISIT_ACCESSES) /* in another burst, most likely */
        return (struct remains){1, wide < own ? 0 : 1 / parts, 1, true};
    if (wide < own) /* it may be that the other part does not move */
        return (struct remains){0, 0, 1, true};
    return (struct remains){1, 1 / parts, 1, false};
}

/* Where the window does not tell, the other flows of the instruction do. */
static void complete(const struct flow *flows, const struct instruction_flow *order, size_t n,
                     struct remains *remains)
{
    double known = 0, kept = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t flow = order[i].flow;

        if (remains[flow].known) {
            known += flows[flow].transfers;
            kept += flows[flow].transfers * remains[flow].value;
        }
    }
    for (size_t i = 0; i < n && known > 0; i++) {
        struct remains *one = &remains[order[i].flow];

        if (!one->known)
            one->value = fmax(one->least, kept / known);
    }
}

/* The flow at the larger line size. */
static void move(struct communication *communication, size_t index, const struct remains *remains)
{
    struct flow *flow = &communication->flows[index];
    uint64_t line = line_start(flow->line_address, communication->line_size);
    uint16_t part = (uint16_t)(flow->line_address - line);
    float *values = &communication->values[index * communication->replicates];

    flow->line_address = line;
    flow->source.offset = (uint16_t)(flow->source.offset + part);
    flow->destination.offset = (uint16_t)(flow->destination.offset + part);
    flow->transfers *= remains->value;
    for (uint32_t r = 0; r < communication->replicates; r++)
        values[r] *=
            (float)(remains->least + (remains->most - remains->least) * communication_doubt(r + 1));
}

static void keep_flows(struct communication *communication)
{
    size_t n = communication->count;
    struct remains *remains = allocate(n + 1, sizeof *remains);
    struct instruction_flow *order = allocate(n + 1, sizeof *order);

    for (size_t i = 0; i < n; i++) {
        const struct flow *flow = &communication->flows[i];

        remains[i] = judge(communication, flow);
        order[i] = (struct instruction_flow){communication->analysis->samples[flow->sample].profile,
                                             (uint32_t)i, flow->source.ip};
    }
    if (n)
        qsort(order, n, sizeof *order, compare_instruction_flows);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i;
             end < n && order[end].profile == order[i].profile && order[end].ip == order[i].ip;
             end++)
            ;
        complete(communication->flows, order + i, end - i, remains);
    }
    for (size_t i = 0; i < n; i++)
        move(communication, i, &remains[i]);
    free(remains);
    free(order);
}

void communication_widen(struct communication *communication)
{
    keep_flows(communication);
    communication_add_neighbours(communication);
}
