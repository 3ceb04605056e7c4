/* SPDX-License-Identifier: BSD-3-Clause */
/* A name for a parallel job whose launcher puts none into the environment. */
#ifndef REUSE_LAUNCHER_JOB_NAME_H
#define REUSE_LAUNCHER_JOB_NAME_H

#include "launcher/environment.h"

/*
 * Sets REUSE_JOB for a rank (job.h) that has no other name for its job, where one can be found:
 * MPICH's launcher (Hydra) starts ranks by a proxy on each node, whose command line names the
 * socket that the whole job is controlled by. Returns 0, also when none was found; -1 without
 * memory.
 */
int job_name_prepare(struct environment *);

#endif
