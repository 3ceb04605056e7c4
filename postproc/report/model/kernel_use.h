/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel did for the processes of a report: CPU time, memory and page faults. */
#ifndef REUSE_POSTPROC_KERNEL_USE_H
#define REUSE_POSTPROC_KERNEL_USE_H

#include "report/model/model.h"

/* Of whole processes, also where the report looks at one thread. 0: none, or not known. */
struct kernel_use {
    double time;        /* share of the CPU time, 0 to 1; below 0: not known */
    double fault_time;  /* of it in page faults, at what one is known to cost; 0 to 1 */
    double page_faults; /* of all processes */
    double kept_faults; /* of these, what the memory of the processes takes if they keep it */
    double peak_bytes;  /* the most memory that one of the processes had at once */
    /* Calls of read(2) and write(2) and their kin, and what they moved. */
    double calls, call_bytes;
    /* Share of the CPU time that the kernel needs for these calls: of its time without page faults
     * the part that they have in all system calls that bursts saw. */
    struct estimate call_time;
};

struct kernel_use kernel_use_of(const struct model *);

#endif
