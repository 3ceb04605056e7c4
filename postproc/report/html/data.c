/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html/data.h"

#include <jansson.h>
#include <stdlib.h>

#include "document/document_json.h"
#include "report/html/escape.h"
#include "report/model/model.h"

/* Objects and threads beyond these have no curve in the page, which would outgrow its 2 MB. */
enum { CURVES_MAX = 60 };

/* What is drawn: everything else stands in the page's tables. The members of rows; NULL: all. */
static const struct {
    const char *key;
    const char *members[4];
} drawn[] = {
    {"mrc", {NULL}},
    {"misses", {NULL}},
    {"objects", {"name", "mrc"}},
    {"threads", {"name", "tid", "mrc"}},
    {"contexts", {"frames", "accesses", "misses"}},
};
static const char *const drawn_of_sharing[] = {"threads", "all", "true", "false",
                                               "raw",     "war", "waw"};

static json_t *row_with(const json_t *row, const char *const members[4])
{
    json_t *kept = json_object();

    for (size_t i = 0; i < 4 && members[i] != NULL; i++)
        json_object_set(kept, members[i], json_object_get(row, members[i]));
    return kept;
}

static json_t *rows_with(json_t *rows, const char *const members[4])
{
    json_t *kept = json_array();

    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = row_with(json_array_get(rows, i), members);

        if (i >= CURVES_MAX)
            json_object_del(row, "mrc");
        json_array_append_new(kept, row);
    }
    return kept;
}

static json_t *drawn_part(json_t *root)
{
    json_t *part = json_object(), *sharing = json_object();
    json_t *mapping = json_object_get(json_object_get(root, "placement"), "mapping");

    for (size_t i = 0; i < sizeof(drawn) / sizeof(*drawn); i++) {
        json_t *rows = json_object_get(root, drawn[i].key);

        if (drawn[i].members[0] == NULL)
            json_object_set(part, drawn[i].key, rows);
        else
            json_object_set_new(part, drawn[i].key, rows_with(rows, drawn[i].members));
    }
    for (size_t i = 0; i < sizeof(drawn_of_sharing) / sizeof(*drawn_of_sharing); i++)
        json_object_set(sharing, drawn_of_sharing[i],
                        json_object_get(json_object_get(root, "sharing"), drawn_of_sharing[i]));
    json_object_set_new(part, "sharing", sharing);
    if (mapping != NULL)
        json_object_set_new(part, "placement", json_pack("{s:O}", "mapping", mapping));
    return part;
}

static void put_data(const char *id, json_t *value, FILE *stream)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(10));

    fprintf(stream, "<script type=\"application/json\" id=\"%s\">", id);
    html_json(text != NULL ? text : "{}", stream);
    fputs("</script>\n", stream);
    free(text);
    json_decref(value);
}

static json_t *caches_of(const struct machine *machine)
{
    json_t *array = json_array();

    for (size_t i = 0; i < machine->levels; i++)
        json_array_append_new(array, json_pack("{s:i, s:I}", "level", machine->caches[i].level,
                                               "bytes", (json_int_t)machine->caches[i].bytes));
    return array;
}

/* The machine that the report is about, and, where that is another one, the machine of the run. */
static json_t *machines(const struct model *model)
{
    json_t *root = json_object();
    struct machine run = {0};

    if (model == NULL)
        return root;
    json_object_set_new(root, "shown", caches_of(&model->machine));
    if (model->options->machine == NULL)
        return root;
    json_object_set_new(root, "name", json_string(model->options->machine));
    if (model->profile_count > 0 && machine_of_profile(model->profiles[0], &run))
        json_object_set_new(root, "run", caches_of(&run));
    return root;
}

void html_data(const struct document *document, const struct model *model, FILE *stream)
{
    json_t *root = document_json(document);

    put_data("report", drawn_part(root), stream);
    json_decref(root);
    put_data("machines", machines(model), stream);
}
