/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/cpu_distance.h"

#include <hwloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/memory.h"

struct cpu_distances {
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

void cpu_distances_free(struct cpu_distances *distances)
{
    if (distances == NULL)
        return;
    hwloc_topology_destroy(distances->topology);
    free(distances);
}

static bool share_domain(hwloc_obj_t a, hwloc_obj_t b)
{
    return a->nodeset != NULL && b->nodeset != NULL && hwloc_bitmap_isequal(a->nodeset, b->nodeset);
}

enum cpu_distance cpu_distance_of(const struct cpu_distances *distances, unsigned a, unsigned b)
{
    hwloc_obj_t first = hwloc_get_pu_obj_by_os_index(distances->topology, a);
    hwloc_obj_t second = hwloc_get_pu_obj_by_os_index(distances->topology, b);
    hwloc_obj_t common;

    if (first == NULL || second == NULL)
        return DISTANCE_MACHINE;
    if (first == second)
        return DISTANCE_SAME_CPU;
    common = hwloc_get_common_ancestor_obj(distances->topology, first, second);
    for (; common != NULL; common = common->parent) {
        if (common->type == HWLOC_OBJ_CORE)
            return DISTANCE_CORE;
        if (hwloc_obj_type_is_dcache(common->type))
            return DISTANCE_CACHE;
    }
    return share_domain(first, second) ? DISTANCE_DOMAIN : DISTANCE_MACHINE;
}

uint32_t cpu_cache_of(const struct cpu_distances *distances, unsigned cpu, unsigned level)
{
    hwloc_obj_t object = hwloc_get_pu_obj_by_os_index(distances->topology, cpu);

    for (; object != NULL; object = object->parent)
        if (hwloc_obj_type_is_dcache(object->type) && object->attr->cache.depth == level)
            return object->logical_index;
    return 0;
}
