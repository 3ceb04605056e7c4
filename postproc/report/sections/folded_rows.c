/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sections/folded_rows.h"

#include <stdlib.h>
#include <string.h>

#include "report/sections/section_support.h"

static bool begins(const char *text, const char *start)
{
    return text != NULL && strncmp(text, start, strlen(start)) == 0;
}

static bool ends(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Sources of the C library's allocator and of the loader, as its debug information names them. */
static bool is_background_source(const char *file)
{
    static const char *const parts[] = {"/malloc/malloc.c", "/malloc/arena.c", "/elf/dl-",
                                        "/elf/rtld.c"};

    if (begins(file, "malloc/") || begins(file, "elf/"))
        return true;
    for (size_t i = 0; file != NULL && i < sizeof(parts) / sizeof(*parts); i++)
        if (strstr(file, parts[i]) != NULL)
            return true;
    return false;
}

static bool is_background_object(const struct data_object *object)
{
    return strcmp(object->kind, "global") == 0 &&
           (is_background_source(object->file) || ends(object->name, " .got") ||
            ends(object->name, " .got.plt") || begins(object->name, "ld-linux") ||
            begins(object->name, "libreuse.so"));
}

static bool is_background_line(const struct code_line *line)
{
    return is_background_source(line->file) || begins(line->module, "ld-linux") ||
           begins(line->module, "libreuse.so");
}

/* A row that takes more of the CPU time than this, for certain, is what its reader looks for. */
#define MUCH_TIME 0.05

bool row_says_nothing(struct estimate accesses, struct estimate time)
{
    return accesses.lo < accesses.value / 4 && accesses.hi > 2 * accesses.value &&
           !(time.lo > MUCH_TIME);
}

static bool says_nothing(struct model *model, const struct grouping *grouping, uint32_t group,
                         struct estimate time)
{
    return !model->exact && grouping->bursts[group] < MODEL_BURSTS_MIN &&
           row_says_nothing(share_of_accesses(model, grouping, group), time);
}

static bool shows_all(const struct model *model)
{
    return model->options->verbose || model->options->format != FORMAT_TEXT;
}

static bool fold(struct model *model, const struct grouping *grouping, uint32_t group, size_t rank,
                 bool background, struct estimate time, struct folded_rows *folded)
{
    if (shows_all(model) || rank == 0)
        return false;
    if (background) {
        folded->background++;
        return true;
    }
    if (!says_nothing(model, grouping, group, time))
        return false;
    folded->unsure++;
    return true;
}

bool fold_object(struct model *model, size_t rank, uint32_t object, struct folded_rows *folded)
{
    return fold(model, &model->by_object, object, rank,
                is_background_object(&model->objects.items[object]), (struct estimate){0}, folded);
}

bool fold_line(struct model *model, size_t rank, uint32_t line, struct estimate time,
               struct folded_rows *folded)
{
    return fold(model, &model->by_line, line, rank, is_background_line(&model->lines.items[line]),
                time, folded);
}

bool fold_structure(const struct model *model, const char *file)
{
    return !shows_all(model) && is_background_source(file);
}

/* Appends a part of the list, unless it counts nothing. */
static void add_part(char **text, size_t count, const char *what, const char *option)
{
    char *longer;

    if (count == 0)
        return;
    longer = format_string("%s%s%zu %s (%s)", *text, **text != '\0' ? ", " : "Not shown: ", count,
                           what, option);
    free(*text);
    *text = longer;
}

char *folded_text(const struct folded_rows *folded, const char *what)
{
    char *text = copy_string(""), *longer;
    char *unsure =
        format_string("%s%s with too few samples to tell", what, folded->unsure == 1 ? "" : "s");

    add_part(&text, folded->unsure, unsure, "-v");
    add_part(&text, folded->background, "of the allocator and the loader", "-v");
    add_part(&text, folded->beneath, "with fewer misses", "--top");
    free(unsure);
    longer = *text != '\0' ? format_string("%s.", text) : NULL;
    free(text);
    return longer;
}
