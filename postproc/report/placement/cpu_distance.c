/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/placement/cpu_distance.h"

#include <hwloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/machine.h"
#include "support/memory.h"

struct cpu_distances {
    const struct machine *machine; /* or NULL and */
    hwloc_topology_t topology;
};

/* Variables by which hwloc takes another topology than this host's. */
static bool is_described(void)
{
    return getenv("HWLOC_XMLFILE") != NULL || getenv("HWLOC_SYNTHETIC") != NULL ||
           getenv("HWLOC_FSROOT") != NULL;
}

static bool is_this_host(const char *host)
{
    char own[256] = "";

    return host != NULL && gethostname(own, sizeof(own) - 1) == 0 && strcmp(own, host) == 0;
}

struct cpu_distances *cpu_distances_create(const char *host, char *message, size_t message_size)
{
    struct cpu_distances *distances = allocate_zeroed(1, sizeof(*distances));

    if (!is_described() && !is_this_host(host)) {
        snprintf(message, message_size,
                 "The run's machine (%s) is not this one, so how far transfers went is not known: "
                 "HWLOC_XMLFILE can name its topology (lstopo file.xml).",
                 host != NULL ? host : "unknown");
        free(distances);
        return NULL;
    }
    if (hwloc_topology_init(&distances->topology) != 0) {
        snprintf(message, message_size, "hwloc cannot be set up.");
        free(distances);
        return NULL;
    }
    if (hwloc_topology_load(distances->topology) != 0) {
        snprintf(message, message_size, "hwloc cannot read the topology.");
        cpu_distances_free(distances);
        return NULL;
    }
    return distances;
}

struct cpu_distances *cpu_distances_of_machine(const struct machine *machine)
{
    struct cpu_distances *distances = allocate_zeroed(1, sizeof(*distances));

    distances->machine = machine;
    return distances;
}

void cpu_distances_free(struct cpu_distances *distances)
{
    if (distances == NULL)
        return;
    if (distances->machine == NULL)
        hwloc_topology_destroy(distances->topology);
    free(distances);
}

static bool share_domain(hwloc_obj_t a, hwloc_obj_t b)
{
    return a->nodeset != NULL && b->nodeset != NULL && hwloc_bitmap_isequal(a->nodeset, b->nodeset);
}

static enum cpu_distance distance_of_cores(const struct machine *machine, unsigned a, unsigned b)
{
    unsigned cores = machine->numa_domains * machine->domain_cores;

    a = cores != 0 ? a % cores : a;
    b = cores != 0 ? b % cores : b;
    if (a == b)
        return DISTANCE_SAME_CPU;
    for (size_t i = 0; i < machine->levels; i++) {
        unsigned sharing = machine->caches[i].sharing_cpus;

        if (sharing > 1 && a / sharing == b / sharing)
            return DISTANCE_CACHE;
    }
    return cores == 0 || a / machine->domain_cores == b / machine->domain_cores ? DISTANCE_DOMAIN
                                                                                : DISTANCE_MACHINE;
}

static enum cpu_distance distance_of_units(hwloc_topology_t topology, unsigned a, unsigned b)
{
    hwloc_obj_t first = hwloc_get_pu_obj_by_os_index(topology, a);
    hwloc_obj_t second = hwloc_get_pu_obj_by_os_index(topology, b);
    hwloc_obj_t common;

    if (first == NULL || second == NULL)
        return DISTANCE_MACHINE;
    if (first == second)
        return DISTANCE_SAME_CPU;
    common = hwloc_get_common_ancestor_obj(topology, first, second);
    for (; common != NULL; common = common->parent) {
        if (common->type == HWLOC_OBJ_CORE)
            return DISTANCE_CORE;
        if (hwloc_obj_type_is_dcache(common->type))
            return DISTANCE_CACHE;
    }
    return share_domain(first, second) ? DISTANCE_DOMAIN : DISTANCE_MACHINE;
}

enum cpu_distance cpu_distance_of(const struct cpu_distances *distances, unsigned a, unsigned b)
{
    return distances->machine != NULL ? distance_of_cores(distances->machine, a, b)
                                      : distance_of_units(distances->topology, a, b);
}

uint32_t cpu_cache_of(const struct cpu_distances *distances, unsigned cpu, unsigned level)
{
    hwloc_obj_t object = NULL;

    /* hwloc goes over all units to find one, and callers ask for every number that a CPU can have.
     */
    if (hwloc_bitmap_isset(hwloc_topology_get_topology_cpuset(distances->topology), cpu))
        object = hwloc_get_pu_obj_by_os_index(distances->topology, cpu);
    for (; object != NULL; object = object->parent)
        if (hwloc_obj_type_is_dcache(object->type) && object->attr->cache.depth == level)
            return object->logical_index;
    return 0;
}
