/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reuse-doctor --latencies: how long a load waits for each cache and for memory, by a chain of
 * loads each of which names the next (McCalpin and others' lmbench, lat_mem_rd), and keeps it for
 * reports on this host. On large pages where the system gives them: look-ups of pages are not part
 * of it.
 */
#ifndef REUSE_DOCTOR_LATENCIES_H
#define REUSE_DOCTOR_LATENCIES_H

#include <stdbool.h>
#include <stddef.h>

/* Measures, prints and keeps. 0, or 1 with one line on standard error. */
int latencies_measure(void);

/* Bytes to follow a chain through, so that most of its loads are served by cache `level` of
 * `count` (level == count: by memory); sizes: of the caches, ascending. */
size_t latencies_chain_bytes(const size_t *sizes, size_t count, size_t level);

/* ns per load of a chain through so many bytes, in no order; 0: no memory for it. */
double latencies_of_chain(size_t bytes);

#endif
