/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "heap_remedy.h"
#include "report/findings/burst_time.h"
#include "report/findings/hot_code.h"
#include "report/findings/places.h"
#include "report/model/last_uses.h"
#include "report/model/object_labels.h"
#include "report/model/run_time.h"
#include "report/model/try_places.h"

static const char *keep(struct model *model, char *text)
{
    const char *kept = intern_table_string(model->strings, text);

    free(text);
    return kept;
}

static bool is_same_line(const struct code_line *a, const struct code_line *b)
{
    return a->file == b->file && a->line == b->line && a->function == b->function;
}

static bool overlap(struct estimate a, struct estimate b)
{
    return a.lo <= b.hi && b.lo <= a.hi;
}

/* Parts of one whole: what one of them has more, the others may have less. */
static struct estimate sum_of(struct estimate a, struct estimate b)
{
    double value = fmin(1, a.value + b.value);

    return (struct estimate){value, fmax(0, value - hypot(a.value - a.lo, b.value - b.lo)),
                             fmin(1, value + hypot(a.hi - a.value, b.hi - b.value))};
}

static void add_line(struct finding *finding, const struct code_line *line, struct estimate time)
{
    for (size_t i = 0; i < finding->line_count; i++)
        if (is_same_line(&finding->lines[i], line)) {
            finding->line_times[i] = sum_of(finding->line_times[i], time);
            return;
        }
    if (finding->line_count == FINDING_LINES_MAX)
        return;
    finding->lines[finding->line_count] = *line;
    finding->line_times[finding->line_count++] = time;
}

static void add_object(struct model *model, struct finding *finding, uint32_t object)
{
    const struct data_object *data;

    if (object == GROUP_NONE)
        return;
    data = &model->objects.items[object];
    for (size_t i = 0; i < finding->object_count; i++)
        if (finding->objects[i] == data->name)
            return;
    if (finding->object_count == FINDING_OBJECTS_MAX)
        return;
    if (finding->object_count == 0) {
        finding->object_kind = data->kind;
        finding->object_bytes = data_object_in_use(model, data);
        finding->object_part = finding->object_bytes < data_object_extent(data);
        finding->huge_places = data->size >= HEAP_REMEDY_HUGE_PAGE ? data->try_places : NULL;
    }
    finding->objects[finding->object_count++] = data->name;
}

/* What stands for blocks that nobody told apart is no name for an object. */
static bool is_untracked(const struct model *model, uint32_t object)
{
    return object != GROUP_NONE &&
           strcmp(model->objects.items[object].name, OBJECT_NAME_UNTRACKED) == 0;
}

void finding_name_busiest(const struct model *model, const double *accesses,
                          struct finding *finding)
{
    double most = 0;

    for (uint32_t i = 0; i < model->objects.count; i++) {
        const struct data_object *data = &model->objects.items[i];

        if (accesses[i] <= most || strcmp(data->kind, "stack") == 0 || is_untracked(model, i))
            continue;
        most = accesses[i];
        finding->objects[0] = data->name;
        finding->object_kind = data->kind;
        finding->object_bytes = (double)data->size;
        finding->object_count = 1;
    }
}

/* Compilers make several functions of one: "f [omp 0]" and "f [omp 1]". */
static bool is_same_function(const char *a, const char *b)
{
    size_t length = strcspn(a, "[");

    return length == strcspn(b, "[") && strncmp(a, b, length) == 0;
}

static bool has_object(const struct finding *finding, const char *object)
{
    for (size_t i = 0; i < finding->object_count; i++)
        if (finding->objects[i] == object)
            return true;
    return false;
}

/* One change of an object, or of how it is gone through, cures it wherever it happens. */
static bool is_cured_by_object(enum pattern pattern)
{
    return pattern == PATTERN_PASSES || pattern == PATTERN_INDEXED || pattern == PATTERN_ANYWHERE ||
           pattern == PATTERN_LINKED || pattern == PATTERN_FEW_MEMBERS;
}

/* What a loop does to several lines and objects in one way is one finding. */
static struct finding *finding_for(struct findings *findings, enum pattern pattern,
                                   const char *function, const char *object)
{
    struct finding fresh = {.pattern = pattern};

    for (size_t i = 0; i < findings->items.count; i++)
        if (findings->items.items[i].pattern == pattern &&
            (is_same_function(findings->items.items[i].lines[0].function, function) ||
             (is_cured_by_object(pattern) && object != NULL &&
              has_object(&findings->items.items[i], object))))
            return &findings->items.items[i];
    ARRAY_PUSH(&findings->items, fresh);
    return &findings->items.items[findings->items.count - 1];
}

static void take_place(struct model *model, struct findings *findings,
                       const struct access_place *place)
{
    const struct code_line *line = &model->lines.items[place->line];
    enum pattern pattern = place->verdict.pattern;
    struct finding *finding;

    if (pattern == PATTERN_IN_ORDER) {
        if (findings->in_order_at.function == NULL)
            findings->in_order_at = *line;
        findings->in_order = sum_of(findings->in_order, place->evidence.time);
    }
    if (pattern == PATTERN_NONE || pattern == PATTERN_IN_ORDER || place->growing)
        return;
    finding =
        finding_for(findings, pattern, line->function,
                    place->object != GROUP_NONE ? model->objects.items[place->object].name : NULL);
    if (finding->line_count == 0) {
        finding->evidence = place->evidence;
        finding->verdict = place->verdict;
        finding->elsewhere = place->reused_at;
        finding->caller = place->caller;
        finding->bursts = model->exact ? 0 : place->evidence.bursts;
        finding->time = place->evidence.time;
    } else {
        finding->time = sum_of(finding->time, place->evidence.time);
        if (place->evidence.bursts > finding->bursts)
            finding->bursts = place->evidence.bursts;
    }
    finding->spread += place->lines;
    add_line(finding, line, place->evidence.time);
    if (!is_untracked(model, place->object))
        add_object(model, finding, place->object);
}

/* Its lines by time; the first is not told from the second where their intervals overlap. */
static void order_lines(struct finding *finding)
{
    for (size_t i = 1; i < finding->line_count; i++)
        for (size_t k = i; k > 0 && finding->line_times[k].value > finding->line_times[k - 1].value;
             k--) {
            struct code_line line = finding->lines[k];
            struct estimate time = finding->line_times[k];

            finding->lines[k] = finding->lines[k - 1];
            finding->line_times[k] = finding->line_times[k - 1];
            finding->lines[k - 1] = line;
            finding->line_times[k - 1] = time;
        }
    finding->either =
        finding->line_count > 1 && overlap(finding->line_times[0], finding->line_times[1]);
}

static const char *check_of(enum pattern pattern)
{
    switch (pattern) {
    case PATTERN_FALSE_SHARING:
    case PATTERN_TRUE_SHARING:
    case PATTERN_SHARED_INDEX:
        return "reuse-report --sharing";
    case PATTERN_HANDED_OVER:
        return "reuse-report --matrix --placement";
    case PATTERN_ALLOCATOR:
    case PATTERN_GROWTH:
    case PATTERN_LOCKS:
    case PATTERN_WAITING:
    case PATTERN_PAGE_FAULTS:
    case PATTERN_SMALL_CALLS:
        return "reuse-report --contexts";
    case PATTERN_PASSES:
    case PATTERN_ACROSS_LINES:
    case PATTERN_TOO_LARGE:
        return "reuse-report --blocking --lines";
    default:
        return "reuse-report --objects --lines";
    }
}

/* What random access to a large block costs beside the misses of caches is a look-up of the page
 * for each; huge pages can be had without a change of the source. Empty where they cannot; the
 * caller frees it. */
static char *huge_pages_trial(const struct finding *finding)
{
    char *changes, *text;

    if ((finding->pattern != PATTERN_ANYWHERE && finding->pattern != PATTERN_INDEXED) ||
        finding->huge_places == NULL)
        return copy_string("");
    changes = try_changes(finding->huge_places, "hugepages:", "");
    text =
        format_string(". To time huge pages before: reuse-run -e none --try %s PROGRAM", changes);
    free(changes);
    return text;
}

static const char *remedy_of(struct model *model, const struct finding *finding, const char *object,
                             const char *elsewhere)
{
    char *change = pattern_remedy(finding->pattern, &finding->evidence, object, elsewhere);
    char *trial = huge_pages_trial(finding);
    const char *kept = keep(model, format_string("%s%s", change, trial));

    free(trial);
    free(change);
    return kept;
}

/* What the remedy is for; blocks that nobody told apart have no name of their own. */
static const char *object_of_remedy(const struct finding *finding)
{
    if (finding->object_count > 0 && strcmp(finding->objects[0], OBJECT_NAME_UNTRACKED) != 0)
        return finding->objects[0];
    return finding->pattern == PATTERN_LOCKS    ? "the lock"
           : finding->pattern == PATTERN_LINKED ? "the structure"
                                                : "the data";
}

/* All places are in code that was generated at run time, and addresses are all that is known. */
static bool is_unnamed_generated_code(const struct finding *finding)
{
    for (size_t i = 0; i < finding->line_count; i++)
        if (finding->lines[i].module != NULL ||
            strncmp(finding->lines[i].function, "0x", strlen("0x")) != 0)
            return false;
    return finding->line_count > 0;
}

static const char name_generated_code[] =
    "have the functions named, and run again: this code was generated at run time. Maps of names "
    "in /tmp/perf-PID.map are read (node --perf-basic-prof, java -XX:+DumpPerfMapAtExit)";

static const char read_without_lock[] =
    "readers write to a reader-writer lock as well. Let them read without one (an atomic pointer "
    "to data that is replaced as a whole, a sequence lock, RCU), or give each thread a lock of its "
    "own, of which writers take all; hold it for less";

static void complete(struct model *model, struct finding *finding)
{
    const char *object = object_of_remedy(finding);
    const char *elsewhere = finding->elsewhere.function != NULL
                                ? code_line_text(model, &finding->elsewhere)
                                : "the next one";
    struct estimate saving;

    order_lines(finding);
    finding->weight = finding_weight(finding->time, &finding->longer);
    finding->longer = fmax(finding->longer, finding->verdict.longer);
    if (finding->modelled) {
        /* Rates bound it, and a longer run would not narrow them. */
        finding->longer = 1;
        if (finding->weight == FINDING_OPEN && finding->time.lo >= FINDING_MODELLED_LEAST) {
            finding->verdict.belief = BELIEF_LIKELY;
            finding->weight = FINDING_CLEAR;
        }
    }
    saving = pattern_saving(finding->pattern, &finding->evidence);
    finding->gain = (struct estimate){finding->time.value * saving.value,
                                      finding->time.lo * saving.lo, finding->time.hi * saving.hi};
    finding->check = check_of(finding->pattern);
    if (finding->remedy == NULL && finding->reads_under_lock)
        finding->remedy = read_without_lock;
    if (finding->remedy == NULL && is_unnamed_generated_code(finding))
        finding->remedy = name_generated_code;
    if (finding->remedy == NULL)
        finding->remedy = remedy_of(model, finding, object, elsewhere);
    if (finding->reason == NULL)
        finding->reason = keep(model, pattern_reason(finding->pattern, &finding->evidence));
}

/* Those that cost next to nothing are no findings. */
static void finish(struct model *model, struct findings *findings)
{
    size_t kept = 0;

    for (size_t i = 0; i < findings->items.count; i++) {
        complete(model, &findings->items.items[i]);
        if (findings->items.items[i].weight != FINDING_NOTHING)
            findings->items.items[kept++] = findings->items.items[i];
    }
    findings->items.count = kept;
    if (kept > 0)
        qsort(findings->items.items, kept, sizeof(*findings->items.items), finding_compare);
}

const struct findings *findings_of(struct model *model)
{
    struct contended_bursts contended;
    struct access_places places;
    struct findings *findings;
    bool grows;

    if (model->findings != NULL)
        return model->findings;
    findings = model->findings = allocate_zeroed(1, sizeof(*findings));
    access_costs_of(&model->machine, model_timed_lines(model), &findings->costs);
    findings->cpu_ns = run_cpu_ns(model);
    findings->silent = burst_time_silent(model);
    findings->timed = !model->exact && findings->cpu_ns > 0;
    grows = findings_add_libraries(model, findings);
    findings_add_page_faults(model, findings);
    contended_bursts_find(model, findings->cpu_ns, FINDING_TIME_MIN, &contended);
    access_places_find(model, &findings->costs, grows, &contended, &places);
    findings->memory = places.time;
    for (size_t i = 0; i < places.items.count; i++)
        take_place(model, findings, &places.items.items[i]);
    free(places.items.items);
    findings->sight = sight_of(model);
    findings_add_sharing(model, findings, &contended);
    contended_bursts_free(&contended);
    hot_code_find(model, findings);
    finish(model, findings);
    return findings;
}

void findings_free(struct findings *findings)
{
    if (findings == NULL)
        return;
    free(findings->items.items);
    free(findings);
}
