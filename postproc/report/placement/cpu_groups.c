/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/placement/cpu_groups.h"

#include <stdlib.h>
#include <string.h>

#include "report/placement/cpu_distance.h"
#include "support/memory.h"

static uint32_t *groups_of_all(struct cache_groups *out)
{
    uint32_t *of_cpu = allocate_zeroed(CPU_GROUPS_CPUS, sizeof(*of_cpu));

    *out = (struct cache_groups){of_cpu, CPU_GROUPS_CPUS};
    return of_cpu;
}

static bool take_cpu(const char **text, unsigned *cpu)
{
    char *end;
    unsigned long number;

    if (**text < '0' || **text > '9')
        return false;
    number = strtoul(*text, &end, 10);
    *text = end;
    *cpu = (unsigned)number;
    return number < CPU_GROUPS_CPUS;
}

/* "0-3,8"; 0 in of_cpu: in no set yet. */
static bool take_set(const char **text, uint32_t number, uint32_t *of_cpu)
{
    for (;;) {
        unsigned first, last;

        if (!take_cpu(text, &first))
            return false;
        last = first;
        if (**text == '-') {
            ++*text;
            if (!take_cpu(text, &last) || last < first)
                return false;
        }
        for (unsigned cpu = first; cpu <= last; cpu++) {
            if (of_cpu[cpu] != 0)
                return false;
            of_cpu[cpu] = number;
        }
        if (**text != ',')
            return true;
        ++*text;
    }
}

bool cpu_groups_parse(const char *text, struct cache_groups *out)
{
    uint32_t *of_cpu = groups_of_all(out), number = 1;
    bool valid;

    if (strcmp(text, "all") == 0)
        return true;
    for (; (valid = take_set(&text, number, of_cpu)) && *text == ':'; number++)
        text++;
    if (valid && *text == '\0')
        return true;
    free(of_cpu);
    *out = (struct cache_groups){0};
    return false;
}

bool cpu_groups_of_level(const char *host, unsigned level, struct cache_groups *out)
{
    char message[256];
    struct cpu_distances *topology = cpu_distances_create(host, message, sizeof(message));
    uint32_t *of_cpu;

    if (topology == NULL)
        return false;
    of_cpu = groups_of_all(out);
    for (unsigned cpu = 0; cpu < CPU_GROUPS_CPUS; cpu++)
        of_cpu[cpu] = cpu_cache_of(topology, cpu, level);
    cpu_distances_free(topology);
    return true;
}

void cpu_groups_by_number(uint32_t sharing, struct cache_groups *out)
{
    uint32_t *of_cpu = groups_of_all(out);

    for (uint32_t cpu = 0; cpu < CPU_GROUPS_CPUS && sharing != 0; cpu++)
        of_cpu[cpu] = cpu / sharing;
}
