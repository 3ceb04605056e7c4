/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time in libraries that programs can save: in the allocator, in containers that grow, in system
 * calls that move a few bytes each, at locks, and in waiting for other threads. From where threads
 * were when bursts began: measured, unlike what misses cost.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/findings/burst_time.h"
#include "report/findings/findings.h"
#include "report/findings/library_caller.h"
#include "report/model/allocator_code.h"
#include "report/model/input_output_code.h"
#include "report/model/kernel_use.h"
#include "report/model/object_labels.h"
#include "report/model/runtime_code.h"
#include "symbols/library_source.h"

enum kind { KIND_ALLOCATOR, KIND_GROWTH, KIND_CALLS, KIND_LOCKS, KIND_WAITING, KINDS };

/* Moments of one kind, by the line of the program below which they happen. */
struct callers {
    ARRAY(struct code_line) lines;
    uint32_t *labels;         /* of each moment, in all; GROUP_NONE */
    uint32_t *any;            /* of each moment: 0, or GROUP_NONE */
    size_t shared, exclusive; /* moments in functions of reader-writer locks; of these, to write */
};

static enum kind kind_of_runtime(const struct code_line *frame)
{
    switch (runtime_code_waits(frame->module, frame->function)) {
    case WAITS_AT_LOCK:
        return KIND_LOCKS;
    case WAITS_FOR_THREADS:
        return KIND_WAITING;
    default:
        return KINDS;
    }
}

static bool is_own(const struct code_line *frame)
{
    return !allocator_code_is(frame) && !allocator_code_grows(frame) &&
           !is_library_source(frame->file) && !input_output_code_is(frame) &&
           kind_of_runtime(frame) == KINDS;
}

/* Of threads that the runtime made for itself, the code that they wait in. */
static const struct code_line *caller_of(const struct calling_context *context)
{
    for (size_t i = 0; i < context->count; i++)
        if (is_own(&context->frames[i]))
            return &context->frames[i];
    return context->count > 0 && kind_of_runtime(&context->frames[0]) == KIND_WAITING
               ? &context->frames[0]
               : NULL;
}

/* The kind of a moment; KINDS: none. What an allocator does for a container that grows is part of
 * growing, and the lock of an allocator is part of allocating. */
static enum kind kind_of(const struct calling_context *context)
{
    enum kind kind = KINDS;

    for (size_t i = 0; i < context->count; i++) {
        if (allocator_code_grows(&context->frames[i]))
            return KIND_GROWTH;
        if (i == 0 && input_output_code_is(&context->frames[i]))
            return KIND_CALLS;
        if (allocator_code_is(&context->frames[i]))
            kind = KIND_ALLOCATOR;
        else if (kind == KINDS && kind_of_runtime(&context->frames[i]) != KINDS)
            kind = kind_of_runtime(&context->frames[i]);
        else if (is_own(&context->frames[i]))
            break;
    }
    return kind;
}

bool is_growing_context(const struct calling_context *context)
{
    return kind_of(context) == KIND_GROWTH;
}

static uint32_t number_of(struct callers *callers, const struct code_line *line)
{
    for (size_t i = 0; i < callers->lines.count; i++)
        if (callers->lines.items[i].line == line->line &&
            callers->lines.items[i].file == line->file &&
            callers->lines.items[i].function == line->function)
            return (uint32_t)i;
    ARRAY_PUSH(&callers->lines, *line);
    return (uint32_t)(callers->lines.count - 1);
}

static bool is_called(const struct calling_context *context, const char *part)
{
    for (size_t i = 0; i < context->count; i++)
        if (strstr(context->frames[i].function, part) != NULL)
            return true;
    return false;
}

/* Buffers of the C library's streams lie between a call and the program. */
static const struct code_line *caller_of_call(struct model *model,
                                              const struct calling_context *context)
{
    size_t own = innermost_own_frame(model, context);

    return own < context->count ? &context->frames[own] : caller_of(context);
}

static void note_moment(struct model *model, struct callers callers[KINDS], size_t moment,
                        const struct calling_context *context)
{
    enum kind kind = kind_of(context);
    const struct code_line *caller =
        kind == KIND_CALLS ? caller_of_call(model, context) : caller_of(context);

    for (size_t k = 0; k < KINDS; k++)
        callers[k].labels[moment] = callers[k].any[moment] = GROUP_NONE;
    if (kind == KINDS || caller == NULL)
        return;
    callers[kind].any[moment] = 0;
    callers[kind].shared += is_called(context, "rwlock");
    callers[kind].exclusive += is_called(context, "rwlock_wrlock");
    callers[kind].labels[moment] = number_of(&callers[kind], caller);
}

static const char *const reasons[KINDS] = {
    [KIND_ALLOCATOR] = "measured: %zu of %zu samples of the CPU time were in malloc, free or "
                       "what they call",
    [KIND_GROWTH] = "measured: %zu of %zu samples of the CPU time were in a container that "
                    "moved to a larger block",
    [KIND_CALLS] = "measured: %zu of %zu samples of the CPU time were in read, write or their like",
    [KIND_LOCKS] = "measured: %zu of %zu samples of the CPU time were in functions that take "
                   "and release locks",
    [KIND_WAITING] = "measured: %zu of %zu samples of the CPU time were in the threading "
                     "runtime, at barriers, or where threads begin and end",
};

static const enum pattern patterns[KINDS] = {
    [KIND_ALLOCATOR] = PATTERN_ALLOCATOR, [KIND_GROWTH] = PATTERN_GROWTH,
    [KIND_CALLS] = PATTERN_SMALL_CALLS,   [KIND_LOCKS] = PATTERN_LOCKS,
    [KIND_WAITING] = PATTERN_WAITING,
};

/* What functions that take locks access most. */
static void add_lock(struct model *model, struct finding *finding)
{
    double *accesses;

    model_label_lines(model);
    model_label_objects(model);
    accesses = allocate_zeroed(model->objects.count + 1, sizeof(*accesses));
    for (size_t i = 0; i < model->observations; i++) {
        uint32_t object = model->by_object.labels[i], number = model->by_line.labels[i];

        if (object == GROUP_NONE || number == GROUP_NONE ||
            kind_of_runtime(&model->lines.items[number]) != KIND_LOCKS)
            continue;
        accesses[object] += analysis_probe_weight(model->analysis, i);
    }
    finding_name_busiest(model, accesses, finding);
    free(accesses);
}

static size_t count_of(const uint32_t *any, size_t moments)
{
    size_t count = 0;

    for (size_t i = 0; i < moments; i++)
        count += any[i] == 0;
    return count;
}

/* Calls that move so little on average take the kernel longer than what they move. */
static const double small_call_bytes = 512;

static bool calls_are_small(const struct model *model)
{
    const struct kernel_use use = kernel_use_of(model);

    return use.calls > 0 && use.call_bytes < small_call_bytes * use.calls;
}

/* Bursts begin in the program's own code, and stand for the time in it. What else the kernel does
 * is taken to be for all code alike, but for page faults, which are told apart. */
static struct estimate with_kernel(const struct model *model, enum kind kind, struct estimate own)
{
    const struct kernel_use use = kernel_use_of(model);
    double code = 1 - fmax(0, use.time), all = 1 - use.fault_time;

    if (kind != KIND_CALLS)
        return (struct estimate){own.value * all, own.lo * all, own.hi * all};
    return (struct estimate){own.value * code + use.call_time.value,
                             own.lo * code + use.call_time.lo,
                             fmin(1, own.hi * code + use.call_time.hi)};
}

static const char *reason_of(struct model *model, enum kind kind, size_t count, size_t moments)
{
    char *text = format_string(reasons[kind], count, moments), *calls, *bytes, *longer;
    const char *reason;

    if (kind == KIND_CALLS) {
        const struct kernel_use use = kernel_use_of(model);

        calls = number_count(use.calls);
        bytes = number_bytes(use.call_bytes / use.calls);
        longer = format_string("%s; %s calls, each of %s on average", text, calls, bytes);
        free(bytes);
        free(calls);
        free(text);
        text = longer;
    }
    reason = intern_table_string(model->strings, text);
    free(text);
    return reason;
}

static void add_finding(struct model *model, struct findings *findings, enum kind kind,
                        const struct callers *callers, const moment_list *moments)
{
    struct estimate *all = burst_time_of_moments(moments, callers->any, 1);
    struct estimate *shares = burst_time_of_moments(moments, callers->labels, callers->lines.count);
    size_t count = count_of(callers->any, moments->count);
    struct finding finding = {.pattern = patterns[kind],
                              .time = all[0],
                              .bursts = count,
                              .verdict = {.belief = BELIEF_CERTAIN, .agreement = 1, .longer = 1}};

    finding.verdict.pattern = finding.pattern;
    finding.time = with_kernel(model, kind, finding.time);
    for (size_t taken = 0; taken < FINDING_LINES_MAX; taken++) {
        size_t most = callers->lines.count;

        for (size_t i = 0; i < callers->lines.count; i++)
            if (shares[i].value > 0 &&
                (most == callers->lines.count || shares[i].value > shares[most].value))
                most = i;
        if (most == callers->lines.count)
            break;
        finding.lines[finding.line_count] = callers->lines.items[most];
        finding.line_times[finding.line_count++] = shares[most];
        shares[most].value = 0;
    }
    finding.reason = reason_of(model, kind, count, moments->count);
    finding.reads_under_lock = kind == KIND_LOCKS && callers->shared > count / 2 &&
                               callers->exclusive < callers->shared / 4;
    if (kind == KIND_LOCKS && count > 0)
        add_lock(model, &finding);
    if (finding.line_count > 0 && count >= EVIDENCE_BURSTS_MIN)
        ARRAY_PUSH(&findings->items, finding);
    free(shares);
    free(all);
}

/* Of all processes. */
static bool has_threads(const struct model *model)
{
    size_t threads = 0;

    for (size_t i = 0; i < model->profile_count; i++)
        threads += model->profiles[i]->totals.count;
    return threads > 1;
}

bool findings_add_libraries(struct model *model, struct findings *findings)
{
    size_t kinds = has_threads(model) ? KINDS : KIND_LOCKS;
    struct callers callers[KINDS] = {{.labels = NULL}};
    moment_list moments = {0};

    /* Moments are those of the whole run. */
    if (model->region != NULL)
        return false;
    burst_time_moments(model, &moments);
    for (size_t k = 0; k < KINDS; k++) {
        callers[k].labels = allocate_zeroed(moments.count + 1, sizeof(uint32_t));
        callers[k].any = allocate_zeroed(moments.count + 1, sizeof(uint32_t));
    }
    for (size_t i = 0; i < moments.count; i++) {
        const struct record_burst *burst = moments.items[i].burst;
        struct calling_context context = {.frames = NULL};

        if (burst->context_id != 0)
            context = model_resolve_context(model, moments.items[i].profile, burst->context_id, 0,
                                            burst->monotonic_ns);
        note_moment(model, callers, i, &context);
        free(context.frames);
    }
    for (size_t k = 0; k < KINDS; k++) {
        if (k < kinds && (k != KIND_CALLS || calls_are_small(model)))
            add_finding(model, findings, (enum kind)k, &callers[k], &moments);
        free(callers[k].lines.items);
        free(callers[k].labels);
        free(callers[k].any);
    }
    free(moments.items);
    for (size_t i = 0; i < findings->items.count; i++)
        if (findings->items.items[i].pattern == PATTERN_GROWTH)
            return true;
    return false;
}
