/* SPDX-License-Identifier: BSD-3-Clause */
/* See rank_figures.h. */
#include "report/job/rank_figures.h"

#include <stdlib.h>
#include <string.h>

static double cpu_time(const struct profile *profile)
{
    const char *engine = profile_run_text(profile, "engine", "");
    double sum = 0;

    if (profile_counts_accesses(profile) || strcmp(engine, "exact") == 0 ||
        strcmp(engine, "simulate") == 0)
        return 0;
    for (size_t i = 0; i < profile->totals.count; i++)
        sum += (double)profile->totals.items[i].app_ns;
    return sum;
}

static void fill(const struct model *model, const struct profile *const *profiles,
                 struct rank_figures *rank)
{
    double sizes[MACHINE_LEVELS_MAX];
    struct curve_point points[MACHINE_LEVELS_MAX];
    struct analysis_options options = model->asked;
    char message[256];
    struct analysis *analysis;

    for (size_t i = 0; i < rank->files; i++)
        rank->cpu_ns += cpu_time(profiles[i]);
    analysis = analysis_create(profiles, rank->files, &options, message, sizeof(message));
    if (analysis == NULL)
        return;
    for (size_t level = 0; level < model->machine.levels; level++)
        sizes[level] = (double)model->machine.caches[level].bytes;
    rank->bursts =
        analysis_is_exact(analysis) ? 0 : analysis_burst_count(analysis, (struct subset){0});
    rank->enough = analysis_is_exact(analysis) || rank->bursts >= MODEL_BURSTS_MIN;
    rank->accesses = analysis_accesses(analysis);
    analysis_miss_ratio_curve(analysis, (struct subset){0}, sizes, model->machine.levels, points);
    for (size_t level = 0; level < model->machine.levels; level++) {
        rank->misses[level] = points[level].miss_ratio;
        rank->known[level] = rank->enough && !points[level].beyond;
    }
    analysis_free(analysis);
}

static void read_rank(const struct model *model, const struct job_files *files,
                      struct rank_figures *rank)
{
    struct profile **profiles = allocate_zeroed(rank->files, sizeof(*profiles));
    char message[1024];
    bool read = true;

    for (size_t i = 0; i < rank->files; i++) {
        profiles[i] =
            profile_load(files->ranks.items[rank->first + i].name, message, sizeof(message));
        read &= profiles[i] != NULL;
    }
    if (read)
        fill(model, (const struct profile *const *)profiles, rank);
    for (size_t i = 0; i < rank->files; i++)
        profile_free(profiles[i]);
    free(profiles);
}

static void list_ranks(const struct job_files *files, struct job_figures *job)
{
    job->ranks = allocate_zeroed(files->distinct, sizeof(*job->ranks));
    for (size_t i = 0; i < files->ranks.count; i++) {
        const struct rank_file *file = &files->ranks.items[i];

        if (job->count == 0 || job->ranks[job->count - 1].rank != file->rank)
            job->ranks[job->count++] = (struct rank_figures){
                .rank = file->rank, .host = file->host, .first = i, .group = GROUP_NONE};
        job->ranks[job->count - 1].files++;
    }
}

static void find_apart(struct job_figures *job)
{
    double *values = allocate_zeroed(job->count, sizeof(*values));
    size_t count = 0;

    for (size_t i = 0; i < job->count; i++)
        if (job->ranks[i].cpu_ns > 0)
            values[count++] = job->ranks[i].cpu_ns;
    job->time = spread_of(values, count);
    for (size_t level = 0; level < job->levels; level++) {
        count = 0;
        for (size_t i = 0; i < job->count; i++)
            if (job->ranks[i].known[level])
                values[count++] = job->ranks[i].misses[level].value;
        job->misses[level] = spread_of(values, count);
    }
    for (size_t i = 0; i < job->count; i++) {
        struct rank_figures *rank = &job->ranks[i];
        struct estimate time = {rank->cpu_ns, rank->cpu_ns, rank->cpu_ns};

        rank->time_apart = rank->cpu_ns > 0 && spread_is_apart(&job->time, time, 1);
        for (size_t level = 0; level < job->levels; level++)
            rank->apart[level] =
                rank->known[level] &&
                spread_is_apart(&job->misses[level], rank->misses[level], job->factor);
    }
    free(values);
}

static bool has_figures(const struct job_figures *job, const struct rank_figures *rank)
{
    for (size_t level = 0; level < job->levels; level++)
        if (rank->known[level])
            return true;
    return false;
}

/* Where no level is known of both, nothing says so. */
static bool are_alike(const struct job_figures *job, const struct rank_figures *a,
                      const struct rank_figures *b)
{
    bool compared = false;

    for (size_t level = 0; level < job->levels; level++) {
        if (!a->known[level] || !b->known[level])
            continue;
        if (!estimates_are_alike(a->misses[level], b->misses[level], job->factor))
            return false;
        compared = true;
    }
    return compared;
}

static void find_groups(struct job_figures *job)
{
    size_t *leaders = allocate_zeroed(job->count, sizeof(*leaders));

    for (size_t i = 0; i < job->count; i++) {
        struct rank_figures *rank = &job->ranks[i];
        size_t group = 0;

        if (!has_figures(job, rank))
            continue;
        while (group < job->groups && !are_alike(job, &job->ranks[leaders[group]], rank))
            group++;
        if (group == job->groups)
            leaders[job->groups++] = i;
        rank->group = (uint32_t)group;
    }
    free(leaders);
}

void job_figures_of(const struct model *model, const struct job_files *files,
                    struct job_figures *job)
{
    memset(job, 0, sizeof(*job));
    job->levels = model->machine.levels;
    list_ranks(files, job);
    for (size_t i = 0; i < job->count; i++)
        read_rank(model, files, &job->ranks[i]);
    job->factor = interval_factor(job->count * job->levels);
    find_apart(job);
    find_groups(job);
}

void job_figures_free(struct job_figures *job)
{
    free(job->ranks);
}
