/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sharing/sharing_truth.h"

#include <math.h>
#include <stdlib.h>

#include "document/numbers.h"
#include "report/model/flow_totals.h"
#include "report/sharing/sharing_advice.h"

/* The pair of threads of each flow; cells has the pairs of all flows labelled so far. */
static uint32_t *label_pairs(const struct communication *communication, struct intern_table *cells,
                             size_t *count)
{
    size_t flows = communication_flow_count(communication);
    uint32_t *labels = allocate_zeroed(flows, sizeof(*labels));

    for (size_t i = 0; i < flows; i++) {
        const struct flow *flow = communication_flow(communication, i);
        uint64_t key[2] = {flow->profile_index,
                           (uint64_t)flow->source.thread_id << 32 | flow->destination.thread_id};

        labels[i] = intern_table_insert(cells, key, sizeof(key));
        if (labels[i] >= *count)
            *count = labels[i] + 1;
    }
    return labels;
}

static void totals_of(const struct communication *communication, struct flow_totals *totals)
{
    uint32_t *labels = allocate_zeroed(communication_flow_count(communication), sizeof(*labels));

    flow_totals_of(communication, labels, 1, totals);
    free(labels);
}

static double sum(const struct estimate *estimates, size_t count)
{
    double total = 0;

    for (size_t i = 0; i < count; i++)
        total += estimates[i].value;
    return total;
}

/* Where one of them has no transfers the distance is 0 or 1. */
static double matrix_error(const struct communication *estimated,
                           const struct communication *counted)
{
    struct intern_table *cells = intern_table_create();
    size_t count = 0;
    uint32_t *of_estimated = label_pairs(estimated, cells, &count);
    uint32_t *of_counted = label_pairs(counted, cells, &count);
    struct estimate *estimates = allocate_zeroed(count, sizeof(*estimates));
    struct estimate *counts = allocate_zeroed(count, sizeof(*counts));
    double all_estimated, all_counted, error = 0;

    communication_totals(estimated, of_estimated, count, estimates);
    communication_totals(counted, of_counted, count, counts);
    all_estimated = sum(estimates, count);
    all_counted = sum(counts, count);
    for (size_t i = 0; i < count; i++)
        error += fabs((all_estimated > 0 ? estimates[i].value / all_estimated : 0) -
                      (all_counted > 0 ? counts[i].value / all_counted : 0));
    free(counts);
    free(estimates);
    free(of_counted);
    free(of_estimated);
    intern_table_free(cells);
    return error;
}

static void add_facts(const struct communication *estimated, const struct communication *counted,
                      struct document *document, struct section *section)
{
    struct flow_totals estimate, truth;
    double error = matrix_error(estimated, counted);
    char *all, *of_false, *text;

    totals_of(estimated, &estimate);
    totals_of(counted, &truth);
    all = number_count(truth.of[MATRIX_ALL].value);
    of_false = number_count(truth.of[MATRIX_FALSE].value);
    text = format_string("%s transfers were counted, %s of them false sharing; the matrix of "
                         "threads is off by %.3f (0 to 2)",
                         all, of_false, error);
    section_fact_as(document, section, "sharing.truth.all", "Truth", INTERVAL_NONE,
                    cell_value(CELL_COUNT, truth.of[MATRIX_ALL].value), text);
    section_fact(section, "sharing.truth.true", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, truth.of[MATRIX_TRUE].value));
    section_fact(section, "sharing.truth.false", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, truth.of[MATRIX_FALSE].value));
    section_fact(section, "sharing.truth.estimate", NULL, INTERVAL_SUFFIXED,
                 flow_count_cell(&estimate, MATRIX_ALL));
    section_fact(section, "sharing.truth.matrix_error", NULL, INTERVAL_NONE,
                 cell_value(CELL_FACTOR, error));
    free(text);
    free(of_false);
    free(all);
}

void add_sharing_truth(struct model *model, const struct communication_view *view,
                       struct document *document, struct section *section)
{
    struct analysis_options options = {.source = SOURCE_COUNTS,
                                       .line_size = analysis_line_size(model->analysis)};
    struct communication *counted;
    struct analysis *analysis;
    char message[512];

    if (!model->has_truth)
        return;
    analysis =
        analysis_create(model->profiles, model->profile_count, &options, message, sizeof(message));
    if (analysis == NULL)
        return;
    counted = communication_create(analysis, options.line_size, message, sizeof(message));
    if (counted != NULL)
        add_facts(view->communication, counted, document, section);
    communication_free(counted);
    analysis_free(analysis);
}
