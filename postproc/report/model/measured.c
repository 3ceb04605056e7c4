/* SPDX-License-Identifier: BSD-3-Clause */
/* See measured.h. */
#include "report/model/measured.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t processes_of(const struct profile *profile)
{
    return profile->origins.count > 0 ? profile->origins.count : 1;
}

/* Bits of struct record_counter's levels that mean a level of the machine. */
static uint64_t bits_of(const struct machine *machine, size_t level)
{
    return (uint64_t)1 << machine->caches[level].level | (level + 1 == machine->levels ? 1 : 0);
}

static void name_event(struct measured *out, const struct record_counter *counter)
{
    const char *sign = counter->flags & COUNTER_SUBTRACTED ? " - "
                       : out->text[0] != '\0'              ? " + "
                                                           : "";
    size_t used = strlen(out->text);

    /* Of a merged file, or several, each event once. */
    if (strstr(out->text, counter->name) == NULL)
        snprintf(out->text + used, sizeof(out->text) - used, "%s%s", sign, counter->name);
}

static void refuse(struct measured *out, const struct record_counter *counter, const char *why)
{
    if (!out->known)
        return;
    out->known = false;
    snprintf(out->text, sizeof(out->text), "%s %s", counter->name, why);
}

/* One event of the level; false: it spoils the sum. */
static void add(struct measured *out, const struct record_counter *counter)
{
    double share =
        counter->enabled_ns > 0 ? (double)counter->running_ns / (double)counter->enabled_ns : 0;
    bool one_kind_of_core = strchr(counter->name, '/') != NULL;

    if (counter->trust == COUNTER_SILENT)
        refuse(out, counter, "opens here but counted nothing of a known number of lines");
    else if (counter->trust == COUNTER_WRONG)
        refuse(out, counter, "counted another number than that of known lines");
    else if (counter->running_ns == 0 && !one_kind_of_core)
        refuse(out, counter, "never was on a counter");
    else if (counter->kind == COUNTER_WRITE_BACKS && counter->count == 0)
        refuse(out, counter, "counted nothing: whether it works here is not known");
    if (!out->known)
        return;
    out->lines += counter->flags & COUNTER_SUBTRACTED ? -(double)counter->estimate
                                                      : (double)counter->estimate;
    /* Cores of another kind count what is theirs: nothing is missing while they do not. */
    if (!one_kind_of_core)
        out->share = fmin(out->share, share);
    out->flags |= counter->flags & ~(unsigned)COUNTER_SUBTRACTED;
    name_event(out, counter);
}

void measured_of_level(const struct profile *const *profiles, size_t profile_count,
                       const struct machine *machine, size_t level, enum counter_kind kind,
                       struct measured *out)
{
    uint64_t bits = bits_of(machine, level);

    *out = (struct measured){.known = true, .share = 1};
    for (size_t p = 0; p < profile_count; p++) {
        const struct profile *profile = profiles[p];
        uint64_t most = 0;

        for (size_t i = 0; i < profile->counters.count; i++) {
            const struct record_counter *counter = profile->counters.items[i];

            if (counter->kind != kind || !(counter->levels & bits))
                continue;
            out->any = true;
            most = counter->processes > most ? counter->processes : most;
            add(out, counter);
        }
        if (most < processes_of(profile) && out->known) {
            out->known = false;
            snprintf(out->text, sizeof(out->text), "not all processes counted it");
        }
    }
    if (out->known && out->lines < 0) {
        out->known = false;
        snprintf(out->text, sizeof(out->text), "its correction is larger than what is corrected");
    }
}

const char *measured_remark(unsigned flags)
{
    switch (flags) {
    case COUNTER_HAS_PREFETCHES:
        return "prefetches included";
    case COUNTER_HAS_PREFETCHES | COUNTER_HAS_CODE:
        return "prefetches and code included";
    case COUNTER_HAS_CODE:
        return "code included, prefetches not";
    case COUNTER_MAY_HAVE_PREFETCHES:
        return "whether prefetches are included depends on the core";
    case COUNTER_LOADS_ONLY:
        return "loads only";
    case COUNTER_LOADS_ONLY | COUNTER_MAY_HAVE_PREFETCHES:
        return "loads only; whether prefetches are included depends on the core";
    case 0:
        return "";
    default:
        return "events that count different things";
    }
}

/* How far a count may lie from the ends of a prediction's interval and still agree: 25 %. */
#define TOLERANCE 1.25

const char *measured_verdict(struct estimate predicted, double measured, unsigned flags,
                             double conflicts)
{
    bool prefetches = flags & (COUNTER_HAS_PREFETCHES | COUNTER_MAY_HAVE_PREFETCHES);

    if (measured >= predicted.lo / TOLERANCE && measured <= predicted.hi * TOLERANCE)
        return "agrees: capacity and first uses";
    if (measured > predicted.hi) {
        if (conflicts > 1 && measured <= predicted.hi * conflicts * TOLERANCE)
            return "more: conflict, as the samples' addresses show";
        if (flags & COUNTER_HAS_CODE)
            return "more: prefetches or code, which are counted, or conflict";
        return prefetches ? "more: prefetches that are counted, or conflict" : "more: conflict";
    }
    if (flags & COUNTER_LOADS_ONLY)
        return "less: only loads are counted";
    return prefetches ? "less: the cache keeps what LRU evicts, or the estimate is too high"
                      : "less: prefetched lines are not counted, or the estimate is too high";
}
