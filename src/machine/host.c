/* SPDX-License-Identifier: BSD-3-Clause */
/* Machines by name; this host's caches through hwloc. For tools only (see machine.h). */
#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/machine.h"

static void add_cache(struct machine *machine, hwloc_obj_t object)
{
    const struct hwloc_cache_attr_s *cache = &object->attr->cache;

    if (cache->size == 0 || machine->levels == MACHINE_LEVELS_MAX)
        return;
    int sharing = object->cpuset ? hwloc_bitmap_weight(object->cpuset) : 1;
    machine->caches[machine->levels++] = (struct machine_cache){
        .level = cache->depth,
        .bytes = cache->size,
        .line_size = cache->linesize ? cache->linesize : 64,
        .ways = cache->associativity > 0 ? (uint32_t)cache->associativity : 0,
        .sharing_cpus = sharing > 0 ? (uint32_t)sharing : 1,
    };
}

bool machine_of_host(struct machine *machine, char *message, size_t message_size)
{
    static const hwloc_obj_type_t levels[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,
                                              HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE,
                                              HWLOC_OBJ_L5CACHE};
    hwloc_topology_t topology;
    char cause[128];

    memset(machine, 0, sizeof *machine);
    if (gethostname(machine->name, sizeof machine->name - 1) || !machine->name[0])
        snprintf(machine->name, sizeof machine->name, "host");
    if (hwloc_topology_init(&topology)) {
        snprintf(message, message_size, "this host's caches: hwloc cannot be set up");
        return false;
    }
    if (hwloc_topology_load(topology)) {
        snprintf(message, message_size, "this host's caches: hwloc cannot read the topology: %s",
                 strerror(errno));
        hwloc_topology_destroy(topology);
        return false;
    }
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(topology, levels[i], 0);
        if (object)
            add_cache(machine, object);
    }
    hwloc_topology_destroy(topology);
    if (!machine_check(machine, cause, sizeof cause)) {
        snprintf(
            message, message_size,
            "this host's caches as hwloc reports them make no sense (%s): describe the machine "
            "in a file",
            cause);
        return false;
    }
    return true;
}

bool machine_find(const char *name_or_file, struct machine *machine, char *message,
                  size_t message_size)
{
    struct stat status;

    if (strcmp(name_or_file, "a64fx") == 0) {
        machine_a64fx(machine);
        return true;
    }
    if (strcmp(name_or_file, "host") == 0)
        return machine_of_host(machine, message, message_size);
    if (stat(name_or_file, &status) && errno == ENOENT) {
        snprintf(message, message_size,
                 "unknown machine \"%s\": neither a64fx, nor host, nor a description file",
                 name_or_file);
        return false;
    }
    return machine_read(name_or_file, machine, message, message_size);
}
