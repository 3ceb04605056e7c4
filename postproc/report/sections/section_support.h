/* SPDX-License-Identifier: BSD-3-Clause */
/* What several sections show in the same way. */
#ifndef REUSE_POSTPROC_SECTION_SUPPORT_H
#define REUSE_POSTPROC_SECTION_SUPPORT_H

#include "document/document.h"
#include "report/model/model.h"

/* "L2" or, on an assumed machine, its size. Lives as long as the document. */
const char *level_name(const struct model *, struct document *, size_t level);

/* "Estimated from 1234 bursts; intervals at 95 %." or "Exact: every access was counted.";
 * where a part of the lines was followed, it says which. */
const char *basis_text(const struct model *, struct document *, const char *what);

/* The same of a part of them, or of those that tell another line size. */
const char *basis_of_bursts(const struct model *, struct document *, size_t bursts,
                            const char *what);

enum level_columns {
    LEVELS_MISS_RATIO,      /* misses of the group per access of the group */
    LEVELS_SHARE_OF_MISSES, /* part of all misses of the level */
};

/*
 * Columns of a table: the fixed ones before, one per level, the fixed ones after. JSON has the
 * levels in a table of their own, key "misses", which the last column holds; *levels is the number
 * of the first level's column.
 */
const struct column *columns_with_levels(const struct model *, struct document *,
                                         const struct column *before, size_t before_count,
                                         enum level_columns, const struct column *after,
                                         size_t after_count, size_t *levels, size_t *count);

/* Fills the cells of the levels and of the last column. */
void fill_levels(const struct model *, struct document *, struct table *, struct row *,
                 size_t levels, enum level_columns, const struct ranked_group *);

/* A sentence on lines of another size than those that were recorded; NULL: there is none to make.
 */
const char *line_size_text(const struct model *, struct document *);

/* The same of transfers between threads. */
const char *sharing_line_size_text(const struct model *, struct document *);

/* Bursts in which a group occurs, marked where they are too few for an interval. */
struct cell bursts_cell(const struct model *, const struct grouping *, uint32_t group);

/* Sets the table's remark (NULL: none), and what the marks in that column mean if there are any. */
void remark_few_bursts(struct document *, struct table *, size_t column, const char *remark);

/* The group's part of all accesses that are looked at. */
struct estimate share_of_accesses(const struct model *, const struct grouping *, uint32_t group);

/* The curve of a group as a table [{bytes, miss_ratio, lo, hi}]. */
struct table *curve_table(const struct model *, struct document *, const char *key,
                          const struct curve_point *points, const struct curve_point *truth);

/* A curve as it is shown to people: a row per size, with a bar (section_mrc.c). */
struct curve_chart {
    const char *title, *basis;
    size_t first_level, levels; /* of the machine, to be marked */
    const struct curve_point *whole, *octaves;
    const struct curve_point *true_whole, *true_octaves; /* NULL: not known */
};
struct table *curve_chart(const struct model *, struct document *, const struct curve_chart *);

/* inner < caller (file:line) < ... < main (file:line); the caller frees it. */
char *context_text(struct model *, const struct calling_context *);

/* A size in bytes, or that it lies beyond. */
struct cell distance_cell(const struct model *, const struct curve_point *points, size_t from);

#endif
