/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time in the allocator, and time that containers take to grow: from where threads were when bursts
 * began. Measured, unlike what misses cost.
 */
#include <stdlib.h>
#include <string.h>

#include "report/findings/burst_time.h"
#include "report/findings/findings.h"
#include "report/model/next_uses.h"
#include "symbols/library_source.h"

static bool begins_with_any(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strncmp(text, *words, strlen(*words)) == 0)
            return true;
    return false;
}

static bool contains_any(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strstr(text, *words) != NULL)
            return true;
    return false;
}

static bool is_any(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

/* Functions that allocate and free, as the C library and others name them, and what only they
 * call; a program's own free_nodes() is none. */
static const char *const allocator_names[] = {"malloc",
                                              "calloc",
                                              "realloc",
                                              "free",
                                              "cfree",
                                              "memalign",
                                              "posix_memalign",
                                              "aligned_alloc",
                                              "malloc@plt",
                                              "calloc@plt",
                                              "realloc@plt",
                                              "free@plt",
                                              "__libc_malloc",
                                              "__libc_calloc",
                                              "__libc_realloc",
                                              "__libc_free",
                                              "_int_malloc",
                                              "_int_free",
                                              "_int_realloc",
                                              "_int_memalign",
                                              "sysmalloc",
                                              "systrim",
                                              "unlink_chunk",
                                              "malloc_consolidate",
                                              "tcache_get",
                                              "tcache_put",
                                              "__GI___libc_malloc",
                                              "__GI___libc_free",
                                              "mi_malloc",
                                              "mi_free",
                                              "je_malloc",
                                              "je_free",
                                              "tc_malloc",
                                              "tc_free",
                                              NULL};

static bool is_allocator(const struct code_line *frame)
{
    static const char *const operators[] = {"operator new", "operator delete", NULL};
    static const char *const modules[] = {"libjemalloc", "libtcmalloc", "libmimalloc", NULL};

    return is_any(frame->function, allocator_names) ||
           begins_with_any(frame->function, operators) ||
           (frame->file != NULL && strstr(frame->file, "malloc/malloc.c") != NULL) ||
           (frame->module != NULL && begins_with_any(frame->module, modules));
}

/* Functions with which containers move to a larger block: libstdc++, libc++, Rust's. */
static bool is_growth(const struct code_line *frame)
{
    static const char *const names[] = {"_M_rehash",
                                        "_M_realloc_insert",
                                        "_M_realloc_append",
                                        "_M_reallocate_map",
                                        "__do_rehash",
                                        "__push_back_slow_path",
                                        "__emplace_back_slow_path",
                                        "reserve_rehash",
                                        "do_reserve_and_handle",
                                        NULL};

    return contains_any(frame->function, names);
}

enum kind { KIND_ALLOCATOR, KIND_GROWTH, KINDS };

/* Moments of one kind, by the line of the program below which they happen. */
struct callers {
    ARRAY(struct code_line) lines;
    uint32_t *labels; /* of each moment, in all; GROUP_NONE */
    uint32_t *any;    /* of each moment: 0, or GROUP_NONE */
};

static bool is_own(const struct code_line *frame)
{
    return !is_allocator(frame) && !is_growth(frame) && !is_library_source(frame->file);
}

static const struct code_line *caller_of(const struct calling_context *context)
{
    for (size_t i = 0; i < context->count; i++)
        if (is_own(&context->frames[i]))
            return &context->frames[i];
    return NULL;
}

/* The kind of a moment; KINDS: neither. What an allocator does for a container that grows is part
 * of growing. */
static enum kind kind_of(const struct calling_context *context)
{
    enum kind kind = KINDS;

    for (size_t i = 0; i < context->count; i++) {
        if (is_growth(&context->frames[i]))
            return KIND_GROWTH;
        if (is_allocator(&context->frames[i]))
            kind = KIND_ALLOCATOR;
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

static void note_moment(struct callers callers[KINDS], size_t moment,
                        const struct calling_context *context)
{
    const struct code_line *caller = caller_of(context);
    enum kind kind = kind_of(context);

    for (size_t k = 0; k < KINDS; k++)
        callers[k].labels[moment] = callers[k].any[moment] = GROUP_NONE;
    if (kind == KINDS || caller == NULL)
        return;
    callers[kind].any[moment] = 0;
    callers[kind].labels[moment] = number_of(&callers[kind], caller);
}

static const char *const reasons[KINDS] = {
    [KIND_ALLOCATOR] =
        "measured: %zu of %zu random moments of the CPU time were in malloc, free or "
        "what they call",
    [KIND_GROWTH] = "measured: %zu of %zu random moments of the CPU time were in a container that "
                    "moved to a larger block",
};

static size_t count_of(const uint32_t *any, size_t moments)
{
    size_t count = 0;

    for (size_t i = 0; i < moments; i++)
        count += any[i] == 0;
    return count;
}

static void add_finding(struct model *model, struct findings *findings, enum kind kind,
                        const struct callers *callers, const moment_list *moments)
{
    struct estimate *all = burst_time_of_moments(moments, callers->any, 1);
    struct estimate *shares = burst_time_of_moments(moments, callers->labels, callers->lines.count);
    size_t count = count_of(callers->any, moments->count);
    struct finding finding = {.pattern = kind == KIND_GROWTH ? PATTERN_GROWTH : PATTERN_ALLOCATOR,
                              .time = all[0],
                              .bursts = count,
                              .verdict = {.belief = BELIEF_CERTAIN, .agreement = 1, .longer = 1}};
    char *reason;

    finding.verdict.pattern = finding.pattern;
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
    reason = format_string(reasons[kind], count, moments->count);
    finding.reason = intern_table_string(model->strings, reason);
    free(reason);
    if (finding.line_count > 0 && count >= EVIDENCE_BURSTS_MIN)
        ARRAY_PUSH(&findings->items, finding);
    free(shares);
    free(all);
}

bool findings_add_allocator(struct model *model, struct findings *findings)
{
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
        note_moment(callers, i, &context);
        free(context.frames);
    }
    for (size_t k = 0; k < KINDS; k++) {
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
