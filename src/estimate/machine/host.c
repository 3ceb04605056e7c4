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
    if (!machine_check(machine, NULL, cause, sizeof cause)) {
        snprintf(
            message, message_size,
            "this host's caches as hwloc reports them make no sense (%s): describe the machine "
            "in a file",
            cause);
        return false;
    }
    return true;
}

static bool read_builtin(const struct builtin_machine *builtin, struct machine *machine,
                         char *message, size_t message_size)
{
    FILE *text = fmemopen((void *)(uintptr_t)builtin->text, strlen(builtin->text), "r");

    if (!text) {
        snprintf(message, message_size, "%s: %s", builtin->name, strerror(errno));
        return false;
    }
    bool good = machine_read_stream(text, builtin->name, machine, message, message_size);
    fclose(text);
    return good;
}

static void name_them_all(const char *wanted, char *message, size_t size)
{
    int length = snprintf(message, size, "unknown machine \"%s\": neither", wanted);

    for (size_t i = 0; builtin_machines[i].name && length > 0 && (size_t)length < size; i++)
        length +=
            snprintf(message + length, size - (size_t)length, " %s,", builtin_machines[i].name);
    if (length > 0 && (size_t)length < size)
        snprintf(message + length, size - (size_t)length, " host, nor a description file");
}

bool machine_find(const char *name_or_file, struct machine *machine, char *message,
                  size_t message_size)
{
    struct stat status;

    for (size_t i = 0; builtin_machines[i].name; i++)
        if (strcmp(name_or_file, builtin_machines[i].name) == 0)
            return read_builtin(&builtin_machines[i], machine, message, message_size);
    if (strcmp(name_or_file, "host") == 0)
        return machine_of_host(machine, message, message_size);
    if (stat(name_or_file, &status) && errno == ENOENT) {
        name_them_all(name_or_file, message, message_size);
        return false;
    }
    return machine_read(name_or_file, machine, message, message_size);
}
