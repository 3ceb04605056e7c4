/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings on data that moves between threads, priced by what a transfer costs. */
#include <math.h>
#include <stdlib.h>

#include "document/numbers.h"
#include "report/findings/findings.h"
#include "report/model/communication_view.h"
#include "report/model/parting.h"
#include "report/sharing/false_sharing.h"
#include "sampling/line_mask.h"

/* Where time is not measured: that of the accesses, as it is modelled. */
static double time_of_run(const struct model *model, const struct findings *findings)
{
    if (findings->cpu_ns > 0)
        return findings->cpu_ns;
    return model->accesses.value * findings->costs.hit_ns /
           (1 - fmin(0.99, findings->memory.value));
}

/* Transfers as a share of the time, but not more than `limit`: that of the loops at these lines. */
static struct estimate time_of_transfers(const struct model *model, const struct findings *findings,
                                         struct estimate transfers, double limit)
{
    double each = findings->costs.transfer_ns / fmax(1, time_of_run(model, findings));

    return (struct estimate){fmin(limit, each * transfers.value), fmin(limit, each * transfers.lo),
                             fmin(limit, each * transfers.hi)};
}

static const char *keep(struct model *model, char *text)
{
    const char *kept = intern_table_string(model->strings, text);

    free(text);
    return kept;
}

static double limit_of(const struct findings *findings, const struct sharing_cost *cost)
{
    return cost->cpu_ns > 0 && findings->cpu_ns > 0
               ? fmin(1, cost->loops * cost->cpu_ns / findings->cpu_ns)
               : 1;
}

/* lines: 0: they are not told apart. */
static const char *transfers_text(struct model *model, const struct findings *findings,
                                  struct estimate transfers, size_t threads, size_t lines)
{
    char *low = number_count(transfers.lo), *high = number_count(transfers.hi);
    char *text =
        lines == 0
            ? format_string("%zu threads, many cache lines; %s to %s transfers, at %.0f ns each",
                            threads, low, high, findings->costs.transfer_ns)
        : transfers.lo < transfers.hi
            ? format_string("%zu threads, %zu cache line%s seen; %s to %s transfers, at "
                            "%.0f ns each",
                            threads, lines, lines == 1 ? "" : "s", low, high,
                            findings->costs.transfer_ns)
            : format_string("%zu threads, %zu cache line%s; %s transfers, at %.0f ns each", threads,
                            lines, lines == 1 ? "" : "s", high, findings->costs.transfer_ns);

    free(low);
    free(high);
    return keep(model, text);
}

/* The lines of source between which most of a group's data moves. */
static void add_lines(const struct communication_view *view, const uint32_t *labels, uint32_t group,
                      struct finding *finding)
{
    double most = 0;
    size_t best = view->count;
    uint32_t ends[2];

    for (size_t i = 0; i < view->count; i++) {
        double transfers = communication_flow(view->communication, i)->transfers;

        if (labels[i] == group && transfers > most) {
            most = transfers;
            best = i;
        }
    }
    if (best == view->count)
        return;
    ends[0] = view->to_line[best];
    ends[1] = view->from_line[best];
    for (size_t k = 0; k < 2; k++)
        if (ends[k] != GROUP_NONE && (k == 0 || ends[1] != ends[0])) {
            finding->lines[finding->line_count] = view->lines.items[ends[k]];
            finding->line_times[finding->line_count++] = finding->time;
        }
}

static void name_object(const struct communication_view *view, uint32_t object, const char *path,
                        struct finding *finding)
{
    const struct data_object *data;

    if (object == GROUP_NONE)
        return;
    data = &view->objects.items[object];
    finding->objects[0] = path != NULL ? path : data->name;
    finding->object_count = 1;
    finding->object_kind = data->kind;
    finding->object_bytes = (double)data->size;
}

/* What to change, and how to try it. */
static char *change_text(const struct false_sharing *found, const data_objects *objects,
                         uint32_t line_size)
{
    char *change = parting_text(found, objects, line_size),
         *trial = parting_trial(found, objects, line_size),
         *text = format_string("%s%s", change, trial);

    free(trial);
    free(change);
    return text;
}

/* transfers: of all that the remedy cures. */
static void add_false(struct model *model, struct findings *findings,
                      struct communication_view *view, const struct false_sharing *found,
                      struct estimate transfers, const char *remedy, uint32_t *labels)
{
    enum parting_worth worth = worth_of(found, model->accesses.value);
    struct finding finding = {.pattern = PATTERN_FALSE_SHARING,
                              .verdict = {.belief = BELIEF_CERTAIN, .agreement = 1, .longer = 1},
                              .bursts = model->exact ? 0 : model->bursts};
    uint32_t object = found->sides[1].object;

    if (worth == PARTING_WORTHLESS)
        return;
    finding.modelled = false_sharing_is_modelled(found);
    if (worth == PARTING_UNCERTAIN && !finding.modelled)
        transfers.lo = 0;
    finding.time = time_of_transfers(model, findings, transfers, limit_of(findings, &found->cost));
    for (size_t i = 0; i < view->count; i++)
        labels[i] = view->place[i] == FLOW_PROGRAM &&
                            !communication_flow(view->communication, i)->true_sharing &&
                            (view->to_object[i] == object || view->from_object[i] == object)
                        ? 0
                        : (uint32_t)GROUP_NONE;
    add_lines(view, labels, 0, &finding);
    name_object(view, object, found->sides[0].path, &finding);
    if (found->sides[1].path != NULL)
        finding.objects[finding.object_count++] = found->sides[1].path;
    finding.reason = transfers_text(model, findings, transfers, found->threads, found->lines);
    finding.remedy = remedy;
    ARRAY_PUSH(&findings->items, finding);
}

static const char *remedy_of_false(struct model *model, const struct communication_view *view,
                                   const struct false_sharing *found)
{
    const char *change =
        keep(model, change_text(found, &view->objects, analysis_line_size(model->analysis)));

    return keep(model, pattern_remedy(PATTERN_FALSE_SHARING, NULL, NULL, change));
}

/* Pairs that one change parts are one finding: the pair with most transfers stands for them. */
static void add_false_sharing(struct model *model, struct findings *findings,
                              struct communication_view *view, uint32_t *labels)
{
    false_sharing_list found = false_sharing_find(model, view);
    const char **remedies = allocate_zeroed(found.count + 1, sizeof(*remedies));

    for (size_t i = 0; i < found.count; i++)
        remedies[i] = remedy_of_false(model, view, &found.items[i]);
    for (size_t i = 0; i < found.count; i++) {
        const char *remedy = remedies[i];
        struct estimate transfers = {0, 0, 0};

        for (size_t k = i; remedy != NULL && k < found.count; k++) {
            const struct estimate *own = &found.items[k].transfers.of[MATRIX_ALL];

            if (remedies[k] != remedy)
                continue;
            transfers.value += own->value;
            transfers.lo += own->lo;
            transfers.hi += own->hi;
            remedies[k] = NULL;
        }
        if (remedy != NULL)
            add_false(model, findings, view, &found.items[i], transfers, remedy, labels);
    }
    free(remedies);
    free(found.items);
}

/* Who writes to a line, as its transfers tell. */
struct line_writers {
    uint32_t first;
    bool several;
    double transfers;
};

/* True sharing of one object. */
struct shared_object {
    uint32_t object;
    ARRAY(struct line_user_place) places;
    ARRAY(struct line_writers) writers; /* by number in `lines` */
    struct intern_table *threads, *lines;
    double transfers, modelled;
    bool scattered; /* over lines that are not told apart */
};

static void note_writer(struct line_writers *writers, uint32_t thread_id)
{
    if (writers->first == 0)
        writers->first = thread_id;
    writers->several |= writers->first != thread_id;
}

/* Lines that are not told apart count as one. */
static void note_writers(struct shared_object *shared, const struct flow *flow)
{
    uint32_t line =
        intern_table_insert(shared->lines, &flow->line_address, sizeof(flow->line_address));
    struct line_writers *writers;

    if (line == shared->writers.count)
        ARRAY_PUSH(&shared->writers, (struct line_writers){0});
    writers = &shared->writers.items[line];
    writers->transfers += flow->transfers;
    shared->scattered |= flow->line_address == 0 && flow->modelled;
    if (flow->kind != TRANSFER_WAR)
        note_writer(writers, flow->source.thread_id);
    if (flow->kind != TRANSFER_RAW)
        note_writer(writers, flow->destination.thread_id);
}

/* Most of what moves is written by one thread alone, line by line. */
static bool is_handed_over(const struct shared_object *shared)
{
    double by_one = 0;

    for (size_t i = 0; i < shared->writers.count; i++)
        by_one += shared->writers.items[i].several ? 0 : shared->writers.items[i].transfers;
    return by_one > 0.8 * shared->transfers;
}

static void note_end(struct shared_object *shared, const struct flow *flow,
                     const struct flow_end *end)
{
    struct line_user_place place = {flow->profile_index, end->thread_id, flow->line_address};

    intern_table_insert(shared->threads, &end->thread_id, sizeof(end->thread_id));
    if (flow->line_address != 0)
        ARRAY_PUSH(&shared->places, place);
}

static void add_true(struct model *model, struct findings *findings,
                     struct communication_view *view, struct shared_object *shared,
                     const uint32_t *labels, uint32_t group)
{
    struct estimate transfers = communication_total(view->communication, labels, group);
    struct sharing_cost cost = sharing_cost_of(model, shared->places.items, shared->places.count);
    struct finding finding = {.pattern = is_handed_over(shared) ? PATTERN_HANDED_OVER
                                                                : PATTERN_TRUE_SHARING,
                              .verdict = {.belief = BELIEF_CERTAIN, .agreement = 1, .longer = 1},
                              .bursts = model->exact ? 0 : model->bursts};

    finding.modelled = shared->modelled > 0.5 * shared->transfers;
    finding.time = time_of_transfers(model, findings, transfers, limit_of(findings, &cost));
    add_lines(view, labels, group, &finding);
    name_object(view, shared->object, NULL, &finding);
    finding.reason = transfers_text(model, findings, transfers, intern_table_count(shared->threads),
                                    shared->scattered ? 0 : intern_table_count(shared->lines));
    ARRAY_PUSH(&findings->items, finding);
}

/* Threads that take turns on one CPU move nothing. */
static bool moves_something(const struct flow *flow)
{
    return flow->modelled || !(flow->source.cpu_known && flow->destination.cpu_known &&
                               flow->source.cpu == flow->destination.cpu);
}

static void add_true_sharing(struct model *model, struct findings *findings,
                             struct communication_view *view, uint32_t *labels)
{
    struct intern_table *keys = intern_table_create();
    ARRAY(struct shared_object) objects = {0};

    for (size_t i = 0; i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);

        labels[i] = GROUP_NONE;
        if (view->place[i] != FLOW_PROGRAM || !flow->true_sharing || !moves_something(flow))
            continue;
        labels[i] = intern_table_insert(keys, &view->to_object[i], sizeof(view->to_object[i]));
        if (labels[i] == objects.count)
            ARRAY_PUSH(&objects, ((struct shared_object){.object = view->to_object[i],
                                                         .threads = intern_table_create(),
                                                         .lines = intern_table_create()}));
        objects.items[labels[i]].transfers += flow->transfers;
        objects.items[labels[i]].modelled += flow->modelled ? flow->transfers : 0;
        note_writers(&objects.items[labels[i]], flow);
        note_end(&objects.items[labels[i]], flow, &flow->source);
        note_end(&objects.items[labels[i]], flow, &flow->destination);
    }
    for (uint32_t g = 0; g < objects.count; g++) {
        add_true(model, findings, view, &objects.items[g], labels, g);
        intern_table_free(objects.items[g].threads);
        intern_table_free(objects.items[g].lines);
        free(objects.items[g].places.items);
        free(objects.items[g].writers.items);
    }
    free(objects.items);
    intern_table_free(keys);
}

void findings_add_sharing(struct model *model, struct findings *findings)
{
    struct communication_view *view = communication_view_of(model);
    uint32_t *labels;

    if (view->communication == NULL || view->threads.count < 2 || view->count == 0)
        return;
    communication_view_label_code(model, view);
    communication_view_label_objects(model, view);
    labels = allocate_zeroed(view->count, sizeof(*labels));
    add_false_sharing(model, findings, view, labels);
    add_true_sharing(model, findings, view, labels);
    free(labels);
}
