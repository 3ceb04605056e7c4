/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that look for places share; nobody else includes it. */
#ifndef REUSE_POSTPROC_PLACES_INTERNAL_H
#define REUSE_POSTPROC_PLACES_INTERNAL_H

#include "report/findings/index_source.h"
#include "report/findings/places.h"
#include "support/descending.h"
#include "support/intern_table.h"

/* The accesses of a line to an object, or what is left of an object's accesses (lines > 0). */
struct candidate {
    uint32_t line, object;
    double accesses, width_sum, load_sum, sampled_sum, crowded_sum;
    bool growing;  /* in containers that grow */
    uint32_t pass; /* line of another loop that goes through the object in turn; GROUP_NONE: none */
    uint32_t indexes; /* candidate that may be its indexes, by its line; GROUP_NONE: none */
    size_t lines;     /* that are taken together here; 0: one that stands for itself */
    /* Once `known`: miss ratios of the levels without intervals, and line_order_of(). */
    double ratios[MACHINE_LEVELS_MAX], line_order;
    bool known;
};

/* A line of source that uses data next. Strings are shared, so their addresses identify them. */
struct line_key {
    const char *file, *function;
    uint64_t line;
};

/* What is known of it. */
struct next_line {
    uint32_t line;  /* number in the model; GROUP_NONE: none */
    uint32_t group; /* that was asked about last; GROUP_NONE: none */
    bool elsewhere; /* it is in another loop than that one */
};

struct search {
    struct model *model;
    struct loading_code *loading; /* NULL: exact */
    const struct access_costs *costs;
    bool grows; /* containers do, and what they do for it is told apart */
    struct contended_bursts *contended;
    struct grouping all, late;
    ARRAY(struct candidate) candidates;
    double sizes[MACHINE_LEVELS_MAX]; /* of the levels */
    struct intern_table *line_keys;   /* numbers of next_lines */
    ARRAY(struct next_line) next_lines;
};

/* Labels every observation with its line and object taken together. */
void places_group(struct search *);

/*
 * Takes the candidates that are not marked together, object by object: what each line of source
 * does of little weight may be much in all. Their groups come after the others, which lose their
 * observations.
 */
void places_merge_rest(struct search *, const bool *marked);

void places_free_groups(struct search *);

/* places.c: whether accesses are taken for going through memory in order. line_order: of
 * line_order_of(); width: bytes of an access, on average; visits: of lines, per access. */
bool places_look_in_order(const struct search *, double line_order, double width, double visits);

/* Whether the group's are, all of it. */
bool places_is_in_order(struct search *, uint32_t group);

/* places_passes.c: of other loops that go through the group's object in order, in turn with the
 * group's, the line with most accesses; GROUP_NONE: none. */
uint32_t places_find_pass(struct search *, uint32_t group);

/* places_reuses.c: whether a line of source is in another loop than the group. */
bool places_is_in_other_loop(const struct search *, uint32_t group, uint32_t line);

/*
 * places_reuses.c. Whether a line of source that uses the group's data next is in another loop than
 * the group. The answer is kept until another group is asked about.
 */
bool places_is_elsewhere(struct search *, uint32_t group, const struct code_line *use);
/* Where late reuses of the group's data happen; sets late_reuses, late_spread, reused_elsewhere and
 * reused_at. Sampled profiles only. */
void places_find_reuses(struct search *, uint32_t group, struct access_place *);

/*
 * places_time.c. Sets places->time, and of each place the time that it may take, the bursts that
 * tell so, and the verdict. chosen: the groups of the places, in their order; parts: theirs, with
 * cost_ns, and one more for all other accesses, which is set; curves: MODEL_SIZES_MAX points of
 * each place.
 */
void places_find_shares(struct search *, const struct valued *chosen, struct time_part *parts,
                        const struct curve_point *curves, struct access_places *);

#endif
