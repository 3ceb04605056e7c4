/* SPDX-License-Identifier: BSD-3-Clause */
/* What --summary and --mrc say of caches that several threads share. */
#include <stdlib.h>
#include <string.h>

#include "report/model/shared_caches.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"

/* "L2 and L3", or that no level is meant. */
static char *levels_text(const struct model *model, const struct shared_cache *shared)
{
    char *text = copy_string(""), *longer;

    for (size_t i = 0; i < shared->levels; i++) {
        longer = format_string("%s%sL%u", text, i > 0 ? " and " : "",
                               model->machine.caches[shared->first_level + i].level);
        free(text);
        text = longer;
    }
    return text;
}

static char *groups_text(const struct shared_cache *shared)
{
    static const char *const words[] = {
        [GROUPS_GIVEN] = "as --group says",
        [GROUPS_TOPOLOGY] = "by the CPUs that they were seen on",
        [GROUPS_BY_NUMBER] = "by the CPUs that they were seen on, taken to share by their numbers",
        [GROUPS_ONE] = "each with a core of its own",
    };

    return shared->group_count == 1
               ? format_string("Threads are all in one group, %s.", words[shared->basis])
               : format_string("Threads are in %zu groups, %s.", shared->group_count,
                               words[shared->basis]);
}

static const char *shared_basis(const struct model *model, struct document *document)
{
    return basis_text(model, document,
                      ", modelled as fully associative LRU caches, one per group of threads");
}

static const struct column miss_columns[] = {
    {.key = "level", .heading = NULL},
    {.heading = "cache\n"},
    {.key = "bytes", .heading = "size\n"},
    {.key = "miss_ratio",
     .heading = "misses\n% of accesses",
     .interval = INTERVAL_SUFFIXED,
     .heat = true},
    {.key = "cold", .heading = "cold\n%", .interval = INTERVAL_SUFFIXED},
    {.key = "capacity", .heading = "capacity\n%", .interval = INTERVAL_SUFFIXED},
    {.key = "coherence", .heading = "coherence\n%", .interval = INTERVAL_SUFFIXED},
    {.key = "crossing", .heading = "crossing\n%", .interval = INTERVAL_SUFFIXED},
    {.key = "groups"},
    {.key = "beyond"},
};

static void add_miss_row(const struct model *model, struct document *document, struct table *table,
                         const struct shared_cache *shared, size_t i)
{
    size_t level = shared->first_level + i;
    const struct miss_split *split = &shared->misses[i];
    const struct estimate parts[] = {shared->whole[model->level_size[level]].miss_ratio,
                                     split->cold, split->capacity, split->coherence,
                                     split->crossing};
    struct row *row = table_row(table);

    row->cells[0] = cell_value(CELL_NUMBER, model->machine.caches[level].level);
    row->cells[1] = cell_text(document, level_name(model, document, level));
    row->cells[2] = cell_value(CELL_BYTES, (double)model->machine.caches[level].bytes);
    for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++)
        row->cells[3 + k] =
            split->beyond ? cell_share_between(parts[k]) : cell_estimate(CELL_SHARE, parts[k]);
    if (shared->exact)
        row->cells[7] = cell_empty();
    row->cells[8] = cell_value(CELL_NUMBER, (double)shared->group_count);
    row->cells[9] = cell_truth(split->beyond);
}

void add_shared_misses(struct model *model, struct document *document, struct section *section)
{
    size_t count;
    const struct shared_cache *shared = shared_caches(model, &count);
    struct table *table;
    char *remark, *longer;

    if (count == 0 || shared[0].levels == 0)
        return;
    table = document_table(document, "shared_misses", "Misses of levels that threads share",
                           shared_basis(model, document), miss_columns,
                           sizeof(miss_columns) / sizeof(*miss_columns));
    remark = copy_string("");
    for (size_t c = 0; c < count; c++) {
        char *levels = levels_text(model, &shared[c]), *groups = groups_text(&shared[c]);

        for (size_t i = 0; i < shared[c].levels; i++)
            add_miss_row(model, document, table, &shared[c], i);
        longer = count > 1 ? format_string("%s%s: %s ", remark, levels, groups)
                           : format_string("%s ", groups);
        free(remark);
        remark = longer;
        free(groups);
        free(levels);
    }
    longer = format_string(
        "%scoherence: a thread outside the group wrote the line meanwhile%s", remark,
        shared[0].exact
            ? "."
            : "; crossing: found there because another thread of the group used the line last.");
    table_remark(document, table, longer);
    free(longer);
    free(remark);
    section_table(section, table);
}

static const struct column data_columns[] = {
    {.key = "levels"},      {.key = "groups"},
    {.key = "mrc"},         {.key = "truth.error"}, /* the rest only where it is known */
    {.key = "truth.worst"}, {.key = "truth.covered"},
};
enum { DATA_KNOWN = 3, DATA_TRUTH = 3 };

static void add_data(struct model *model, struct document *document, struct section *section,
                     const struct shared_cache *shared, size_t count)
{
    bool truth = shared[0].has_truth;
    struct table *data = document_table(document, "shared_caches", NULL, NULL, data_columns,
                                        DATA_KNOWN + (truth ? DATA_TRUTH : 0));

    for (size_t c = 0; c < count; c++) {
        struct row *row = table_row(data);
        char *levels = levels_text(model, &shared[c]);

        row->cells[0] = cell_text(document, levels);
        row->cells[1] = cell_value(CELL_NUMBER, (double)shared[c].group_count);
        row->cells[2] = cell_table(curve_table(model, document, NULL, shared[c].whole,
                                               truth ? shared[c].true_whole : NULL));
        if (truth) {
            row->cells[3] = cell_value(CELL_SHARE, shared[c].comparison.error);
            row->cells[4] = cell_value(CELL_SHARE, shared[c].comparison.worst);
            row->cells[5] = cell_value(CELL_SHARE, shared[c].comparison.covered);
        }
        free(levels);
    }
    section_table(section, data);
}

void add_shared_curves(struct model *model, struct document *document, struct section *section)
{
    size_t count;
    const struct shared_cache *shared = shared_caches(model, &count);

    for (size_t c = 0; c < count; c++) {
        const struct shared_cache *one = &shared[c];
        char *levels = levels_text(model, one), *groups = groups_text(one), *accuracy, *remark;
        char *title =
            format_string("Misses per access of a cache that threads share%s%s%s",
                          one->levels > 0 ? " (" : "", levels, one->levels > 0 ? ")" : "");
        struct curve_chart chart = {
            .title = title,
            .basis = shared_basis(model, document),
            .first_level = one->first_level,
            .levels = one->levels,
            .whole = one->whole,
            .octaves = one->octaves,
            .true_whole = one->has_truth ? one->true_whole : NULL,
            .true_octaves = one->has_truth ? one->true_octaves : NULL,
        };
        struct table *table = curve_chart(model, document, &chart);

        accuracy = one->has_truth
                       ? format_string(" truth: of counting every access of the same run; the "
                                       "estimate is off by %.2f points on average.",
                                       100 * one->comparison.error)
                       : copy_string("");
        remark = format_string("%s%s", groups, accuracy);
        table_remark(document, table, remark);
        section_table(section, table);
        free(remark);
        free(accuracy);
        free(title);
        free(groups);
        free(levels);
    }
    if (count > 0)
        add_data(model, document, section, shared, count);
}
