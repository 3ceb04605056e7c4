/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/compare/subject_names.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

char *function_subject(const char *function)
{
    static const char *const suffixes[] = {".constprop.", ".isra.", ".part.", ".cold",
                                           ".lto_priv."};
    size_t length = strlen(function);

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        const char *found = strstr(function, suffixes[i]);

        if (found != NULL && (size_t)(found - function) < length)
            length = (size_t)(found - function);
    }
    return format_string("%.*s", (int)length, function);
}

char *line_subject(struct line_texts *texts, const struct code_line *line)
{
    const char *text;
    char *function, *subject;

    if (line_text(texts, line->file, line->line, line->module, &text) == LINE_TEXT_NEWER)
        return NULL;
    function = function_subject(line->function);
    subject = *text != '\0' ? format_string("%s: %s", function, text) : copy_string(function);
    free(function);
    return subject;
}

/* "main:12" of an object that is named after the place of its allocation. */
static bool is_named_by_place(const struct data_object *object)
{
    char *place;
    bool same;

    if (object->function == NULL || object->line == 0)
        return false;
    place = format_string("%s:%" PRIu32, object->function, object->line);
    same = strcmp(place, object->name) == 0;
    free(place);
    return same;
}

/* "function (lib.so+0x12)", "lib.so+0x12" and ".bss+0x1c0 of app" without the offset. */
static char *without_offset(const char *name)
{
    const char *offset = strstr(name, "+0x"), *rest;

    if (offset == NULL)
        return copy_string(name);
    rest = offset + 3 + strspn(offset + 3, "0123456789abcdef");
    return format_string("%.*s%s", (int)(offset - name), name, rest);
}

/* "stack of worker (1234)" without the number that every run has anew. */
static char *without_number(const char *name)
{
    const char *number = strrchr(name, '(');

    if (number == NULL || number == name || number[-1] != ' ' || !isdigit((unsigned char)number[1]))
        return copy_string(name);
    return format_string("%.*s", (int)(number - 1 - name), name);
}

char *object_subject(struct line_texts *texts, const struct data_object *object)
{
    char *known, *subject;

    if (is_named_by_place(object)) {
        struct code_line place = {.function = object->function,
                                  .file = object->file,
                                  .line = object->line,
                                  .module = object->module};

        known = line_subject(texts, &place);
        if (known == NULL)
            known = copy_string(object->function);
    } else if (strcmp(object->kind, "stack") == 0) {
        known = without_number(object->name);
    } else {
        known = without_offset(object->name);
    }
    subject = format_string("%s %s", object->kind, known);
    free(known);
    return subject;
}

void object_subject_parts(const char *subject, struct intern_table *strings, const char **kind,
                          const char **name)
{
    size_t length = strcspn(subject, " ");
    char *first = format_string("%.*s", (int)length, subject);

    *kind = intern_table_string(strings, first);
    *name = intern_table_string(strings, subject + length + 1);
    free(first);
}
