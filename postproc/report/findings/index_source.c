/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/index_source.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/address_steps.h"

/* Part of the traced addresses that tells what a place does. */
static const double explains = 0.5;

/* Instructions of two profiles may have one address. */
struct instruction_key {
    uint64_t profile, ip;
};

/* Accesses of an instruction to an object, or addresses that are made of what they read. */
struct weighed_source {
    struct index_source source;
    double weight;
};
typedef ARRAY(struct weighed_source) weighed_source_list;

struct loading_code {
    struct intern_table *instructions;
    weighed_source_list heaviest; /* by instruction */
};

static void add_weight(weighed_source_list *list, struct index_source source, double weight)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].source.line == source.line &&
            list->items[i].source.object == source.object) {
            list->items[i].weight += weight;
            return;
        }
    ARRAY_PUSH(list, ((struct weighed_source){source, weight}));
}

/* What an instruction does with an object, each once, and which instruction it was of: weights are
 * added up by pairs before the heaviest of each instruction is known. */
struct use_key {
    uint32_t instruction;
    struct index_source source;
};

struct loading_code *loading_code_of(const struct model *model)
{
    struct loading_code *code = allocate_zeroed(1, sizeof(*code));
    struct intern_table *uses = intern_table_create();
    ARRAY(double) weights = {0};

    code->instructions = intern_table_create();
    for (size_t i = 0; i < model->observations; i++) {
        size_t profile;
        const struct analysed_probe *probe = analysis_probe(model->analysis, i, &profile);
        struct instruction_key key = {profile, probe->ip};
        struct use_key use = {.source = {model->by_line.labels[i], model->by_object.labels[i]}};
        struct weighed_source *heaviest;
        uint32_t number;

        if (use.source.line == GROUP_NONE || use.source.object == GROUP_NONE)
            continue;
        use.instruction = intern_table_insert(code->instructions, &key, sizeof(key));
        if (use.instruction == code->heaviest.count)
            ARRAY_PUSH(&code->heaviest, ((struct weighed_source){use.source, 0}));
        number = intern_table_insert(uses, &use, sizeof(use));
        if (number == weights.count)
            ARRAY_PUSH(&weights, 0);
        weights.items[number] += analysis_probe_weight(model->analysis, i);
        heaviest = &code->heaviest.items[use.instruction];
        if (weights.items[number] > heaviest->weight)
            *heaviest = (struct weighed_source){use.source, weights.items[number]};
    }
    free(weights.items);
    intern_table_free(uses);
    return code;
}

void loading_code_free(struct loading_code *code)
{
    if (code == NULL)
        return;
    intern_table_free(code->instructions);
    free(code->heaviest.items);
    free(code);
}

static const struct index_source *source_of(const struct loading_code *code, size_t profile,
                                            uint64_t ip)
{
    struct instruction_key key = {profile, ip};
    uint32_t number = intern_table_find(code->instructions, &key, sizeof(key));

    return number != INTERN_TABLE_NONE ? &code->heaviest.items[number].source : NULL;
}

/* No array of indexes: variables on a stack, and one that is no larger than a line, such as the
 * state of a generator of random numbers. */
static bool is_variable(const struct model *model, uint32_t object)
{
    const struct data_object *data = &model->objects.items[object];

    return strcmp(data->kind, "stack") == 0 ||
           (data->size > 0 && data->size <= analysis_line_size(model->analysis) &&
            data->blocks <= 1);
}

/* Part of the accesses of a line of source to an object that store. */
static const double read_and_increased = 0.25;

bool index_source_is_written(const struct model *model, struct index_source source)
{
    double all = 0, stores = 0;

    for (size_t i = 0; i < model->observations; i++) {
        double weight;

        if (model->by_line.labels[i] != source.line || model->by_object.labels[i] != source.object)
            continue;
        weight = analysis_probe_weight(model->analysis, i);
        all += weight;
        stores += analysis_probe(model->analysis, i, NULL)->kind == ACCESS_STORE ? weight : 0;
    }
    return stores > read_and_increased * all;
}

/* The heaviest source; of its object's lines that with most weight. part: of `all`, its object's.
 */
static struct index_source heaviest_of(const weighed_source_list *sources, double all, double *part)
{
    struct index_source best = {GROUP_NONE, GROUP_NONE};

    *part = 0;
    for (size_t i = 0; i < sources->count; i++) {
        uint32_t object = sources->items[i].source.object;
        double weight = 0, most = 0;

        for (size_t k = 0; k < sources->count; k++)
            if (sources->items[k].source.object == object)
                weight += sources->items[k].weight;
        if (!(weight > *part * all))
            continue;
        *part = weight / all;
        for (size_t k = 0; k < sources->count; k++)
            if (sources->items[k].source.object == object && sources->items[k].weight > most) {
                most = sources->items[k].weight;
                best = sources->items[k].source;
            }
    }
    return best;
}

bool index_source_of(const struct model *model, const struct loading_code *code,
                     struct subset subset, uint32_t object, struct index_source *source)
{
    weighed_source_list sources = {0};
    double all = 0, part;

    for (size_t k = 0; k < subset.member_count; k++) {
        const struct address_steps *steps = address_steps_of(model, subset.members[k]);
        const struct index_source *loaded;
        double weight;
        size_t profile;

        if (steps == NULL || steps->traced == 0)
            continue;
        weight = analysis_probe_weight(model->analysis, subset.members[k]);
        all += weight;
        analysis_probe(model->analysis, subset.members[k], &profile);
        loaded = steps->loaded > 0 ? source_of(code, profile, steps->loaded_by) : NULL;
        if (loaded != NULL)
            add_weight(&sources, *loaded, weight * steps->loaded / steps->traced);
    }
    *source = heaviest_of(&sources, all, &part);
    free(sources.items);
    return part >= explains && source->object != object && !is_variable(model, source->object);
}
