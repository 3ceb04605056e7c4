/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings on data that moves between threads, priced by what a transfer costs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/communication/contention.h"
#include "document/numbers.h"
#include "report/findings/findings.h"
#include "report/findings/word_writers.h"
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

/* What transfers are priced by. */
struct price {
    const struct contended_bursts *contended;
    line_user_places places; /* the lines that move, and who uses them */
    double limit;            /* share of the CPU time that loops at them take at most */
};

/* Transfers as a share of the time, at ns each, but not more than that of the loops at these lines.
 */
static struct estimate time_of_transfers(double run_ns, struct estimate transfers, double each_ns,
                                         double limit)
{
    double each = each_ns / fmax(1, run_ns);

    return (struct estimate){fmin(limit, each * transfers.value), fmin(limit, each * transfers.lo),
                             fmin(limit, each * transfers.hi)};
}

/*
 * What the loops at these lines wait for neither their code nor their misses is for other threads,
 * as far as transfers may take so long. Where that is not known, transfers are counted at a common
 * price. What is modelled says little of how often threads meet: that they do for certain is to be
 * known first. Threads that hardly ran at the same time, on a busy machine, waited little for each
 * other: that says nothing of what they would wait on an idle one.
 */
static void put_time(const struct model *model, const struct findings *findings,
                     struct estimate transfers, struct price *price, struct finding *finding)
{
    double run_ns = time_of_run(model, findings);
    struct estimate most = time_of_transfers(run_ns, transfers, line_transfer_ns.hi, price->limit);
    struct estimate waited, *time = &finding->time;
    bool certain;

    *time = time_of_transfers(run_ns, transfers, findings->costs.transfer_ns, price->limit);
    certain = time->lo >= FINDING_MODELLED_LEAST;
    finding->apart = !certain && sight_one_at_a_time(&findings->sight);
    if (finding->apart)
        return;
    if (!contended_time_at(model, price->contended, &price->places, &waited))
        return;
    time->value = fmin(most.hi, waited.value);
    time->hi = fmin(most.hi, waited.hi);
    if (certain)
        time->lo = waited.lo;
    else if (!finding->modelled)
        time->lo = fmin(most.value, waited.lo);
    time->lo = fmin(time->lo, time->value);
    finding->modelled &= !certain;
    finding->waits_known = true;
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

/* "1 cache line seen"; the caller frees it. lines: 0: they are not told apart. */
static char *lines_text(const struct model *model, size_t lines)
{
    if (lines == 0)
        return copy_string("many cache lines");
    return format_string("%zu cache line%s%s", lines, lines == 1 ? "" : "s",
                         model->exact ? "" : " seen");
}

/* What prices the transfers; the caller frees it. */
static char *price_text(const struct findings *findings, const struct finding *finding)
{
    if (finding->waits_known)
        return format_string("their loops take %.0f %% of the time beyond their code and misses",
                             100 * finding->time.value);
    return format_string("at %.0f ns each", findings->costs.transfer_ns);
}

static const char *transfers_text(struct model *model, const struct findings *findings,
                                  const struct finding *finding, struct estimate transfers,
                                  size_t threads, size_t lines)
{
    /* At the price that is told, there is no time for more. */
    double room = findings->cpu_ns > 0 && !model->exact
                      ? findings->cpu_ns / findings->costs.transfer_ns
                      : INFINITY;
    char *seen = lines_text(model, lines);
    char *range = number_count_range(fmin(transfers.lo, room), fmin(transfers.hi, room));
    char *price = price_text(findings, finding);
    char *text = format_string("%zu threads, %s; %s transfers%s %s", threads, seen, range,
                               finding->waits_known ? ";" : ",", price);

    free(price);
    free(range);
    free(seen);
    return keep(model, text);
}

/* The lines of source between which most of a group's data moves: if possible with both ends at one
 * object, rather than at what else lies on its line. */
static void add_lines(const struct communication_view *view, const uint32_t *labels, uint32_t group,
                      struct finding *finding)
{
    double most = 0;
    size_t best = view->count;
    bool best_within = false;
    uint32_t ends[2];

    for (size_t i = 0; i < view->count; i++) {
        double transfers = communication_flow(view->communication, i)->transfers;
        bool within = view->from_object[i] == view->to_object[i];

        if (labels[i] != group || within < best_within ||
            (within == best_within && !(transfers > most)))
            continue;
        most = transfers;
        best = i;
        best_within = within;
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

/* Places on a stack have no names, and their distance from its end tells nothing. */
static bool is_on_stack(const struct communication_view *view, uint32_t object)
{
    return object != GROUP_NONE && strcmp(view->objects.items[object].kind, "stack") == 0;
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
                      const struct contended_bursts *contended, struct communication_view *view,
                      const struct false_sharing *found, struct estimate transfers,
                      const char *remedy, uint32_t *labels)
{
    enum parting_worth worth = worth_of(found, model->accesses.value);
    struct finding finding = {.pattern = PATTERN_FALSE_SHARING,
                              .verdict = {.belief = BELIEF_CERTAIN, .agreement = 1, .longer = 1},
                              .bursts = model->exact ? 0 : model->bursts};
    struct price price = {.contended = contended, .limit = limit_of(findings, &found->cost)};
    uint32_t object = found->sides[1].object;

    if (worth == PARTING_WORTHLESS)
        return;
    finding.modelled = false_sharing_is_modelled(found);
    if (worth == PARTING_UNCERTAIN && !finding.modelled)
        transfers.lo = 0;
    for (size_t i = 0; i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);

        labels[i] = GROUP_NONE;
        if (view->place[i] != FLOW_PROGRAM || flow->true_sharing ||
            (view->to_object[i] != object && view->from_object[i] != object))
            continue;
        labels[i] = 0;
        contended_places_add(&price.places, flow);
    }
    put_time(model, findings, transfers, &price, &finding);
    free(price.places.items);
    add_lines(view, labels, 0, &finding);
    name_object(view, object, is_on_stack(view, object) ? NULL : found->sides[0].path, &finding);
    if (found->sides[1].path != NULL && !is_on_stack(view, object))
        finding.objects[finding.object_count++] = found->sides[1].path;
    finding.reason =
        transfers_text(model, findings, &finding, transfers, found->threads, found->lines);
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
                              const struct contended_bursts *contended,
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
            add_false(model, findings, contended, view, &found.items[i], transfers, remedy, labels);
    }
    free(remedies);
    free(found.items);
}

/* True sharing of one object. */
struct shared_object {
    uint32_t object;
    line_user_places places;
    struct word_writers *writers;
    struct intern_table *threads, *lines;
    double transfers, modelled;
    double counted; /* of the transfers, those of reference counts */
    bool scattered; /* over lines that are not told apart */
};

/* Lines that are not told apart count as one. */
static void note_flow(struct shared_object *shared, const struct flow *flow)
{
    shared->transfers += flow->transfers;
    shared->modelled += flow->modelled ? flow->transfers : 0;
    shared->scattered |= flow->line_address == 0 && flow->modelled;
    intern_table_insert(shared->lines, &flow->line_address, sizeof(flow->line_address));
    intern_table_insert(shared->threads, &flow->source.thread_id, sizeof(flow->source.thread_id));
    intern_table_insert(shared->threads, &flow->destination.thread_id,
                        sizeof(flow->destination.thread_id));
    word_writers_add(shared->writers, flow);
    contended_places_add(&shared->places, flow);
}

static enum pattern pattern_of_use(enum word_use use)
{
    switch (use) {
    case WORDS_POLLED:
        return PATTERN_SHARED_INDEX;
    case WORDS_HANDED_OVER:
        return PATTERN_HANDED_OVER;
    default:
        return PATTERN_TRUE_SHARING;
    }
}

/* Lines that the object has, as far as known: those that were seen at least. */
static double lines_of_object(const struct model *model, const struct communication_view *view,
                              const struct shared_object *shared)
{
    double bytes =
        shared->object != GROUP_NONE ? (double)view->objects.items[shared->object].size : 0;

    return fmax((double)intern_table_count(shared->lines),
                bytes / analysis_line_size(model->analysis));
}

static const char own_less_often[] =
    "reference counts are written whenever such a pointer is copied or goes: pass it by reference "
    "where the callee need not own the object, move it instead of copying it, or keep a copy for "
    "each thread that lives as long as the thread uses it";

static void add_true(struct model *model, struct findings *findings,
                     const struct contended_bursts *contended, struct communication_view *view,
                     struct shared_object *shared, const uint32_t *labels, uint32_t group)
{
    struct estimate transfers = communication_total(view->communication, labels, group);
    struct sharing_cost cost = sharing_cost_of(model, shared->places.items, shared->places.count);
    enum word_use use = word_writers_use(shared->writers, lines_of_object(model, view, shared));
    struct finding finding = {.pattern = pattern_of_use(use),
                              .verdict = {.belief = BELIEF_CERTAIN, .agreement = 1, .longer = 1},
                              .bursts = model->exact ? 0 : model->bursts};

    struct price price = {
        .contended = contended, .places = shared->places, .limit = limit_of(findings, &cost)};

    finding.modelled = shared->modelled > 0.5 * shared->transfers;
    if (finding.pattern != PATTERN_HANDED_OVER && shared->counted > 0.5 * shared->transfers)
        finding.remedy = own_less_often;
    put_time(model, findings, transfers, &price, &finding);
    add_lines(view, labels, group, &finding);
    name_object(view, shared->object, NULL, &finding);
    finding.reason =
        transfers_text(model, findings, &finding, transfers, intern_table_count(shared->threads),
                       shared->scattered ? 0 : intern_table_count(shared->lines));
    ARRAY_PUSH(&findings->items, finding);
}

/* What is written less often if less is to move: a thread that loads a neighbour of it on the line
 * has the line brought there, but is not who makes it move. */
static uint32_t written_object(const struct communication_view *view, size_t i)
{
    bool by_source = communication_flow(view->communication, i)->kind == TRANSFER_RAW;
    uint32_t written = by_source ? view->from_object[i] : view->to_object[i];

    return written != GROUP_NONE ? written : by_source ? view->to_object[i] : view->from_object[i];
}

/* Threads that take turns on one CPU move nothing. */
static bool moves_something(const struct flow *flow)
{
    return flow->modelled || !(flow->source.cpu_known && flow->destination.cpu_known &&
                               flow->source.cpu == flow->destination.cpu);
}

static void add_true_sharing(struct model *model, struct findings *findings,
                             const struct contended_bursts *contended,
                             struct communication_view *view, uint32_t *labels)
{
    struct intern_table *keys = intern_table_create();
    ARRAY(struct shared_object) objects = {0};

    for (size_t i = 0; i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);
        uint32_t object = written_object(view, i);

        labels[i] = GROUP_NONE;
        if (view->place[i] != FLOW_PROGRAM || !flow->true_sharing || !moves_something(flow))
            continue;
        labels[i] = intern_table_insert(keys, &object, sizeof(object));
        if (labels[i] == objects.count)
            ARRAY_PUSH(&objects, ((struct shared_object){.object = object,
                                                         .writers = word_writers_create(),
                                                         .threads = intern_table_create(),
                                                         .lines = intern_table_create()}));
        note_flow(&objects.items[labels[i]], flow);
        objects.items[labels[i]].counted += view->counts_references[i] ? flow->transfers : 0;
    }
    for (uint32_t g = 0; g < objects.count; g++) {
        add_true(model, findings, contended, view, &objects.items[g], labels, g);
        intern_table_free(objects.items[g].threads);
        intern_table_free(objects.items[g].lines);
        free(objects.items[g].places.items);
        word_writers_free(objects.items[g].writers);
    }
    free(objects.items);
    intern_table_free(keys);
}

void findings_add_sharing(struct model *model, struct findings *findings,
                          const struct contended_bursts *contended)
{
    struct communication_view *view = communication_view_of(model);
    uint32_t *labels;

    if (view->communication == NULL || view->threads.count < 2 || view->count == 0)
        return;
    communication_view_label_code(model, view);
    communication_view_label_objects(model, view);
    labels = allocate_zeroed(view->count, sizeof(*labels));
    add_false_sharing(model, findings, contended, view, labels);
    add_true_sharing(model, findings, contended, view, labels);
    free(labels);
}
