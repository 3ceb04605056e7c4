/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The caches of the machine that the target runs on, from sysfs, else from the processor
 * (processor_caches.h): hwloc would allocate from the target's heap and cost more than the whole
 * start-up. Signal-safe.
 */
#ifndef REUSE_HOST_CACHES_H
#define REUSE_HOST_CACHES_H

#include "profile/format.h"

typedef void host_cache_visitor(void *user, const struct record_cache *);

/* Calls the visitor for every data and unified cache of CPU 0. */
void host_caches_each(host_cache_visitor *, void *user);

#endif
