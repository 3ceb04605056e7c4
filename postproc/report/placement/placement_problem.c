/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/placement/placement_problem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "placement/topology.h"

/*
 * A main thread that only waits for the others does not deserve a core. One that exchanges data
 * does, however few its accesses are beside those of threads that wait in loops.
 */
static const double idle_share = 0.02;

static int compare_creation(const void *left, const void *right)
{
    const struct placed_thread *a = left, *b = right;

    return (a->creation > b->creation) - (a->creation < b->creation);
}

static double activity_of(const struct model *model, uint32_t group, bool by_time)
{
    return by_time ? (double)model->threads.items[group].cpu_ns : model->by_thread.accesses[group];
}

/*
 * The kernel hands out numbers in order, and the process has that of its main thread; those below
 * it came after the highest possible one.
 */
static uint32_t age_of(const struct model *model, int32_t tid)
{
    const char *pid = profile_run_text(model->profiles[0], "pid", NULL);
    int32_t first = pid != NULL ? atoi(pid) : 0;

    return tid >= first ? (uint32_t)tid : (uint32_t)tid + INT32_MAX;
}

/* The threads of the one process, in order of creation. */
static void list_threads(struct placement_problem *problem)
{
    struct model *model = problem->model;

    for (uint32_t i = 0; i < model->threads.count; i++) {
        const struct thread_entry *entry = &model->threads.items[i];
        struct placed_thread thread = {.group = i,
                                       .creation = age_of(model, entry->tid),
                                       .tid = entry->tid,
                                       .name = entry->name,
                                       .row = GROUP_NONE};

        ARRAY_PUSH(&problem->threads, thread);
    }
    if (problem->threads.count > 0)
        qsort(problem->threads.items, problem->threads.count, sizeof(*problem->threads.items),
              compare_creation);
    for (uint32_t i = 0; i < problem->threads.count; i++)
        problem->threads.items[i].creation = i;
}

/* Thread of each party of the view, by its place in problem->threads. */
static uint32_t *threads_of_parties(const struct placement_problem *problem)
{
    const party_list *parties = &problem->view->threads;
    uint32_t *threads = allocate_zeroed(parties->count, sizeof(*threads));

    for (size_t i = 0; i < parties->count; i++) {
        threads[i] = GROUP_NONE;
        for (uint32_t k = 0; k < problem->threads.count; k++) {
            const struct placed_thread *thread = &problem->threads.items[k];
            const struct thread_entry *entry = &problem->model->threads.items[thread->group];

            if (entry->profile == parties->items[i].profile &&
                entry->thread_id == parties->items[i].id)
                threads[i] = k;
        }
    }
    return threads;
}

/* Whether a flow is between two different threads, and not of the runtime where that is left out.
 */
static bool flow_counts(const struct placement_problem *problem, const uint32_t *threads,
                        uint32_t flow)
{
    const struct communication_view *view = problem->view;
    uint32_t from = view->from_thread[flow], to = view->to_thread[flow];

    return from != GROUP_NONE && to != GROUP_NONE && from != to && threads[from] != GROUP_NONE &&
           threads[to] != GROUP_NONE &&
           (view->place[flow] != FLOW_RUNTIME ||
            problem->model->options->runtime == RUNTIME_INCLUDE);
}

/* Transfers of each thread with all others. The caller frees it. */
static double *exchanged(const struct placement_problem *problem, const uint32_t *threads)
{
    const struct communication_view *view = problem->view;
    double *transfers = allocate_zeroed(problem->threads.count, sizeof(*transfers));

    for (uint32_t i = 0; i < view->count; i++)
        if (flow_counts(problem, threads, i)) {
            double weight = communication_flow(view->communication, i)->transfers;

            transfers[threads[view->from_thread[i]]] += weight;
            transfers[threads[view->to_thread[i]]] += weight;
        }
    return transfers;
}

/* A row for each thread that is not idle. */
static void choose_placed(struct placement_problem *problem, const uint32_t *threads)
{
    struct model *model = problem->model;
    double *transfers = exchanged(problem, threads), most_active = 0, most_transfers = 0;
    bool by_time = true;

    for (uint32_t i = 0; i < model->threads.count; i++)
        by_time &= model->threads.items[i].cpu_ns > 0;
    for (uint32_t i = 0; i < problem->threads.count; i++) {
        double activity = activity_of(model, problem->threads.items[i].group, by_time);

        most_active = activity > most_active ? activity : most_active;
        most_transfers = transfers[i] > most_transfers ? transfers[i] : most_transfers;
    }
    problem->thread_of_row =
        allocate_zeroed(problem->threads.count, sizeof(*problem->thread_of_row));
    for (uint32_t i = 0; i < problem->threads.count; i++) {
        struct placed_thread *thread = &problem->threads.items[i];
        double activity = activity_of(model, thread->group, by_time);

        if ((activity > 0 && activity >= idle_share * most_active) ||
            (transfers[i] > 0 && transfers[i] >= idle_share * most_transfers)) {
            thread->row = (uint32_t)problem->rows;
            problem->thread_of_row[problem->rows++] = i;
        }
    }
    free(transfers);
}

static void take_flows(struct placement_problem *problem, const uint32_t *threads)
{
    const struct communication_view *view = problem->view;
    uint32_t *labels = allocate_zeroed(view->count, sizeof(*labels));

    for (uint32_t i = 0; i < view->count; i++) {
        struct placed_thread *from, *to;
        double weight = communication_flow(view->communication, i)->transfers;

        labels[i] = GROUP_NONE;
        if (!flow_counts(problem, threads, i))
            continue;
        from = &problem->threads.items[threads[view->from_thread[i]]];
        to = &problem->threads.items[threads[view->to_thread[i]]];
        if (from->row == GROUP_NONE || to->row == GROUP_NONE)
            continue;
        labels[i] = 0;
        ARRAY_PUSH(&problem->pairs, ((struct traffic_pair){from->row, to->row, weight}));
        ARRAY_PUSH(&problem->pair_flow, i);
        from->transfers += weight;
        to->transfers += weight;
    }
    problem->transfers = communication_total(view->communication, labels, 0);
    problem->matrix = matrix_create(problem->rows, problem->pairs.items, problem->pairs.count);
    free(labels);
}

/* Sizes at which the threads' curves are taken: 8 KiB to 512 MiB, an octave apart. */
enum { CURVE_POINTS = 17, FIRST_SIZE = 8 << 10 };

/*
 * Misses that a larger cache would not have had: first uses and those of capacity. Those of
 * coherence are what the matrix counts.
 */
static void take_curve(struct placement_problem *problem, uint32_t group,
                       struct thread_locality *locality, double *ratios)
{
    struct model *model = problem->model;

    locality->accesses = model->by_thread.accesses[group];
    locality->bytes = problem->curve_bytes;
    locality->miss_ratio = ratios;
    if (locality->accesses <= 0)
        return;
    for (size_t i = 0; i < CURVE_POINTS; i++) {
        struct miss_split split = analysis_misses(
            model->analysis, grouping_subset(&model->by_thread, group), problem->curve_bytes[i]);

        /* Beyond what was watched the curve goes on as it ends. */
        ratios[i] = split.beyond && i > 0 ? ratios[i - 1] : split.cold.value + split.capacity.value;
    }
    locality->points = CURVE_POINTS;
}

void placement_take_curves(struct placement_problem *problem)
{
    problem->line_size = analysis_line_size(problem->model->analysis);
    problem->locality = allocate_zeroed(problem->rows, sizeof(*problem->locality));
    problem->curves = allocate_zeroed(problem->rows * CURVE_POINTS, sizeof(*problem->curves));
    problem->curve_bytes = allocate_zeroed(CURVE_POINTS, sizeof(*problem->curve_bytes));
    for (int i = 0; i < CURVE_POINTS; i++)
        problem->curve_bytes[i] = ldexp(FIRST_SIZE, i);
    for (size_t row = 0; row < problem->rows; row++)
        take_curve(problem, problem->threads.items[problem->thread_of_row[row]].group,
                   &problem->locality[row], &problem->curves[row * CURVE_POINTS]);
}

/* A described machine as hwloc's synthetic text: domains that share their outermost cache. */
static char *synthetic_of(const struct machine *machine)
{
    const struct machine_cache *last = &machine->caches[machine->levels - 1];

    if (machine->numa_domains == 0 || machine->domain_cores == 0)
        return NULL;
    return format_string("numa:%u l%u:1(size=%" PRIu64 ") core:%u pu:1", machine->numa_domains,
                         last->level, last->bytes, machine->domain_cores);
}

static bool read_tree(struct placement_problem *problem, char *message, size_t size)
{
    struct model *model = problem->model;
    const struct report_options *options = model->options;
    char host[256] = "this host", *synthetic = NULL;
    const char *source = options->topology;

    if (source == NULL && options->machine != NULL && strcmp(options->machine, "host") != 0) {
        synthetic = synthetic_of(&model->machine);
        if (synthetic == NULL) {
            snprintf(message, size,
                     "machine %s: its description has no domains and cores to place threads on; "
                     "say --topology",
                     options->machine);
            return false;
        }
        source = synthetic;
    }
    problem->tree = topology_read(source, problem->rows, message, size);
    if (source == NULL && gethostname(host, sizeof(host) - 1) != 0)
        snprintf(host, sizeof(host), "this host");
    problem->topology = intern_table_string(model->strings, synthetic != NULL ? model->machine.name
                                                            : source != NULL  ? source
                                                                              : host);
    free(synthetic);
    return problem->tree != NULL;
}

static bool is_one_process(const struct model *model)
{
    if (model->profile_count > 1)
        return false;
    return model->profiles[0]->origins.count <= 1;
}

struct placement_problem *placement_problem_create(struct model *model, char *message, size_t size)
{
    struct placement_problem *problem;
    uint32_t *threads;

    if (!is_one_process(model)) {
        snprintf(message, size, "placement is for the threads of one process: name one profile");
        return NULL;
    }
    problem = allocate_zeroed(1, sizeof(*problem));
    problem->model = model;
    problem->view = communication_view_of(model);
    model_label_threads(model);
    if (problem->view->communication == NULL) {
        snprintf(message, size, "%s", problem->view->message);
        placement_problem_free(problem);
        return NULL;
    }
    list_threads(problem);
    threads = threads_of_parties(problem);
    choose_placed(problem, threads);
    if (!read_tree(problem, message, size)) {
        free(threads);
        placement_problem_free(problem);
        return NULL;
    }
    take_flows(problem, threads);
    free(threads);
    return problem;
}

void placement_problem_free(struct placement_problem *problem)
{
    if (problem == NULL)
        return;
    matrix_free(problem->matrix);
    tree_free(problem->tree);
    free(problem->threads.items);
    free(problem->thread_of_row);
    free(problem->pairs.items);
    free(problem->pair_flow.items);
    free(problem->locality);
    free(problem->curves);
    free(problem->curve_bytes);
    free(problem);
}
