/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of the named files are the ranks of one parallel job, and what is wrong with the others. */
#ifndef REUSE_POSTPROC_JOB_FILES_H
#define REUSE_POSTPROC_JOB_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/memory.h"

struct rank_file {
    char *name;
    uint64_t rank;
    char *host; /* "" where the file does not tell */
};

struct job_files {
    /* A file for each argument, and those that end in .rprof of each folder among them. */
    ARRAY(char *) names;
    char *id;                      /* NULL: they are not of a job, or there is one file alone */
    char *program;                 /* that the ranks ran */
    uint64_t expected;             /* ranks that the job has; 0: not known */
    ARRAY(struct rank_file) ranks; /* by ascending rank; a rank that forked has several */
    size_t distinct;               /* ranks among them */
    ARRAY(char *) notes;           /* what is missing, left out or cut short: a line each */
    bool left_out;                 /* a file that was named is not shown */
};

/*
 * At least two files that say of which job they are make a job. Of several jobs the one with most
 * files is meant, of equal ones that which began last; then of its programs, engines and line sizes
 * that of most files. The rest is left out, with a note each. Loads one file at a time.
 *
 * False with a line in message if a folder cannot be read or holds no profile.
 */
bool job_files_find(const char *const *arguments, size_t count, struct job_files *, char *message,
                    size_t message_size);
void job_files_free(struct job_files *);

#endif
