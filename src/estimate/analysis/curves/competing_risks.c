/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What follows the stores of a stratum: ends of their segments and first reads of other threads, as
 * competing risks (Aalen and Johansen 1978) with multiplicities (docs/estimators.md,
 * "Communication").
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/communication/communication_internal.h"
#include "support/memory.h"

void masses_create(const struct segments *segments, struct masses *masses)
{
    size_t readers = segments->reader_count + 1u;

    *masses = (struct masses){
        .arrival = allocate(segments->arrival_count + 1, sizeof(double)),
        .scale = allocate(readers, sizeof(double)),
        .unread = allocate(readers, sizeof(double)),
        .unseen = allocate(readers, sizeof(double)),
        .seen_sum = allocate(readers, sizeof(double)),
        .followed = allocate(readers, sizeof(double)),
        .sum = allocate(readers, sizeof(double)),
        .raw = allocate(readers, sizeof(double)),
        .taken = allocate(readers, sizeof(double)),
    };
}

void masses_free(struct masses *masses)
{
    free(masses->arrival);
    free(masses->scale);
    free(masses->unread);
    free(masses->unseen);
    free(masses->seen_sum);
    free(masses->followed);
    free(masses->sum);
    free(masses->raw);
    free(masses->taken);
}

double copies_taken(const struct arrival *end, const struct arrival *read)
{
    if (read->multiplicity == 0 || read->event->thread_id == end->event->thread_id)
        return 0;
    return end->certain ? read->multiplicity : 1;
}

/* The state of a stratum as time goes on. */
struct risk {
    const struct analysis *analysis;
    const struct segments *segments;
    const struct store_stratum *stratum;
    struct masses *masses;
    uint32_t replicate;
    double followed, loads_followed; /* weight of watches that would show an end, a load */
    double alive;                    /* probability that the segment has not ended */
    double seen_alive;               /* that the watch has not seen it end */
    size_t gone, loads_gone;         /* watches that have left */
};

static double weight_of(const struct risk *risk, uint32_t watch)
{
    return segments_weight(risk->analysis, risk->segments, risk->replicate,
                           risk->segments->watches[watch].position);
}

/*
 * Hazards of one cause at one time: of arrivals in the sampled word, which are seen with certainty,
 * and of others, each of which stands for several.
 */
struct hazard {
    double certain, others, largest;
};

static void hazard_add(struct hazard *hazard, const struct arrival *arrival, double x)
{
    if (arrival->certain) {
        hazard->certain += x;
    } else {
        hazard->others += x;
        hazard->largest = fmax(hazard->largest, x);
    }
}

/* What survives it. Few observers, each of which stands for many: a single one must not take all.
 */
static double hazard_survival(const struct hazard *hazard)
{
    double left = 1 - hazard->certain - hazard->others;

    if (hazard->others > .5 && hazard->largest > .25)
        left = fmax(0, 1 - hazard->certain) * .5 * exp(1 - 2 * hazard->others);
    return fmin(1, fmax(0, left));
}

static double hazard_share(const struct hazard *hazard, double survival)
{
    double sum = hazard->certain + hazard->others;

    return sum > 0 ? (1 - survival) / sum : 0;
}

/*
 * The part of those in which nothing was seen so far that is at risk: what comes in a word that
 * they do not watch has ended the others unseen.
 */
static double still_at_risk(double alive, double seen_alive)
{
    return seen_alive > 0 ? fmin(1, alive / seen_alive) : 1;
}

/* Arrivals of that weight per weight of those at risk. Of these next to nothing may be left: sums
 * that were taken away again leave rounding behind, and survivals get as small as one likes. */
static double hazard_of(double weight, double at_risk)
{
    return at_risk > 0 && at_risk > 1e-9 * weight ? weight / at_risk : 0;
}

/* Ends at one time; their masses are shares of what the survival loses. */
static void apply_ends(struct risk *risk, size_t first, size_t last)
{
    const struct arrival *arrivals = risk->segments->arrivals;
    struct masses *masses = risk->masses;
    struct hazard hazard = {0};
    uint32_t readers = risk->stratum->reader_count;
    double survival, share, all = 0, seen = 0;
    double at_risk = risk->followed * still_at_risk(risk->alive, risk->seen_alive);

    if (risk->followed <= 0)
        return;
    memset(masses->sum, 0, readers * sizeof *masses->sum);
    memset(masses->seen_sum, 0, readers * sizeof *masses->seen_sum);
    for (size_t i = first; i < last; i++) {
        double weight = weight_of(risk, arrivals[i].watch), x = arrivals[i].multiplicity * weight;

        masses->arrival[i] = hazard_of(x, at_risk);
        hazard_add(&hazard, &arrivals[i], masses->arrival[i]);
        all += x;
        seen += weight;
        for (uint32_t read = arrivals[i].previous; read; read = arrivals[read - 1].previous) {
            masses->sum[arrivals[read - 1].reader] += x;
            masses->seen_sum[arrivals[read - 1].reader] += weight;
        }
    }
    risk->seen_alive *= fmax(0, 1 - seen / risk->followed);
    survival = hazard_survival(&hazard);
    share = hazard_share(&hazard, survival) * risk->alive;
    for (size_t i = first; i < last; i++)
        masses->arrival[i] *= share;
    risk->alive *= survival;
    /* For each reader, segments that it has not read yet end by what is seen in those. */
    for (uint32_t reader = 0; reader < readers; reader++) {
        double observers = risk->loads_followed - masses->followed[reader];
        double unread = observers * still_at_risk(masses->unread[reader], masses->unseen[reader]);
        double x = hazard_of(all - masses->sum[reader], unread);

        if (observers > 0)
            masses->unseen[reader] *= fmax(0, 1 - (seen - masses->seen_sum[reader]) / observers);
        masses->unread[reader] *=
            x > .5 && hazard.largest > .25 ? .5 * exp(1 - 2 * x) : fmax(0, 1 - x);
    }
}

static void apply_reads(struct risk *risk, size_t first, size_t last)
{
    const struct arrival *arrivals = risk->segments->arrivals;
    struct masses *masses = risk->masses;

    /* Reader after reader: arrivals of one time are few. */
    for (size_t i = first; i < last; i++)
        masses->arrival[i] = -1;
    for (size_t i = first; i < last; i++) {
        uint32_t reader = arrivals[i].reader;
        double observers = risk->loads_followed - masses->followed[reader], survival, share;
        double unread = observers * still_at_risk(masses->unread[reader], masses->unseen[reader]);
        double seen = 0;
        struct hazard hazard = {0};

        if (masses->arrival[i] >= 0)
            continue;
        for (size_t k = i; k < last; k++) {
            if (arrivals[k].reader != reader)
                continue;
            double weight = weight_of(risk, arrivals[k].watch);
            double x = hazard_of(arrivals[k].multiplicity * weight, unread);

            masses->arrival[k] = x;
            masses->followed[reader] += weight;
            seen += weight;
            hazard_add(&hazard, &arrivals[k], x);
        }
        survival = hazard_survival(&hazard);
        share = hazard_share(&hazard, survival) * masses->unread[reader];
        for (size_t k = i; k < last; k++) {
            if (arrivals[k].reader == reader) {
                masses->arrival[k] *= share;
                masses->raw[reader] += masses->arrival[k];
            }
        }
        masses->unread[reader] *= survival;
        if (observers > 0)
            masses->unseen[reader] *= fmax(0, 1 - seen / observers);
    }
}

/* Watches that ended before this time are no longer at risk. */
static void leave(struct risk *risk, double at)
{
    const struct segments *segments = risk->segments;
    const struct store_stratum *stratum = risk->stratum;
    const uint32_t *ends = segments->by_end + stratum->first_watch;
    const uint32_t *loads = segments->by_loads + stratum->first_watch;

    for (; risk->gone < stratum->watch_count && segments->watches[ends[risk->gone]].until < at;
         risk->gone++)
        risk->followed -= weight_of(risk, ends[risk->gone]);
    for (; risk->loads_gone < stratum->watch_count &&
           segments->watches[loads[risk->loads_gone]].loads_until < at;
         risk->loads_gone++) {
        uint32_t watch = loads[risk->loads_gone];
        double weight = weight_of(risk, watch);

        risk->loads_followed -= weight;
        for (uint32_t read = segments->watches[watch].last_read; read;
             read = segments->arrivals[read - 1].previous)
            risk->masses->followed[segments->arrivals[read - 1].reader] -= weight;
    }
    /* Sums of what was added and taken away leave rounding behind. */
    if (risk->gone == stratum->watch_count)
        risk->followed = 0;
    if (risk->loads_gone == stratum->watch_count)
        risk->loads_followed = 0;
}

static void begin(struct risk *risk)
{
    struct masses *masses = risk->masses;
    const struct store_stratum *stratum = risk->stratum;

    for (size_t i = 0; i < stratum->watch_count; i++)
        risk->followed += weight_of(risk, risk->segments->by_end[stratum->first_watch + i]);
    risk->loads_followed = risk->followed;
    risk->alive = risk->seen_alive = 1;
    for (uint32_t i = 0; i < stratum->reader_count; i++) {
        masses->unread[i] = masses->unseen[i] = 1;
        masses->followed[i] = masses->raw[i] = masses->taken[i] = 0;
    }
}

/*
 * A copy that an end takes from a reader was read before: no reader can lose more than it has read.
 * Where readers sweep through lines, watches see them in whatever word they watch, and inverse
 * probabilities count them several times.
 */
static void scale_copies(struct risk *risk)
{
    const struct arrival *arrivals = risk->segments->arrivals;
    const struct store_stratum *stratum = risk->stratum;
    struct masses *masses = risk->masses;
    size_t last = stratum->first_arrival + stratum->arrival_count;

    for (size_t i = stratum->first_arrival; i < last; i++) {
        if (arrivals[i].class == ARRIVAL_READ)
            continue;
        for (uint32_t read = arrivals[i].previous; read; read = arrivals[read - 1].previous) {
            const struct arrival *reader = &arrivals[read - 1];
            bool itself = reader->event->thread_id == arrivals[i].event->thread_id;

            masses->taken[reader->reader] +=
                masses->arrival[i] * (itself ? 1 : copies_taken(&arrivals[i], reader));
        }
    }
    for (uint32_t i = 0; i < stratum->reader_count; i++)
        masses->scale[stratum->first_reader + i] =
            masses->taken[i] > masses->raw[i] ? masses->raw[i] / masses->taken[i] : 1;
}

void masses_of_stratum(const struct analysis *analysis, const struct segments *segments,
                       const struct store_stratum *stratum, uint32_t replicate,
                       struct masses *masses)
{
    const struct arrival *arrivals = segments->arrivals;
    struct risk risk = {.analysis = analysis,
                        .segments = segments,
                        .stratum = stratum,
                        .masses = masses,
                        .replicate = replicate};
    size_t last = stratum->first_arrival + stratum->arrival_count;

    begin(&risk);
    for (size_t i = stratum->first_arrival; i < last; i++)
        masses->arrival[i] = 0;
    for (size_t i = stratum->first_arrival, end; i < last; i = end) {
        for (end = i; end < last && arrivals[end].at == arrivals[i].at &&
                      arrivals[end].class == arrivals[i].class;
             end++)
            ;
        leave(&risk, arrivals[i].at);
        if (arrivals[i].class == ARRIVAL_READ)
            apply_reads(&risk, i, end);
        else
            apply_ends(&risk, i, end);
    }
    scale_copies(&risk);
}
