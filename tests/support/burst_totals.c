/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * burst_totals FILE: what became of the bursts of a profile, as one line of shell assignments:
 * bursts (early: of them, without all their accesses), weight_ns and app_ns of all threads, stops
 * and those bridged, markers and those foreseen, open samples for registers (not pursued ones),
 * watches armed, stores that the registers of all threads were asked for (offered) and those that
 * they began to watch (followed), contexts that were not known, handler_ns; bursts that a model of
 * the processor was told, those that a look came before, and of these those in which page faults
 * took half of the time; page faults that stores of bursts will take (ahead), and that the kernel
 * counted between bursts.
 */
#include <inttypes.h>
#include <stdio.h>

#include "support/profile_builder.h"

struct looks {
    uint64_t modelled, clocked, looked, faulted, ahead, faults;
};

static struct looks count_looks(const struct profile *profile)
{
    struct looks looks = {0};

    for (size_t i = 0; i < profile->progress.count; i++) {
        const struct record_progress *record = profile->progress.items[i];

        looks.looked += record->before_ns > 0;
        for (uint32_t k = 0; k < record->count; k++) {
            const struct progress_variable *variable = &record->variables[k];

            looks.modelled +=
                variable->kind == PROGRESS_MODEL && variable->place == PROGRESS_NEAR_CYCLES;
            /* No processor has clocks outside of this, and one that is slowed down has half of it.
             */
            looks.clocked += variable->kind == PROGRESS_MODEL &&
                             variable->place == PROGRESS_CYCLES_PER_NS && variable->within > 0.3 &&
                             variable->within < 8;
            looks.faulted += variable->kind == PROGRESS_FAULT_NS &&
                             variable->before > (double)record->before_ns / 2;
            if (variable->kind == PROGRESS_KERNEL_COUNT &&
                variable->place == PROGRESS_PAGE_FAULTS) {
                looks.ahead += (uint64_t)variable->within;
                looks.faults += (uint64_t)variable->since;
            }
        }
    }
    return looks;
}

int main(int argc, char **argv)
{
    struct record_totals sum = {0};
    uint64_t early = 0, weight = 0, open = 0, offered = 0;
    struct profile *profile;
    struct looks looks;

    if (argc != 2) {
        (void)fprintf(stderr, "usage: burst_totals FILE\n");
        return 2;
    }
    profile = profile_builder_load(argv[1]);
    for (size_t i = 0; i < profile->bursts.count; i++) {
        early += profile->bursts.items[i]->accesses < BURST_ACCESSES;
        weight += profile->bursts.items[i]->weight_ns;
    }
    for (size_t i = 0; i < profile->samples.count; i++) {
        const struct record_sample *sample = &profile->samples.items[i];

        open += (sample->flags & SAMPLE_OPEN) && sample->watch_mode != WATCH_PURSUED;
        offered += (sample->flags & SAMPLE_LINE_OFFERED) && sample->kind == ACCESS_STORE;
    }
    for (size_t i = 0; i < profile->totals.count; i++) {
        const struct record_totals *totals = &profile->totals.items[i];

        sum.app_ns += totals->app_ns;
        sum.handler_ns += totals->handler_ns;
        sum.stops += totals->stops;
        sum.bridged += totals->bridged;
        sum.markers += totals->markers;
        sum.foreseen += totals->foreseen;
        sum.armed += totals->armed;
        sum.lost[LOSS_CONTEXT] += totals->lost[LOSS_CONTEXT];
    }
    looks = count_looks(profile);
    printf("bursts=%zu early=%" PRIu64 " weight_ns=%" PRIu64 " app_ns=%" PRIu64 " stops=%" PRIu64
           " bridged=%" PRIu64 " markers=%" PRIu64 " foreseen=%" PRIu64 " open=%" PRIu64
           " armed=%" PRIu64 " offered=%" PRIu64 " followed=%zu contexts_lost=%" PRIu64
           " handler_ns=%" PRIu64 " modelled=%" PRIu64 " clocked=%" PRIu64 " looked=%" PRIu64
           " faulted=%" PRIu64 " ahead=%" PRIu64 " faults=%" PRIu64 "\n",
           profile->bursts.count, early, weight, sum.app_ns, sum.stops, sum.bridged, sum.markers,
           sum.foreseen, open, sum.armed, offered, profile->line_watches.count,
           sum.lost[LOSS_CONTEXT], sum.handler_ns, looks.modelled, looks.clocked, looks.looked,
           looks.faulted, looks.ahead, looks.faults);
    profile_free(profile);
    return 0;
}
