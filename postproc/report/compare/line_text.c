/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/compare/line_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/source_text.h"

struct loaded_source {
    struct source_text text;
    bool readable;
};

struct line_texts {
    struct model *model;
    struct intern_table *paths;
    ARRAY(struct loaded_source) sources; /* by the number of the path */
    const char *newer;
};

struct line_texts *line_texts_create(struct model *model)
{
    struct line_texts *texts = allocate_zeroed(1, sizeof(*texts));

    texts->model = model;
    texts->paths = intern_table_create();
    return texts;
}

void line_texts_free(struct line_texts *texts)
{
    if (texts == NULL)
        return;
    for (size_t i = 0; i < texts->sources.count; i++)
        source_text_free(&texts->sources.items[i].text);
    free(texts->sources.items);
    intern_table_free(texts->paths);
    free(texts);
}

static const struct loaded_source *source_of(struct line_texts *texts, const char *path)
{
    uint32_t number = intern_table_insert(texts->paths, path, strlen(path));

    if (number == texts->sources.count) {
        char *found = file_under_sysroot(&texts->model->search, path);
        struct loaded_source source = {.readable = false};

        source.readable = source_text_load(&source.text, found);
        free(found);
        ARRAY_PUSH(&texts->sources, source);
    }
    return &texts->sources.items[number];
}

/* Modification time of the module's file; 0: not known. */
static int64_t time_of_module(struct line_texts *texts, const char *name)
{
    struct symbol_module *module =
        symbols_module_named(resolver_symbols(texts->model->resolver), name);

    return module != NULL ? symbol_module_time(module) : 0;
}

/* The line, without what stands before and behind it, and with one blank for many. */
static char *line_of(const struct source_text *source, uint32_t line)
{
    size_t start = source->lines[line - 1];
    size_t end = line < source->line_count ? source->lines[line] : source->size;
    char *text = allocate_zeroed(end - start + 1, 1);
    size_t length = 0;

    for (size_t i = start; i < end; i++) {
        if (!isspace((unsigned char)source->code[i]))
            text[length++] = source->code[i];
        else if (length > 0 && text[length - 1] != ' ')
            text[length++] = ' ';
    }
    if (length > 0 && text[length - 1] == ' ')
        text[length - 1] = '\0';
    return text;
}

enum line_trust line_text(struct line_texts *texts, const char *file, uint32_t line,
                          const char *module, const char **text)
{
    const struct loaded_source *source;
    int64_t built;
    char *found;

    *text = "";
    if (file == NULL || line == 0)
        return LINE_TEXT_MISSING;
    source = source_of(texts, file);
    if (!source->readable || line > source->text.line_count)
        return LINE_TEXT_MISSING;
    built = time_of_module(texts, module);
    if (built != 0 && source->text.modified > built) {
        texts->newer = texts->newer != NULL ? texts->newer : file;
        return LINE_TEXT_NEWER;
    }
    found = line_of(&source->text, line);
    *text = intern_table_string(texts->model->strings, found);
    free(found);
    return **text != '\0' ? LINE_TEXT_KNOWN : LINE_TEXT_MISSING;
}

const char *line_texts_newer(const struct line_texts *texts)
{
    return texts->newer;
}
