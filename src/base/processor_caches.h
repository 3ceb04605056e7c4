/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The caches that the processor tells of itself, for machines whose sysfs has none, as in some
 * virtual machines.
 *
 * AMD's first CPUID leaves on caches (0x80000005 and 0x80000006; AMD64 Architecture Programmer's
 * Manual, volume 3, appendix E) give the L3 of the whole package, without ways. A core reaches that
 * of its core complex, and how large this is, family and model tell (AMD's Software Optimization
 * Guides 55723, 56305, 56665, 57647 and 58455, chapters on L3; of "3D V-Cache" parts, which have
 * three times as much, nothing here tells).
 */
#ifndef REUSE_PROCESSOR_CACHES_H
#define REUSE_PROCESSOR_CACHES_H

#include "host_caches.h"

/* What the C library knows of the processor's caches, to the visitor. All levels or none: without
 * an L3 all misses of L2 would seem to go to memory. Signal-safe: glibc's sysconf() takes no lock
 * for these names. */
void processor_caches_each(host_cache_visitor *, void *user);

/* The L3 that the cores of one complex share; bytes is 0 where the family is not known. Pure. */
struct core_complex {
    uint64_t bytes;
    uint32_t cores;
};
struct core_complex amd_core_complex(unsigned family, unsigned model);

#endif
