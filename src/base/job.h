/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parallel job that a process belongs to, as the launcher's environment tells: what its
 * profile is named by, and which of its processes speaks for all.
 *
 * Known: Open MPI, PMIx, PMI (MPICH, Intel MPI), MVAPICH2, Cray PALS, and Slurm with more than one
 * task (alone it sets SLURM_PROCID=0 for every serial job). MPICH's own launcher leaves no name of
 * the job in the environment; reuse-run finds one and sets REUSE_JOB (launcher/job_name.h).
 *
 * Pure: no allocation, no system call. Safe before main() and in a signal handler.
 */
#ifndef REUSE_JOB_H
#define REUSE_JOB_H

#include <stdbool.h>
#include <stdint.h>

enum { JOB_ID_MAX = 64, JOB_RANK_MAX = 32 };

struct job {
    char rank[JOB_RANK_MAX]; /* "": the process is no rank of a job */
    uint64_t size;           /* ranks of the job; 0: not known */
    /* Letters, digits, '.', '-' and '_' alone; "": not known. REUSE_JOB, or as the launcher calls
     * it; the end of it, if it is long. Empty for what is no rank. */
    char id[JOB_ID_MAX];
};

/* environment: NULL-terminated, as environ; NULL counts as empty. */
void job_find(const char *const *environment, struct job *);

/* Whether this process says what is said once per job: rank 0 does, and what is no rank. */
bool job_speaks(const struct job *);

#endif
