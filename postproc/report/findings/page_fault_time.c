/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time in page faults: the kernel finds a page, clears it and maps it when memory is used that is
 * new, or that went back to the kernel and is had again. Each burst says how many faults its thread
 * had since the burst before, and a fault costs what memory of the runtime's own cost when it was
 * touched first (docs/measuring-the-rate.md).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/findings/burst_time.h"
#include "report/findings/cluster_share.h"
#include "report/findings/findings.h"
#include "report/findings/library_caller.h"
#include "report/model/kernel_use.h"
#include "report/model/object_labels.h"
#include "support/intern_table.h"

/* The cost is of other memory than the program's. Of eight ways to have page faults (new, given
 * back, copied after a fork, by two threads) it was 0.9 to 1.6 times the truth. */
static const double cost_factor = 1.6;
/* Faults take the kernel's time, and that of a hypervisor, which counts as the program's: together
 * 1.8 to 2.2 times as much as the kernel's alone, in a virtual machine. An interruption while the
 * cost was measured goes no further than that. */
static const double kernel_factor = 2.2;
/* Some of the time is the program's own, whatever faults are known to cost. */
static const double share_most = 0.95;
/* More than this part of the faults is on memory that the process had before: keeping it helps. */
static const double mostly_again = 0.5;
/* Less memory than this hardly has huge pages, and a program's start brings that many pages. */
static const double huge_pages_bytes = 32 << 20;

/* Faults of the threads and processes that are looked at. */
struct faults {
    double time_ns, count; /* between bursts, about */
    double since_ns;       /* CPU time between bursts */
    struct kernel_use use; /* of the processes */
};

/* Of each burst the share of the time close before it that faults took. */
struct near_bursts {
    struct intern_table *keys; /* of profile and burst_id */
    ARRAY(double) shares;
};

static double part(double of, double whole)
{
    return whole > 0 ? fmin(1, of / whole) : 0;
}

static void add_progress(struct faults *faults, struct near_bursts *near, size_t profile,
                         const struct record_progress *progress)
{
    const uint64_t key[2] = {profile, progress->burst_id};
    double share = 0;

    for (uint32_t i = 0; i < progress->count; i++) {
        const struct progress_variable *variable = &progress->variables[i];

        if (variable->kind == PROGRESS_KERNEL_COUNT && variable->place == PROGRESS_PAGE_FAULTS &&
            progress->since_ns > 0)
            faults->count += variable->since;
        if (variable->kind != PROGRESS_FAULT_NS)
            continue;
        share = variable->flags & PROGRESS_BEFORE
                    ? part(variable->before, (double)progress->before_ns)
                    : part(variable->since, (double)progress->since_ns);
        if (progress->since_ns > 0)
            faults->time_ns += variable->since;
    }
    faults->since_ns += (double)progress->since_ns;
    if (intern_table_insert(near->keys, key, sizeof(key)) == near->shares.count)
        ARRAY_PUSH(&near->shares, share);
}

static void add_profile(const struct model *model, size_t p, struct faults *faults,
                        struct near_bursts *near)
{
    const struct profile *profile = model->profiles[p];

    for (size_t i = 0; i < profile->progress.count; i++)
        if (model_looks_at(model, profile, profile->progress.items[i]->thread_id))
            add_progress(faults, near, p, profile->progress.items[i]);
}

static double share_near(const struct near_bursts *near, size_t profile,
                         const struct record_burst *burst)
{
    const uint64_t key[2] = {profile, burst->burst_id};
    uint32_t number = intern_table_find(near->keys, key, sizeof(key));

    return number < near->shares.count ? near->shares.items[number] : 0;
}

/* Lines of the program by the time in faults before bursts that began below them. */
struct fault_lines {
    struct intern_table *keys;
    ARRAY(struct code_line) lines;
    ARRAY(struct cluster_sums) sums;
    struct cluster_weights all;
    size_t bursts; /* that had faults */
};

static struct code_line own_line(struct model *model, const struct moment *moment)
{
    struct calling_context context = {.frames = NULL};
    struct code_line line = moment->line;
    size_t own;

    if (moment->burst->context_id != 0)
        context = model_resolve_context(model, moment->profile, moment->burst->context_id, 0,
                                        moment->burst->monotonic_ns);
    own = innermost_own_frame(model, &context);
    if (own < context.count)
        line = context.frames[own];
    free(context.frames);
    return line;
}

static void add_moment(struct fault_lines *lines, struct model *model, const struct moment *moment,
                       double share)
{
    const double weight = (double)moment->burst->weight_ns;
    struct code_line line;
    struct {
        const char *function, *file;
        uint64_t line;
    } key;
    uint32_t number;

    cluster_weights_add(&lines->all, weight);
    if (!(share > 0))
        return;
    line = own_line(model, moment);
    if (line.function == NULL)
        return;
    lines->bursts++;
    memset(&key, 0, sizeof(key));
    key.function = line.function;
    key.file = line.file;
    key.line = line.line;
    number = intern_table_insert(lines->keys, &key, sizeof(key));
    if (number == lines->lines.count) {
        ARRAY_PUSH(&lines->lines, line);
        ARRAY_PUSH(&lines->sums, (struct cluster_sums){0});
    }
    cluster_sums_add(&lines->sums.items[number], weight, share);
}

static void list_lines(const struct fault_lines *lines, struct finding *finding)
{
    bool *taken = allocate_zeroed(lines->lines.count + 1, sizeof(*taken));

    while (finding->line_count < FINDING_LINES_MAX) {
        size_t most = lines->lines.count;

        for (size_t i = 0; i < lines->lines.count; i++)
            if (!taken[i] && (most == lines->lines.count ||
                              lines->sums.items[i].ws > lines->sums.items[most].ws))
                most = i;
        if (most == lines->lines.count)
            break;
        taken[most] = true;
        finding->lines[finding->line_count] = lines->lines.items[most];
        finding->line_times[finding->line_count++] =
            cluster_share(&lines->sums.items[most], &lines->all);
    }
    free(taken);
}

static void find_lines(struct model *model, const struct near_bursts *near, struct finding *finding)
{
    struct fault_lines lines = {.keys = intern_table_create()};
    moment_list moments = {0};

    burst_time_moments(model, &moments);
    for (size_t i = 0; i < moments.count; i++)
        add_moment(&lines, model, &moments.items[i],
                   share_near(near, moments.items[i].profile, moments.items[i].burst));
    list_lines(&lines, finding);
    finding->bursts = lines.bursts;
    free(moments.items);
    free(lines.lines.items);
    free(lines.sums.items);
    intern_table_free(lines.keys);
}

/* What bursts with faults before them access most. */
static void find_object(struct model *model, const struct near_bursts *near,
                        struct finding *finding)
{
    double *accesses;

    model_label_objects(model);
    accesses = allocate_zeroed(model->objects.count + 1, sizeof(*accesses));
    for (size_t i = 0; i < model->observations; i++) {
        uint32_t object = model->by_object.labels[i];
        size_t profile;

        if (object == GROUP_NONE)
            continue;
        analysis_probe(model->analysis, i, &profile);
        accesses[object] += analysis_probe_weight(model->analysis, i) *
                            share_near(near, profile, analysis_probe_burst(model->analysis, i));
    }
    finding_name_busiest(model, accesses, finding);
    free(accesses);
}

static const char huge_pages[] = "ask for huge pages: run it with GLIBC_TUNABLES=glibc.malloc."
                                 "hugetlb=1 (blocks of malloc), or madvise(MADV_HUGEPAGE)";

static const char keep_of_heap[] =
    "keep blocks and use them again, instead of freeing and allocating them anew. Without a change "
    "of the source: run it with MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1 (glibc keeps what is "
    "freed), or with GLIBC_TUNABLES=glibc.malloc.hugetlb=1 (huge pages)";

/* Share of the CPU time that faults take, at most; */
static double most_of(const struct faults *faults)
{
    return faults->use.time < 0 ? share_most : fmin(share_most, kernel_factor * faults->use.time);
}

/* and as far as known. */
static double share_of(const struct faults *faults)
{
    return fmin(most_of(faults), part(faults->time_ns, faults->since_ns));
}

static const char *reason_of(struct model *model, const struct faults *faults, bool again)
{
    char *all = number_count(faults->use.page_faults);
    char *first = number_count(faults->use.kept_faults);
    char *text =
        format_string("%s page faults%s%s%s; each took about %.1f us, measured on other "
                      "memory",
                      all, again ? ", " : "", again ? first : "", again ? " if memory is kept" : "",
                      share_of(faults) * faults->since_ns / faults->count / 1e3);
    const char *reason = intern_table_string(model->strings, text);

    free(text);
    free(first);
    free(all);
    return reason;
}

/* The part of the faults that a change can spare. */
static double spared(const struct faults *faults, bool again)
{
    if (again)
        return 1 - faults->use.kept_faults / faults->use.page_faults;
    return faults->use.peak_bytes >= huge_pages_bytes ? 1 : 0;
}

static struct finding finding_of(struct model *model, const struct faults *faults,
                                 const struct near_bursts *near)
{
    bool again = faults->use.kept_faults < (1 - mostly_again) * faults->use.page_faults;
    double worth = share_of(faults) * spared(faults, again);
    struct finding finding = {
        .pattern = PATTERN_PAGE_FAULTS,
        .time = {worth, worth / cost_factor, fmin(most_of(faults), worth * cost_factor)},
        .verdict = {
            .pattern = PATTERN_PAGE_FAULTS, .belief = BELIEF_CERTAIN, .agreement = 1, .longer = 1}};

    if (worth < FINDING_TIME_MIN)
        return finding;
    find_lines(model, near, &finding);
    find_object(model, near, &finding);
    finding.reason = reason_of(model, faults, again);
    finding.remedy = !again ? huge_pages
                     : finding.object_count > 0 && strcmp(finding.object_kind, "heap") == 0
                         ? keep_of_heap
                         : NULL;
    return finding;
}

void findings_add_page_faults(struct model *model, struct findings *findings)
{
    struct near_bursts near = {.keys = intern_table_create()};
    struct faults faults = {.use = kernel_use_of(model)};
    struct finding finding = {0};

    /* Faults between bursts are those of the whole run. */
    if (!model->exact && model->region == NULL)
        for (size_t p = 0; p < model->profile_count; p++)
            add_profile(model, p, &faults, &near);
    if (faults.count > 0 && faults.use.page_faults > 0)
        finding = finding_of(model, &faults, &near);
    /* Bursts tell where alone: how many there were is counted. */
    if (finding.line_count > 0)
        ARRAY_PUSH(&findings->items, finding);
    free(near.shares.items);
    intern_table_free(near.keys);
}
