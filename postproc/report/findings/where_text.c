/* SPDX-License-Identifier: BSD-3-Clause */
/* The place of a finding in words: its lines by function, and the objects that they use. */
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/findings/finding_text.h"
#include "report/model/last_uses.h"

/* Lines to name, each once, those of one function after the other. */
struct named_lines {
    const struct code_line *lines[FINDING_LINES_MAX];
    size_t count;
};

static bool is_shared_library(const struct code_line *line)
{
    return line->module != NULL && strstr(line->module, ".so") != NULL;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool is_one_function(const struct code_line *a, const struct code_line *b)
{
    return a->file != NULL && is_same_text(a->file, b->file) &&
           is_same_text(a->function, b->function);
}

/* What was inlined into two functions is one line to its reader. */
static bool is_named(const struct named_lines *named, const struct code_line *line)
{
    for (size_t i = 0; i < named->count; i++)
        if (line->file != NULL && named->lines[i]->line == line->line &&
            is_same_text(named->lines[i]->file, line->file))
            return true;
    return false;
}

/* Behind the last line of the same function, or at the end. */
static void name_line(struct named_lines *named, const struct code_line *line)
{
    size_t at = named->count;

    while (at > 0 && !is_one_function(named->lines[at - 1], line))
        at--;
    if (at == 0)
        at = named->count;
    memmove(named->lines + at + 1, named->lines + at, (named->count - at) * sizeof(*named->lines));
    named->lines[at] = line;
    named->count++;
}

/* The program's own lines come first: they are what a reader can change. */
static struct named_lines lines_of(const struct finding *finding)
{
    struct named_lines named = {.count = 0};

    for (int library = 0; library < 2; library++)
        for (size_t i = 0; i < finding->line_count; i++)
            if (is_shared_library(&finding->lines[i]) == (library == 1) &&
                !is_named(&named, &finding->lines[i]))
                name_line(&named, &finding->lines[i]);
    return named;
}

/* Lines of the same function as the first one, from there on. */
static size_t run_of(const struct named_lines *named, size_t first)
{
    size_t end = first + 1;

    while (end < named->count && is_one_function(named->lines[first], named->lines[end]))
        end++;
    return end - first;
}

static void append(char **text, const char *separator, const char *more)
{
    char *longer = format_string("%s%s%s", *text, separator, more);

    free(*text);
    *text = longer;
}

/* Longer names lose what their templates are made of: of a map of lists it fills a screen. */
enum { NAME_MAX_SHOWN = 60 };

static bool is_operator(const char *text, size_t at)
{
    static const char word[] = "operator";
    size_t length = sizeof(word) - 1;

    while (at > 0 && (text[at - 1] == '<' || text[at - 1] == '-' || text[at - 1] == '>'))
        at--;
    return at >= length && strncmp(text + at - length, word, length) == 0;
}

/* "map<...>::insert"; the caller frees it. */
static char *without_template_arguments(const char *name)
{
    char *text = allocate(strlen(name) + 1, 4), *out = text;
    size_t depth = 0;

    for (size_t i = 0; name[i] != '\0'; i++) {
        bool bracket = (name[i] == '<' || name[i] == '>') && !is_operator(name, i);

        if (bracket && name[i] == '>' && depth > 0)
            depth--;
        if (depth == 0)
            *out++ = name[i];
        if (bracket && name[i] == '<' && depth++ == 0)
            out = stpcpy(out, "...");
    }
    *out = '\0';
    return text;
}

static void append_name(char **text, const char *separator, const char *name)
{
    char *shorter =
        strlen(name) > NAME_MAX_SHOWN ? without_template_arguments(name) : copy_string(name);

    append(text, separator, shorter);
    free(shorter);
}

/* "a.c:15 and 17 in f", or "15 and 17 in f" where the file was the last one named. */
static void append_function(struct model *model, const struct named_lines *named, size_t first,
                            size_t count, bool either, char **text)
{
    const struct code_line *line = named->lines[first];
    const char *file = first > 0 ? named->lines[first - 1]->file : NULL;
    bool same_file = line->file != NULL && line->line > 0 && is_same_text(file, line->file);

    for (size_t i = first; i < first + count; i++) {
        bool last = i + 1 == first + count;
        const char *separator = i == 0              ? ""
                                : either            ? (i > first ? " or " : ", or ")
                                : i > first && last ? " and "
                                                    : ", ";
        char *number = format_string("%u", named->lines[i]->line);

        append_name(text, separator,
                    i > first || same_file ? number : code_line_text(model, named->lines[i]));
        free(number);
    }
    if (line->file != NULL)
        append_name(text, " in ", line->function);
}

/* "a.c:15 in f, which calls memcpy": where a reader can change something. */
static void append_caller(struct model *model, const struct finding *finding, char **text)
{
    const struct code_line *caller = &finding->caller;

    append_name(text, "", code_line_text(model, caller));
    if (caller->file != NULL)
        append_name(text, " in ", caller->function);
    append_name(text, ", which calls ", finding->lines[0].function);
}

static void append_objects(const struct finding *finding, char **text)
{
    char *size, *kind;

    for (size_t i = 0; i < finding->object_count; i++)
        append_name(text, i == 0 ? ", on " : " and ", finding->objects[i]);
    if (finding->object_count != 1 || !(finding->object_bytes > 0))
        return;
    size = number_bytes(finding->object_bytes);
    kind = format_string("(%s, %s%s%s)", finding->object_kind, finding->object_part ? "up to " : "",
                         size, finding->object_part ? " in use" : "");
    append(text, " ", kind);
    free(kind);
    free(size);
}

char *finding_where_text(struct model *model, const struct finding *finding)
{
    struct named_lines named = lines_of(finding);
    bool either = finding->either && finding->pattern != PATTERN_PASSES && named.count == 2;
    char *text = copy_string(named.count == 0 ? "somewhere in the program" : "");

    if (finding->caller.function != NULL)
        append_caller(model, finding, &text);
    for (size_t i = 0; i < named.count && finding->caller.function == NULL; i += run_of(&named, i))
        append_function(model, &named, i, run_of(&named, i), either, &text);
    if (finding->spread > 0) {
        char *others = format_string("%zu other place%s of little weight each", finding->spread,
                                     finding->spread == 1 ? "" : "s");

        append(&text, finding->caller.function != NULL ? ", and " : " and ", others);
        free(others);
    }
    append_objects(finding, &text);
    return text;
}
