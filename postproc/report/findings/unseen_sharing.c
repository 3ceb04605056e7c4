/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/unseen_sharing.h"

#include <stdlib.h>
#include <string.h>

/* Two threads that added to one word moved its line once in hundreds of additions under the
 * emulator; processors alternate every 32 to 500 ns (docs/communication.md). */
static const char emulated_turns[] = "under an emulator threads take turns less often";

/* How often threads took turns is what nobody saw. */
static bool leaves_turns_open(const struct findings *findings)
{
    for (size_t i = 0; i < findings->items.count; i++)
        if (findings->items.items[i].modelled && findings->items.items[i].weight == FINDING_OPEN)
            return true;
    return false;
}

static bool tells_sharing(const struct findings *findings)
{
    for (size_t i = 0; i < findings->items.count; i++)
        if (pattern_is_sharing(findings->items.items[i].pattern))
            return true;
    return false;
}

/* The caller frees it. */
static char *way_out_text(const struct sight *sight)
{
    return strstr(sight->way_out, "-e exact") != NULL
               ? format_string("%s (at least so many: %s)", sight->way_out, emulated_turns)
               : copy_string(sight->way_out);
}

/* Threads that share one CPU hardly meet: if others kept the machine busy, it can be helped. */
static char *busy_text(const struct findings *findings)
{
    double busy = findings->sight.busy_cpus;

    return sight_one_at_a_time(&findings->sight) && leaves_turns_open(findings)
               ? format_string(" All threads together ran on %.1f CPU%s: if the machine was busy, "
                               "profile on an idle one.",
                               busy, busy > 0.95 && busy < 1.05 ? "" : "s")
               : copy_string("");
}

char *unseen_sharing_text(const struct findings *findings)
{
    const struct sight *sight = &findings->sight;
    char *way_out, *busy, *text;

    if (!sight->misses_sharing && !sight->models_sharing)
        return sight->emulates_sharing && tells_sharing(findings)
                   ? format_string("Transfers are at least those counted: %s.", emulated_turns)
                   : NULL;
    way_out = way_out_text(sight);
    busy = busy_text(findings);
    text = sight->misses_sharing
               ? format_string("Not observed: sharing between threads, and what it costs (%s). "
                               "What would show it: %s.",
                               sight->cause, way_out)
               : format_string("Sharing between threads is modelled, from lines at which their "
                               "bursts met (%s). To count transfers: %s.%s",
                               sight->cause, way_out, busy);
    free(busy);
    free(way_out);
    return text;
}
