/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the profiled processes ran, by the clock on the wall and on CPUs. */
#ifndef REUSE_POSTPROC_RUN_TIME_H
#define REUSE_POSTPROC_RUN_TIME_H

#include "report/model/model.h"

/* ns from start to end, of all processes of the profile; 0: not known. A run that was cut short
 * lasted at least until its last record with a time. */
uint64_t run_wall_ns(const struct profile *);

/* ns of CPU time of the threads that are looked at; 0: not known, as of exact profiles. */
double run_cpu_ns(const struct model *);

#endif
