/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a record that a unit left an access of the program, and if not, why? One answer for everybody
 * who counts such records. Pure; signal-safe.
 */
#ifndef REUSE_PMU_ACCESS_USE_H
#define REUSE_PMU_ACCESS_USE_H

#include "pmu/access_record.h"

enum access_use {
    USE_ACCESS,
    USE_KERNEL,      /* made in the kernel or a hypervisor */
    USE_DAMAGED,     /* bytes of it were not understood */
    USE_NO_ACCESS,   /* the operation was no load and no store */
    USE_SPECULATIVE, /* never retired */
    USE_NO_ADDRESS,
    USE_COUNT,
};

/* The first of them that holds, in the order of the list but for USE_ACCESS, which is last. */
enum access_use access_use(const struct access_record *);

#endif
