/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel did for the processes of a report: CPU time, memory and page faults. */
#ifndef REUSE_POSTPROC_KERNEL_USE_H
#define REUSE_POSTPROC_KERNEL_USE_H

#include "report/model/model.h"

/* Of whole processes, also where the report looks at one thread. 0: none, or not known. */
struct kernel_use {
    double time;        /* share of the CPU time, 0 to 1; below 0: not known */
    double page_faults; /* of all processes */
    double kept_faults; /* of these, what the memory of the processes takes if they keep it */
    double peak_bytes;  /* the most memory that one of the processes had at once */
};

struct kernel_use kernel_use_of(const struct model *);

#endif
