/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one list of findings: all evidence (locality, layout, sharing) through one engine, weighed by
 * CPU time, most first. What the first screen of a report shows.
 */
#ifndef REUSE_POSTPROC_FINDINGS_H
#define REUSE_POSTPROC_FINDINGS_H

#include "report/findings/access_costs.h"
#include "report/findings/contended_time.h"
#include "report/findings/finding.h"
#include "report/findings/verdict.h"
#include "report/model/model.h"
#include "report/model/sight.h"

enum { FINDING_LINES_MAX = 4, FINDING_OBJECTS_MAX = 3 };

struct finding {
    enum pattern pattern;
    struct estimate time; /* share of the CPU time: at most what the problem costs */
    struct estimate gain; /* of it, what the remedy is expected to save: modelled */
    enum finding_weight weight;
    struct verdict verdict; /* on the pattern, from the place with most time */
    double longer;          /* times the length of the run that would make it certain; 1: it is */
    /* Most time first. Where nothing separates the first from the second, `either` is set. */
    struct code_line lines[FINDING_LINES_MAX];
    struct estimate line_times[FINDING_LINES_MAX];
    size_t line_count;
    bool either;
    size_t spread; /* lines of little weight each that are taken together; 0: none */
    const char *objects[FINDING_OBJECTS_MAX]; /* names */
    const char *object_kind;                  /* of the first; NULL: not known */
    double object_bytes;                      /* of the first; 0: not known */
    bool object_part;                         /* these are what is used of it, at most */
    const char *huge_places; /* that --try asks for huge pages at, for the first; NULL: none */
    size_t object_count;
    bool reads_under_lock; /* most of its locks are reader-writer locks, taken to read */
    bool modelled;         /* from rates: the interval spans what machines differ in */
    bool apart;            /* threads hardly ran at the same time: what it costs is open */
    bool waits_known;      /* `time` is what loops wait, not what transfers take by their number */
    size_t bursts;         /* that it rests on; 0: exact */
    struct access_evidence evidence;
    struct code_line caller;    /* of lines[0], in a system library; function NULL: not so */
    struct code_line elsewhere; /* function NULL: none */
    const char *reason, *remedy, *check;
};

struct findings {
    ARRAY(struct finding) items;
    struct access_costs costs;
    struct estimate memory;   /* share of the CPU time that misses may take, all of them together */
    struct estimate in_order; /* of it, on data that is used in order */
    struct code_line in_order_at; /* most of that; function NULL: none */
    size_t silent;                /* looks at a thread that met no memory access */
    bool timed; /* shares are of CPU time as measured, else of a time that is modelled */
    /* The function in which threads were found most often when a burst began. */
    struct code_line hot;       /* function NULL: not known */
    struct code_line hot_entry; /* a library's that it called then; function NULL: none */
    bool hot_with_callees;      /* what a function of a library calls counts as well */
    struct estimate hot_time;
    struct sight sight; /* what was not seen, so that nothing can be said of it */
    double cpu_ns;      /* of all threads that are looked at; 0: not known */
};

/* Found when first asked for; lives as long as the model. */
const struct findings *findings_of(struct model *);
void findings_free(struct findings *);

/* Something measured speaks for it, also where its share of the time may be nothing: that is
 * certain, or its loops wait longer than their code and misses explain. Others come after these,
 * and are only counted on the first screen if there are such. */
bool finding_has_evidence(const struct finding *);

/* What the report tells to change: those with evidence, and the first one if a run of four times
 * the length would decide it. Any other first one is named as where to look. */
bool finding_is_advised(const struct finding *, bool first);

/* The first one of how memory is accessed: others, page faults, leave open what that costs.
 * findings->items.count: there is none. */
size_t findings_first_of_accesses(const struct findings *);

/* Their order, for qsort(): by evidence, then by the share of the time that they are likely to
 * take. */
int finding_compare(const void *left, const void *right);

/* ---- parts of the engine ---- */

/* Names the object with most accesses. accesses: by number of the object; stacks, and what stands
 * for blocks that nobody told apart, are passed over. */
void finding_name_busiest(const struct model *, const double *accesses, struct finding *);

/* What threads do to each other: false and true sharing. Appends to findings->items. */
void findings_add_sharing(struct model *, struct findings *, const struct contended_bursts *);

/* Time in the allocator, in containers that grow, at locks and in waiting for other threads.
 * Appends to findings->items. True if a container grows: misses in there are its affair. */
bool findings_add_libraries(struct model *, struct findings *);
/* Time in page faults, measured by their number. Appends to findings->items. */
void findings_add_page_faults(struct model *, struct findings *);
/* Whether a container grows there. */
bool is_growing_context(const struct calling_context *);

#endif
