/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sharing/transfer_distances.h"

#include <stdlib.h>
#include <string.h>

#include "report/placement/cpu_distance.h"
#include "report/sections/section_support.h"
#include "report/sharing/flow_groups.h"
#include "report/sharing/sharing_advice.h"

static const struct column columns[] = {
    {.key = "distance", .heading = "between the two CPUs"},
    {.key = "all", .heading = "transfers", .interval = INTERVAL_SUFFIXED},
    {.key = "share", .heading = "of all\n%"},
    {.key = "false", .heading = "false", .interval = INTERVAL_SUFFIXED},
};

static const char *const distance_names[DISTANCE_COUNT] = {
    [DISTANCE_SAME_CPU] = "on one CPU",
    [DISTANCE_CORE] = "within a core",
    [DISTANCE_CACHE] = "within a shared cache",
    [DISTANCE_DOMAIN] = "between caches of a NUMA domain",
    [DISTANCE_MACHINE] = "between NUMA domains",
};

/* The distance of each flow of the program; GROUP_NONE: not known. */
static uint32_t *label_distances(const struct communication_view *view,
                                 const struct cpu_distances *distances, bool by_thread)
{
    uint32_t *labels = allocate_zeroed(view->count, sizeof(*labels));

    for (size_t i = 0; i < view->count; i++) {
        uint32_t from = by_thread ? view->from_thread[i] : view->from_core[i];
        uint32_t to = by_thread ? view->to_thread[i] : view->to_core[i];

        labels[i] = GROUP_NONE;
        if (view->place[i] != FLOW_PROGRAM || from == GROUP_NONE || to == GROUP_NONE)
            continue;
        if (!by_thread) {
            from = view->cores.items[from].id;
            to = view->cores.items[to].id;
        }
        labels[i] = (uint32_t)cpu_distance_of(distances, from, to);
    }
    return labels;
}

static void add_distance_rows(const struct communication_view *view, const uint32_t *labels,
                              struct document *document, struct table *table)
{
    struct flow_totals totals[DISTANCE_COUNT];
    double all = program_transfers(view);

    flow_totals_of(view->communication, labels, DISTANCE_COUNT, totals);
    for (size_t i = 0; i < DISTANCE_COUNT; i++) {
        struct row *row;

        if (!(totals[i].of[MATRIX_ALL].value > 0))
            continue;
        row = table_row(table);
        row->cells[0] = cell_text(document, distance_names[i]);
        row->cells[1] = flow_count_cell(&totals[i], MATRIX_ALL);
        row->cells[2] = cell_value(CELL_SHARE, all > 0 ? totals[i].of[MATRIX_ALL].value / all : 0);
        row->cells[3] = flow_count_cell(&totals[i], MATRIX_FALSE);
    }
}

void add_transfer_distances(struct model *model, struct communication_view *view,
                            struct document *document, struct section *section)
{
    const char *machine = model->options->machine;
    bool elsewhere = machine != NULL && strcmp(machine, "host") != 0;
    struct cpu_distances *distances;
    struct table *table;
    char message[512];
    uint32_t *labels;
    char *title;

    if (!elsewhere && view->from_core == NULL)
        return;
    distances = elsewhere ? cpu_distances_of_machine(&model->machine)
                          : cpu_distances_create(profile_run_text(model->profiles[0], "host", NULL),
                                                 message, sizeof(message));
    if (distances == NULL) {
        section_paragraph(document, section, NULL, message);
        return;
    }
    title = elsewhere
                ? format_string("How far lines would move on %s, one thread to a core, in order",
                                model->machine.name)
                : format_string("How far lines moved");
    table =
        document_table(document, "sharing.distances", document_string(document, title),
                       elsewhere ? "Modelled." : NULL, columns, sizeof(columns) / sizeof(*columns));
    labels = label_distances(view, distances, elsewhere);
    add_distance_rows(view, labels, document, table);
    section_table(section, table);
    free(title);
    free(labels);
    cpu_distances_free(distances);
}
