/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement/scotch_map.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* scotch.h uses FILE and int64_t without including what declares them. */
#include <scotch.h>

#include "support/memory.h"

/* Where Scotch's complaints go; set for the time of a call to scotch_map(). */
static char *complaint;
static size_t complaint_size;

/*
 * Scotch leaves these to the program; libscotcherr's own would write to the user's terminal. They
 * are declared in scotch.h.
 */
void SCOTCH_errorProg(const char *const program)
{
    (void)program;
}

void SCOTCH_errorPrint(const char *const format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (complaint != NULL)
        vsnprintf(complaint, complaint_size, format, arguments);
    va_end(arguments);
}

void SCOTCH_errorPrintW(const char *const format, ...)
{
    (void)format;
}

/* A list of vertices: threads, and numbers above them for capacity that stays empty. */
struct vertices {
    uint32_t *items;
    size_t count;
};

struct mapping_job {
    const struct communication_matrix *matrix;
    const struct placement_tree *tree;
    const uint32_t *capacity;
    uint32_t *place;
    unsigned seed;
    double scale;     /* from weights to Scotch's integers */
    uint32_t *number; /* of each thread in the list at hand; UINT32_MAX: not in it */
};

/* A contiguous range of places below a group, as one part. */
struct part {
    size_t low, high; /* places */
    size_t capacity;
};

static size_t capacity_of(const struct mapping_job *job, size_t low, size_t high)
{
    size_t sum = 0;

    for (size_t i = low; i < high; i++)
        sum += job->capacity[i];
    return sum;
}

/* The groups of a level, or the places, among the places low .. high-1. */
static size_t list_parts(const struct mapping_job *job, size_t level, size_t low, size_t high,
                         struct part *parts)
{
    size_t count = 0;

    for (size_t at = low; at < high;) {
        size_t end = at + 1;

        if (level < job->tree->level_count)
            while (end < high &&
                   job->tree->levels[level].group[end] == job->tree->levels[level].group[at])
                end++;
        parts[count] = (struct part){at, end, capacity_of(job, at, end)};
        count += parts[count].capacity > 0;
        at = end;
    }
    return count;
}

struct graph {
    SCOTCH_Num *begin, *target, *load;
    size_t arcs;
};

static void make_graph(const struct mapping_job *job, const struct vertices *vertices,
                       struct graph *graph)
{
    size_t arcs = 0;

    for (size_t i = 0; i < vertices->count; i++)
        if (vertices->items[i] < job->matrix->threads)
            arcs +=
                job->matrix->begin[vertices->items[i] + 1] - job->matrix->begin[vertices->items[i]];
    graph->begin = allocate_zeroed(vertices->count + 1, sizeof(SCOTCH_Num));
    graph->target = allocate_zeroed(arcs + 1, sizeof(SCOTCH_Num));
    graph->load = allocate_zeroed(arcs + 1, sizeof(SCOTCH_Num));
    graph->arcs = 0;
    for (size_t i = 0; i < vertices->count; i++) {
        uint32_t thread = vertices->items[i];

        graph->begin[i] = (SCOTCH_Num)graph->arcs;
        if (thread >= job->matrix->threads)
            continue;
        for (size_t k = job->matrix->begin[thread]; k < job->matrix->begin[thread + 1]; k++) {
            const struct matrix_entry *entry = &job->matrix->entries[k];

            if (job->number[entry->column] == UINT32_MAX)
                continue;
            graph->target[graph->arcs] = (SCOTCH_Num)job->number[entry->column];
            graph->load[graph->arcs++] = (SCOTCH_Num)fmax(1, round(entry->weight * job->scale));
        }
    }
    graph->begin[vertices->count] = (SCOTCH_Num)graph->arcs;
}

static void free_graph(struct graph *graph)
{
    free(graph->begin);
    free(graph->target);
    free(graph->load);
}

/* Asks Scotch for the part of each vertex; parts' sizes are only about right. */
static bool ask_scotch(const struct graph *graph, size_t vertices, const struct part *parts,
                       size_t count, unsigned seed, SCOTCH_Num *part_of)
{
    SCOTCH_Num *sizes = allocate_zeroed(count, sizeof(*sizes));
    SCOTCH_Graph scotch_graph, bound;
    SCOTCH_Context context;
    SCOTCH_Arch arch;
    SCOTCH_Strat strategy;
    bool done = false;

    for (size_t i = 0; i < count; i++)
        sizes[i] = (SCOTCH_Num)parts[i].capacity;
    /* A context of our own, with one thread: results must not depend on timing or on calls before.
     */
    SCOTCH_contextInit(&context);
    SCOTCH_contextRandomSeed(&context, (SCOTCH_Num)seed);
    SCOTCH_graphInit(&scotch_graph);
    SCOTCH_graphInit(&bound);
    SCOTCH_archInit(&arch);
    SCOTCH_stratInit(&strategy);
    done = SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) == 0 &&
           SCOTCH_contextThreadSpawn(&context, 1, NULL) == 0 &&
           SCOTCH_graphBuild(&scotch_graph, 0, (SCOTCH_Num)vertices, graph->begin, NULL, NULL, NULL,
                             (SCOTCH_Num)graph->arcs, graph->target, graph->load) == 0 &&
           SCOTCH_archCmpltw(&arch, (SCOTCH_Num)count, sizes) == 0 &&
           SCOTCH_stratGraphMapBuild(&strategy, SCOTCH_STRATQUALITY | SCOTCH_STRATBALANCE,
                                     (SCOTCH_Num)count, 0.001) == 0 &&
           SCOTCH_contextBindGraph(&context, &scotch_graph, &bound) == 0 &&
           SCOTCH_graphMap(&bound, &arch, &strategy, part_of) == 0;
    SCOTCH_stratExit(&strategy);
    SCOTCH_archExit(&arch);
    SCOTCH_graphExit(&bound);
    SCOTCH_graphExit(&scotch_graph);
    SCOTCH_contextExit(&context);
    free(sizes);
    return done;
}

/* What a vertex loses by changing its part. */
static double loss_of_move(const struct graph *graph, const SCOTCH_Num *part_of, size_t vertex,
                           SCOTCH_Num to)
{
    double loss = 0;

    for (SCOTCH_Num i = graph->begin[vertex]; i < graph->begin[vertex + 1]; i++) {
        SCOTCH_Num other = part_of[graph->target[i]];

        loss += (other == part_of[vertex]) ? (double)graph->load[i] : 0;
        loss -= (other == to) ? (double)graph->load[i] : 0;
    }
    return loss;
}

/* Moves what costs least out of parts that hold too much. */
static void make_fit(const struct graph *graph, size_t vertices, const struct part *parts,
                     size_t count, SCOTCH_Num *part_of)
{
    size_t *held = allocate_zeroed(count, sizeof(*held));

    for (size_t i = 0; i < vertices; i++)
        held[part_of[i]]++;
    for (size_t from = 0; from < count; from++) {
        while (held[from] > parts[from].capacity) {
            double least = INFINITY;
            size_t moved = 0, to = 0;

            for (size_t i = 0; i < vertices; i++)
                for (size_t part = 0; part_of[i] == (SCOTCH_Num)from && part < count; part++) {
                    double loss = held[part] < parts[part].capacity
                                      ? loss_of_move(graph, part_of, i, (SCOTCH_Num)part)
                                      : INFINITY;

                    if (loss < least) {
                        least = loss;
                        moved = i;
                        to = part;
                    }
                }
            part_of[moved] = (SCOTCH_Num)to;
            held[from]--;
            held[to]++;
        }
    }
    free(held);
}

/* Divides the vertices among the parts, as many as each can hold. */
static bool divide(struct mapping_job *job, const struct vertices *vertices,
                   const struct part *parts, size_t count, SCOTCH_Num *part_of)
{
    struct graph graph;
    bool done;

    for (size_t i = 0; i < vertices->count; i++)
        if (vertices->items[i] < job->matrix->threads)
            job->number[vertices->items[i]] = (uint32_t)i;
    make_graph(job, vertices, &graph);
    done = ask_scotch(&graph, vertices->count, parts, count, job->seed, part_of);
    if (done)
        make_fit(&graph, vertices->count, parts, count, part_of);
    free_graph(&graph);
    for (size_t i = 0; i < vertices->count; i++)
        if (vertices->items[i] < job->matrix->threads)
            job->number[vertices->items[i]] = UINT32_MAX;
    return done;
}

/* The vertices fill the places low .. high-1 exactly; level: of the groups to divide them among. */
static bool map_range(struct mapping_job *job, const struct vertices *vertices, size_t level,
                      size_t low, size_t high)
{
    struct part *parts;
    SCOTCH_Num *part_of;
    size_t count;
    bool done = true;

    if (level > job->tree->level_count) {
        for (size_t i = 0; i < vertices->count; i++)
            if (vertices->items[i] < job->matrix->threads)
                job->place[vertices->items[i]] = (uint32_t)low;
        return true;
    }
    parts = allocate_zeroed(high - low, sizeof(*parts));
    part_of = allocate_zeroed(vertices->count, sizeof(*part_of));
    count = list_parts(job, level, low, high, parts);
    if (count > 1)
        done = divide(job, vertices, parts, count, part_of);
    for (size_t i = 0; i < count && done; i++) {
        struct vertices inside = {allocate_zeroed(parts[i].capacity, sizeof(uint32_t)), 0};

        for (size_t k = 0; k < vertices->count; k++)
            if (part_of[k] == (SCOTCH_Num)i)
                inside.items[inside.count++] = vertices->items[k];
        done = map_range(job, &inside, level + 1, parts[i].low, parts[i].high);
        free(inside.items);
    }
    free(part_of);
    free(parts);
    return done;
}

bool scotch_is_built_in(void)
{
    return true;
}

bool scotch_map(const struct communication_matrix *matrix, const struct placement_tree *tree,
                const uint32_t *capacity, unsigned seed, uint32_t *place, char *message,
                size_t message_size)
{
    struct mapping_job job = {
        .matrix = matrix, .tree = tree, .capacity = capacity, .place = place, .seed = seed};
    struct vertices all = {0};
    char reason[256] = "";
    bool done;

    /* Sums over all edges must stay within Scotch's integers. */
    job.scale = matrix->total > 0 ? ldexp(1, 28) / matrix->total : 1;
    job.number = allocate_zeroed(matrix->threads + 1, sizeof(*job.number));
    memset(job.number, 0xff, (matrix->threads + 1) * sizeof(*job.number));
    all.count = capacity_of(&job, 0, tree->places);
    all.items = allocate_zeroed(all.count, sizeof(*all.items));
    for (size_t i = 0; i < all.count; i++)
        all.items[i] = (uint32_t)i;
    complaint = reason;
    complaint_size = sizeof(reason);
    done = map_range(&job, &all, 1, 0, tree->places);
    complaint = NULL;
    if (!done)
        snprintf(message, message_size, "the mapping library Scotch failed: %s",
                 reason[0] != '\0' ? reason : "it does not say why");
    free(all.items);
    free(job.number);
    return done;
}
