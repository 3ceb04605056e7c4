/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "job.h"

#include <stddef.h>
#include <string.h>

#include "signal_safe.h"

/* The value of a variable that is there and not empty, or NULL. */
static const char *variable(const char *const *environment, const char *name)
{
    size_t length = strlen(name);

    for (; environment && *environment; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return (*environment)[length + 1] ? *environment + length + 1 : NULL;
    return NULL;
}

/* The first of the names that has a value. */
static const char *first_of(const char *const *environment, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *value = variable(environment, names[i]);

        if (value)
            return value;
    }
    return NULL;
}

#define FIRST_OF(environment, names) first_of(environment, names, sizeof(names) / sizeof(*(names)))

/* A whole decimal number; 0: it is none. */
static uint64_t whole(const char *text)
{
    uint64_t number = 0;

    for (; text && *text; text++) {
        if (*text < '0' || *text > '9' || number > UINT64_MAX / 100)
            return 0;
        number = number * 10 + (uint64_t)(*text - '0');
    }
    return number;
}

static const char *find_rank(const char *const *environment)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "MV2_COMM_WORLD_RANK", "PALS_RANKID"};
    const char *rank = FIRST_OF(environment, names);

    if (!rank && whole(variable(environment, "SLURM_NTASKS")) > 1)
        rank = variable(environment, "SLURM_PROCID");
    return rank;
}

static uint64_t find_size(const char *const *environment)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                        "MV2_COMM_WORLD_SIZE",  "PALS_SIZE",
                                        "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"};

    return whole(FIRST_OF(environment, names));
}

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_';
}

static void append(struct job *job, const char *text)
{
    size_t length = strlen(job->id), added = strlen(text), room = JOB_ID_MAX - 1 - length;

    /* What tells jobs apart stands at the end of their names. */
    if (added > room)
        text += added - room;
    for (; *text; text++)
        job->id[length++] = is_plain(*text) ? *text : '_';
    job->id[length] = '\0';
}

/* What the launcher calls the start of just these processes; a batch job may have many of them. */
static void find_id(const char *const *environment, struct job *job)
{
    static const char *const names[] = {"REUSE_JOB", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid",
                                        "PALS_APID"};
    const char *id = FIRST_OF(environment, names);
    const char *step = variable(environment, "SLURM_STEP_ID");

    if (id) {
        append(job, id);
        return;
    }
    id = variable(environment, "SLURM_JOB_ID");
    if (!id || !step)
        return;
    append(job, id);
    append(job, ".");
    append(job, step);
}

void job_find(const char *const *environment, struct job *job)
{
    const char *rank;

    memset(job, 0, sizeof *job);
    rank = find_rank(environment);
    if (!rank)
        return;
    for (size_t i = 0; rank[i] && i < sizeof job->rank - 1; i++)
        job->rank[i] = rank[i];
    job->size = find_size(environment);
    find_id(environment, job);
}

bool job_speaks(const struct job *job)
{
    return job->rank[0] == '\0' || strcmp(job->rank, "0") == 0;
}
