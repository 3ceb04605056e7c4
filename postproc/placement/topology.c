/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement/topology.h"

#include <errno.h>
#include <hwloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/memory.h"

enum { PLACES_MAX = 16384 };

static bool is_file(const char *source)
{
    struct stat status;

    return stat(source, &status) == 0;
}

/*
 * Whether a synthetic description ("pack:2 l3(size=1MB):2 core:4") has so many objects that hwloc
 * would be busy for minutes: the product of its counts.
 */
static bool is_huge(const char *description)
{
    enum { OBJECTS_MAX = 1 << 16 };
    uint64_t product = 1;
    int depth = 0;

    for (const char *at = description; *at != '\0'; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth == 0 && *at == ':')
            product *= strtoul(at + 1, NULL, 10);
        if (product > OBJECTS_MAX)
            return true;
    }
    return false;
}

/* hwloc explains bad input on stderr only when asked; the line is ours. */
static bool load(hwloc_topology_t topology, const char *source, char *message, size_t size)
{
    bool file = source != NULL && is_file(source);

    if (file && hwloc_topology_set_xml(topology, source) != 0) {
        snprintf(message, size,
                 "topology %s: not an XML file of hwloc (lstopo FILE.xml writes one)", source);
        return false;
    }
    if (source != NULL && !file && is_huge(source)) {
        snprintf(message, size, "topology '%s': more than 65536 CPUs", source);
        return false;
    }
    if (source != NULL && !file && hwloc_topology_set_synthetic(topology, source) != 0) {
        snprintf(message, size,
                 "topology '%s': neither a file nor a synthetic description such as "
                 "'pack:2 l3:2 core:4 pu:2' (hwloc(7))",
                 source);
        return false;
    }
    if (hwloc_topology_load(topology) != 0) {
        snprintf(message, size, "topology %s: hwloc cannot read it%s%s",
                 source != NULL ? source : "of this host", file ? ": not an XML file of hwloc" : "",
                 source == NULL ? strerror(errno) : "");
        return false;
    }
    return true;
}

static const hwloc_obj_t no_object = NULL;

/* The CPU of a place. */
static hwloc_obj_t first_cpu(hwloc_topology_t topology, hwloc_obj_t place)
{
    int first = place->cpuset != NULL ? hwloc_bitmap_first(place->cpuset) : -1;

    return first >= 0 ? hwloc_get_pu_obj_by_os_index(topology, (unsigned)first) : no_object;
}

/* Cores if they are enough or all that there is, CPUs if not. */
static hwloc_obj_type_t choose_unit(hwloc_topology_t topology, size_t threads)
{
    int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    int cpus = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);

    return cores > 0 && ((size_t)cores >= threads || cpus <= cores) ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

/* What users call such a level, innermost cache first. */
static void name_level(struct tree_level *level, hwloc_obj_t object)
{
    char type[32];

    if (hwloc_obj_type_is_dcache(object->type)) {
        snprintf(level->name, sizeof(level->name), "L%u cache", object->attr->cache.depth);
        level->cache_bytes = object->attr->cache.size;
        return;
    }
    if (object->memory_arity > 0 && object->type != HWLOC_OBJ_MACHINE)
        snprintf(level->name, sizeof(level->name), "NUMA node");
    else if (object->type == HWLOC_OBJ_MACHINE)
        snprintf(level->name, sizeof(level->name), "machine");
    else {
        hwloc_obj_type_snprintf(type, sizeof(type), object, 0);
        snprintf(level->name, sizeof(level->name), "%s",
                 object->type == HWLOC_OBJ_PACKAGE ? "package"
                 : object->type == HWLOC_OBJ_CORE  ? "core"
                                                   : type);
    }
}

static bool same_groups(const struct tree_level *a, const struct tree_level *b, size_t places)
{
    return a->groups == b->groups && memcmp(a->group, b->group, places * sizeof(*a->group)) == 0;
}

/*
 * The level that hwloc has at a depth. A place without an object there (trees need not be even)
 * is with those that share its group one level out and have none either.
 */
static void read_level(int depth, const hwloc_obj_t *places, size_t count,
                       const struct tree_level *outer, struct tree_level *level)
{
    hwloc_obj_t before = no_object;
    uint32_t before_outer = 0;
    hwloc_obj_t named = no_object;

    memset(level, 0, sizeof(*level));
    level->group = allocate_zeroed(count, sizeof(*level->group));
    for (size_t i = 0; i < count; i++) {
        hwloc_obj_t object = places[i];

        while (object != no_object && object->depth > depth)
            object = object->parent;
        if (object != no_object && object->depth != depth)
            object = no_object;
        if (i == 0 || object != before || (outer != NULL && outer->group[i] != before_outer))
            level->groups++;
        level->group[i] = (uint32_t)level->groups - 1;
        before = object;
        before_outer = outer != NULL ? outer->group[i] : 0;
        if (object != no_object)
            named = object;
    }
    if (named != no_object)
        name_level(level, named);
}

/* Keeps a level if it separates what the one before does not; else it may lend its name. */
static void add_level(struct placement_tree *tree, struct tree_level *level)
{
    struct tree_level *before = tree->level_count > 0 ? &tree->levels[tree->level_count - 1] : NULL;

    if (before != NULL && same_groups(before, level, tree->places)) {
        if (level->cache_bytes > 0) {
            memcpy(before->name, level->name, sizeof(before->name));
            before->cache_bytes = level->cache_bytes;
        }
        free(level->group);
        return;
    }
    if (tree->level_count == TREE_LEVELS_MAX) {
        free(level->group);
        return;
    }
    tree->levels[tree->level_count++] = *level;
}

static void read_levels(hwloc_topology_t topology, const hwloc_obj_t *places,
                        struct placement_tree *tree)
{
    int leaf = places[0]->depth;

    for (int depth = 0; depth < leaf; depth++) {
        const struct tree_level *outer =
            tree->level_count > 0 ? &tree->levels[tree->level_count - 1] : NULL;
        struct tree_level level;

        if (hwloc_obj_type_is_icache(hwloc_get_depth_type(topology, depth)))
            continue;
        read_level(depth, places, tree->places, outer, &level);
        /* A group per place is what the places are. */
        if (level.groups == tree->places && tree->places > 1)
            free(level.group);
        else
            add_level(tree, &level);
    }
}

static struct placement_tree *read_tree(hwloc_topology_t topology, const char *source,
                                        size_t threads, char *message, size_t size)
{
    hwloc_obj_type_t unit = choose_unit(topology, threads);
    int count = hwloc_get_nbobjs_by_type(topology, unit);
    struct placement_tree *tree;
    hwloc_obj_t *places;

    if (count <= 0 || count > PLACES_MAX) {
        snprintf(message, size, "topology %s: %s", source != NULL ? source : "of this host",
                 count <= 0 ? "it has no CPU" : "more than 16384 cores");
        return NULL;
    }
    tree = allocate_zeroed(1, sizeof(*tree));
    tree->cpu = allocate_zeroed((size_t)count, sizeof(*tree->cpu));
    places = allocate_zeroed((size_t)count, sizeof(hwloc_obj_t));
    for (int i = 0; i < count; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(topology, unit, (unsigned)i);
        hwloc_obj_t cpu = first_cpu(topology, object);

        if (cpu == no_object)
            continue;
        tree->cpu[tree->places] = cpu->os_index;
        places[tree->places++] = object;
    }
    snprintf(tree->unit, sizeof(tree->unit), "%s", unit == HWLOC_OBJ_CORE ? "core" : "cpu");
    tree->hypothetical = !hwloc_topology_is_thissystem(topology);
    if (tree->places > 0)
        read_levels(topology, places, tree);
    free(places);
    if (tree->level_count == 0) {
        snprintf(message, size, "topology %s: it has no CPU that may be used",
                 source != NULL ? source : "of this host");
        tree_free(tree);
        return NULL;
    }
    return tree;
}

struct placement_tree *topology_read(const char *source, size_t threads, char *message, size_t size)
{
    hwloc_topology_t topology;
    struct placement_tree *tree = NULL;

    if (hwloc_topology_init(&topology) != 0) {
        snprintf(message, size, "topology: hwloc cannot be set up");
        return NULL;
    }
    if (load(topology, source, message, size))
        tree = read_tree(topology, source, threads, message, size);
    hwloc_topology_destroy(topology);
    return tree;
}

bool topology_is_readable(const char *source, char *message, size_t size)
{
    struct placement_tree *tree = topology_read(source, 1, message, size);

    tree_free(tree);
    return tree != NULL;
}
