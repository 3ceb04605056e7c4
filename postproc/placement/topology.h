/* SPDX-License-Identifier: BSD-3-Clause */
/* From hwloc's view of a machine to the tree of places that threads are mapped to. */
#ifndef REUSE_PLACEMENT_TOPOLOGY_H
#define REUSE_PLACEMENT_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "placement/tree.h"

/*
 * source: NULL for this host (without CPUs that its cgroup forbids), the name of an XML file that
 * `lstopo FILE.xml` wrote, or a synthetic description as hwloc(7) has it ("pack:2 l3:2 core:4
 * pu:2"). A place is a core, with the first of its CPUs that may be used; when there are more
 * threads than cores, each CPU. Levels that separate nothing are left out, those that separate the
 * same are one, called after the innermost cache among them. NULL with one line in message that
 * names the source and the cause.
 */
struct placement_tree *topology_read(const char *source, size_t threads, char *message,
                                     size_t message_size);

/* Whether topology_read() takes a source that is not NULL; else false with one line in message. */
bool topology_is_readable(const char *source, char *message, size_t message_size);

#endif
