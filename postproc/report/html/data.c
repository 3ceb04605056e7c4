/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html/data.h"

#include <jansson.h>
#include <stdlib.h>

#include "report/document_json.h"
#include "report/html/escape.h"
#include "report/model.h"

/* Objects and threads beyond these have no curve in the page, which would outgrow its 2 MB; rows of
 * pairs and the like beyond these are not drawn. */
enum { CURVES_MAX = 60, ROWS_DRAWN = 2000 };

static void drop_curves(json_t *rows)
{
    for (size_t i = CURVES_MAX; i < json_array_size(rows); i++)
        json_object_del(json_array_get(rows, i), "mrc");
}

static void shorten(json_t *value)
{
    const char *key;
    json_t *inner;

    while (json_is_array(value) && json_array_size(value) > ROWS_DRAWN)
        json_array_remove(value, json_array_size(value) - 1);
    json_object_foreach(value, key, inner) shorten(inner);
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

    drop_curves(json_object_get(root, "objects"));
    drop_curves(json_object_get(root, "threads"));
    shorten(root);
    put_data("report", root, stream);
    put_data("machines", machines(model), stream);
}
