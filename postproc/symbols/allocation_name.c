/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* strcasestr */
#include "symbols/allocation_name.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/assignment.h"
#include "symbols/library_source.h"
#include "symbols/site_number.h"

struct cached_source {
    struct source_text text;
    bool readable;
};

struct allocation_namer {
    const struct file_search *search;
    struct intern_table *strings, *paths;
    ARRAY(struct cached_source) sources; /* by the number of the path */
};

struct allocation_namer *allocation_namer_create(const struct file_search *search,
                                                 struct intern_table *strings)
{
    struct allocation_namer *namer = allocate_zeroed(1, sizeof(*namer));

    namer->search = search;
    namer->strings = strings;
    namer->paths = intern_table_create();
    return namer;
}

void allocation_namer_free(struct allocation_namer *namer)
{
    if (namer == NULL)
        return;
    for (size_t i = 0; i < namer->sources.count; i++)
        source_text_free(&namer->sources.items[i].text);
    free(namer->sources.items);
    intern_table_free(namer->paths);
    free(namer);
}

static const struct source_text *source_of(struct allocation_namer *namer, const char *path)
{
    uint32_t number = intern_table_insert(namer->paths, path, strlen(path));
    struct cached_source source = {.readable = false};
    char *found;

    if (number < namer->sources.count)
        return namer->sources.items[number].readable ? &namer->sources.items[number].text : NULL;
    found = file_under_sysroot(namer->search, path);
    source.readable = source_text_load(&source.text, found);
    free(found);
    ARRAY_PUSH(&namer->sources, source);
    return source.readable ? &namer->sources.items[number].text : NULL;
}

/* The name without scope and template arguments: std::vector<int>::resize -> resize. */
static char *unqualified(const char *function)
{
    size_t end = strlen(function), start;
    int depth = 0;

    if (strncmp(function, "operator new", 12) == 0)
        return copy_string("new");
    if (end > 4 && strcmp(function + end - 4, "@plt") == 0)
        end -= 4;
    if (end > 0 && function[end - 1] == '>') {
        for (size_t i = end; i-- > 0;) {
            depth += function[i] == '>';
            depth -= function[i] == '<';
            if (depth == 0) {
                end = i;
                break;
            }
        }
    }
    start = end;
    for (depth = 0; start > 0; start--) {
        char c = function[start - 1];

        depth += (c == '>' || c == ')') - (c == '<' || c == '(');
        if (depth <= 0 && c == ':')
            break;
    }
    return format_string("%.*s", (int)(end - start), function + start);
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The C++ library between the program's statement and malloc. */
static bool is_language_library(const struct source_frame *frame)
{
    if (is_library_source(frame->file))
        return true;
    return frame->function != NULL &&
           (starts_with(frame->function, "std::") || starts_with(frame->function, "__gnu_cxx::") ||
            starts_with(frame->function, "operator new") ||
            starts_with(frame->function, "void std::") ||
            starts_with(frame->function, "void* std::"));
}

/* Functions that hand out memory which they got from the allocator, by their name. */
static bool is_allocator_by_name(const char *name)
{
    return strcasestr(name, "alloc") != NULL || strcasestr(name, "strdup") != NULL ||
           strcasestr(name, "strndup") != NULL;
}

static bool is_verified(const struct context_frame *frame, const struct assignment *assignment)
{
    enum declared_as declared =
        symbol_module_declares(frame->module, frame->address, &frame->source, assignment->declared);

    return assignment->member ? declared == DECLARED_MEMBER : declared != DECLARED_NOWHERE;
}

/* How many [] and * the name has: rows[i] is one of the blocks that rows points to. */
static unsigned subscripts_of(const struct assignment *assignment)
{
    const char *declared = strstr(assignment->name, assignment->declared);
    unsigned subscripts = (unsigned)strspn(assignment->name, "*");
    int depth = 0;

    for (; declared != NULL && *declared != '\0'; declared++) {
        depth += (*declared == '[') - (*declared == ']');
        subscripts += *declared == '[' && depth == 1;
    }
    return subscripts;
}

static void find_assignment(const struct source_text *text, const struct context_frame *frame,
                            const char *callee, struct assignment *out)
{
    const struct source_frame *source = &frame->source;

    if (text->language == SOURCE_FORTRAN) {
        struct site_number number = site_number_find(frame->module, frame->address, source, 0);

        assignment_find_allocate(text, source->line, source->column, number.of_statement,
                                 number.statement_sites, out);
        return;
    }
    assignment_find(text, source->line, source->column, callee, out);
    /* The C library's functions call themselves __strdup, and the source calls them strdup. */
    if (out->kind == ASSIGNMENT_UNKNOWN && *callee == '_') {
        callee += starts_with(callee, "__GI_") ? strlen("__GI_") : 0;
        callee += strspn(callee, "_");
        assignment_find(text, source->line, source->column, callee, out);
    }
}

/* The source, if it is what the module was made from. */
static const struct source_text *trusted_source(struct allocation_namer *namer,
                                                const struct context_frame *frame, bool *newer)
{
    const struct source_text *text = source_of(namer, frame->source.file);
    int64_t built = symbol_module_time(frame->module);

    *newer = text != NULL && built != 0 && text->modified > built;
    return *newer ? NULL : text;
}

/* 0: not known. */
static size_t calls_written(struct allocation_namer *namer, const struct context_frame *frame,
                            const char *callee)
{
    bool newer;
    const struct source_text *text = trusted_source(namer, frame, &newer);

    return text != NULL ? assignment_count_calls(text, frame->source.line, callee) : 0;
}

/* Reads the statement of one frame. */
static enum assignment_kind read_statement(struct allocation_namer *namer,
                                           const struct context_frame *frame, const char *callee,
                                           struct allocation_name *out)
{
    bool newer;
    const struct source_text *text = trusted_source(namer, frame, &newer);
    struct assignment assignment;
    enum assignment_kind kind;

    if (newer)
        out->newer_source = frame->source.file;
    if (text == NULL)
        return ASSIGNMENT_UNKNOWN;
    find_assignment(text, frame, callee, &assignment);
    kind = assignment.kind;
    if (assignment.created != NULL)
        out->type = symbol_module_structure(frame->module, frame->address, assignment.created);
    if (kind == ASSIGNMENT_NAMED) {
        if (is_verified(frame, &assignment)) {
            out->name = intern_table_string(namer->strings, assignment.name);
            /* What was created is more than what a pointer to its base class tells. */
            if (out->type.module == NULL)
                out->type = symbol_module_pointee(frame->module, frame->address, &frame->source,
                                                  assignment.declared, assignment.member,
                                                  subscripts_of(&assignment));
        } else {
            kind = ASSIGNMENT_UNKNOWN;
        }
    }
    assignment_free(&assignment);
    return kind;
}

void allocation_name_find(struct allocation_namer *namer, const struct context_frame *frames,
                          size_t n, const char *callee, struct allocation_name *out)
{
    char *called = copy_string(callee);
    const struct context_frame *placed;

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < n; i++) {
        const struct source_frame *source = &frames[i].source;
        char *name = source->function != NULL ? unqualified(source->function) : NULL;
        bool passes_on =
            name != NULL && (is_language_library(source) || is_allocator_by_name(name));

        /* Whatever comes of the frames above, this one is nearer to the program than the last. */
        out->frame = i;
        if (!passes_on && (source->file == NULL || source->line == 0 || frames[i].module == NULL)) {
            free(name);
            break;
        }
        if (!passes_on) {
            enum assignment_kind kind = read_statement(namer, &frames[i], called, out);

            if (kind != ASSIGNMENT_RETURNED || name == NULL) {
                free(name);
                break;
            }
        }
        free(called);
        called = name;
    }
    placed = &frames[out->frame];
    if (out->name == NULL && placed->module != NULL && placed->source.file != NULL &&
        placed->source.line != 0) {
        struct site_number number = site_number_find(
            placed->module, placed->address, &placed->source, calls_written(namer, placed, called));

        out->site = number.of_line;
        out->sites = number.line_sites;
    }
    free(called);
}
