/* SPDX-License-Identifier: BSD-3-Clause */
/* See option_conflicts.h. */
#include "launcher/option_conflicts.h"

#include <stdio.h>

enum { SAMPLING = 1 << ENGINE_AUTO | 1 << ENGINE_PMU | 1 << ENGINE_CLOCK };

/* Options that mean something to some engines only, and which these are. */
static const struct scope {
    enum option_id option;
    unsigned engines; /* bits */
    const char *whose;
} scopes[] = {
    {OPTION_BUDGET, SAMPLING, "the engines that sample"},
    {OPTION_PERIOD, SAMPLING | 1 << ENGINE_SIMULATE, "the engines that sample"},
    {OPTION_RECORD_RAW, SAMPLING, "the engines that sample in the program itself"},
    {OPTION_METRICS, SAMPLING, "the engines that sample"},
    {OPTION_EVENT, 1 << ENGINE_AUTO | 1 << ENGINE_PMU, "the engine pmu"},
    {OPTION_REGIONS, 1 << ENGINE_EXACT, "the engine exact"},
    {OPTION_RATE, 1 << ENGINE_EXACT, "the engine exact"},
    {OPTION_PARTITIONS, 1 << ENGINE_EXACT, "the engine exact"},
    {OPTION_PARTITION_GROUPS, 1 << ENGINE_EXACT, "the engine exact"},
    {OPTION_SIMULATE_LAYOUT, 1 << ENGINE_SIMULATE, "the engine simulate"},
    {OPTION_SIMULATE_SKID, 1 << ENGINE_SIMULATE, "the engine simulate"},
    {OPTION_SIMULATE_LOSS, 1 << ENGINE_SIMULATE, "the engine simulate"},
    {OPTION_SIMULATE_TRAP, 1 << ENGINE_SIMULATE, "the engine simulate"},
    {OPTION_SIMULATE_REGISTER, 1 << ENGINE_SIMULATE, "the engine simulate"},
};

const char *option_contradiction(const struct options *options)
{
    if (options->engine == ENGINE_SIMULATE && options->rate < 1)
        return "REUSE_RATE leaves accesses out, and the engine simulate needs all of them: unset "
               "one of the two";
    if (options->engine == ENGINE_EXACT && options->rate < 1 &&
        (options->partitions > 0 || options->partition_groups[0] != '\0'))
        return "--rate follows a part of the lines, and split caches (--partitions, "
               "--partition-groups) need all of them: leave one of the two out";
    return NULL;
}

void option_warn_unused(const struct options *options, const struct environment *environment)
{
    if (options->quiet || options->engine == ENGINE_NONE)
        return;
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        const struct option_description *option = &option_table[scopes[i].option];
        const char *value = environment_get(environment, option->variable);

        if (value != NULL && *value != '\0' && !(scopes[i].engines >> options->engine & 1))
            fprintf(stderr, "reuse-run: the engine %s leaves --%s (%s) unused: it is of %s\n",
                    engine_names[options->engine], option->name, option->variable, scopes[i].whose);
    }
}
