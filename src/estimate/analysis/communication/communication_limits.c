/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What modelled transfers come to at most: each keeps the thread that gets the line waiting for as
 * long as a transfer takes, so a thread gets no more of them than its CPU time has room for. Lines
 * are modelled one by one (burst_contention_model.c), and each stands for others that no burst met,
 * so that their sum may be more.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/communication/communication_internal.h"
#include "analysis/communication/contended_flows.h"
#include "analysis/communication/contention.h"
#include "support/memory.h"

struct receiver {
    uint32_t profile, thread_id;
};

/* The receiver's number; a new one is added at the end. */
static size_t number_of(struct receiver *receivers, size_t *count, const struct flow *flow)
{
    size_t i = 0;

    while (i < *count && (receivers[i].profile != flow->profile_index ||
                          receivers[i].thread_id != flow->destination.thread_id))
        i++;
    if (i == *count)
        receivers[(*count)++] = (struct receiver){flow->profile_index, flow->destination.thread_id};
    return i;
}

/* Transfers that a thread's CPU time, if it is known, has room for; place: as in
 * scenarios_between(). */
static double room_of(const struct communication *communication, const struct receiver *receiver,
                      double place)
{
    const struct record_totals *totals = profile_thread_totals(
        communication->analysis->profiles[receiver->profile], receiver->thread_id);
    double time = totals && totals->app_ns > 0 ? (double)totals->app_ns : INFINITY;
    struct scenarios room = {.of = {[LEAST] = time / line_transfer_ns.hi,
                                    [USUAL] = time / line_transfer_ns.value,
                                    [MOST] = time / line_transfer_ns.lo}};

    return scenarios_between(&room, place);
}

/* Of a flow: its estimate (0), and its replicates (1 ..). */
static double value_of(const struct communication *communication, size_t flow, uint32_t replicate)
{
    return replicate == 0
               ? communication->flows[flow].transfers
               : (double)communication->values[flow * communication->replicates + (replicate - 1)];
}

static void scale(struct communication *communication, size_t flow, uint32_t replicate,
                  double factor)
{
    if (replicate == 0)
        communication->flows[flow].transfers *= factor;
    else
        communication->values[flow * communication->replicates + (replicate - 1)] *= (float)factor;
}

void communication_limit_to_time(struct communication *communication, size_t first)
{
    size_t flows = communication->count - first, count = 0;
    struct receiver *receivers = allocate(flows + 1, sizeof *receivers);
    size_t *receiver_of = allocate(flows + 1, sizeof *receiver_of);
    double *sums = allocate(flows + 1, sizeof *sums), *rooms = allocate(flows + 1, sizeof *rooms);

    for (size_t i = 0; i < flows; i++)
        receiver_of[i] = number_of(receivers, &count, &communication->flows[first + i]);
    for (uint32_t r = 0; r <= communication->replicates; r++) {
        double place = r == 0 ? 0.5 : communication_doubt(r);

        for (size_t k = 0; k < count; k++) {
            sums[k] = 0;
            rooms[k] = room_of(communication, &receivers[k], place);
        }
        for (size_t i = 0; i < flows; i++)
            sums[receiver_of[i]] += value_of(communication, first + i, r);
        for (size_t i = 0; i < flows; i++) {
            double sum = sums[receiver_of[i]];
            double room = rooms[receiver_of[i]];

            if (sum > room)
                scale(communication, first + i, r, room / sum);
        }
    }
    free(rooms);
    free(sums);
    free(receiver_of);
    free(receivers);
}
