/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings: problems of a program with its memory, each with the CPU time that it may cost, the
 * evidence for it and the change that cures it. Made from numbers alone (evidence), by one set of
 * rules, so that no two of them contradict each other.
 *
 * Shares of CPU time are at most what the problem costs: what a loop waits for memory, where its
 * pace was measured; else a latency is counted in full, though processors overlap some of it.
 */
#ifndef REUSE_POSTPROC_FINDING_H
#define REUSE_POSTPROC_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "estimate.h"
#include "report/findings/timed_evidence.h"

/* What is wrong, recognised by how accesses follow each other. */
enum pattern {
    PATTERN_NONE,          /* nothing that the record shows a cure for */
    PATTERN_IN_ORDER,      /* whole lines, one after the other, come back in the next pass only */
    PATTERN_PASSES,        /* the same, but another loop is what uses them next */
    PATTERN_ACROSS_LINES,  /* the inner loop goes across lines that an outer one comes back to */
    PATTERN_TOO_LARGE,     /* comes back to whole lines after more than a cache holds */
    PATTERN_CROWDED_SETS,  /* lines that a step of a power of two brings into few sets */
    PATTERN_FEW_MEMBERS,   /* the same few bytes of every structure */
    PATTERN_LINKED,        /* from node to node, each allocated by itself, or by a loaded pointer */
    PATTERN_INDEXED,       /* anywhere in an array, by numbers that another array holds */
    PATTERN_ANYWHERE,      /* anywhere in a large block */
    PATTERN_FALSE_SHARING, /* threads use different bytes of one line */
    PATTERN_TRUE_SHARING,  /* threads write the same bytes */
    PATTERN_SHARED_INDEX,  /* words that one thread writes, and others read again and again */
    PATTERN_HANDED_OVER,   /* of each line one thread makes what others use */
    PATTERN_ALLOCATOR,     /* much time in malloc() and free() */
    PATTERN_GROWTH,        /* containers move to larger blocks again and again */
    PATTERN_LOCKS,         /* much time in taking and releasing locks */
    PATTERN_WAITING,       /* threads wait for each other, or begin and end */
    PATTERN_PAGE_FAULTS,   /* the kernel hands out memory, and has it back, again and again */
    PATTERN_SMALL_CALLS,   /* much time in reads and writes of a few bytes each */
    PATTERN_COUNT
};
extern const char *const pattern_names[PATTERN_COUNT]; /* in JSON and CSV */

/* Data that moves between threads. */
bool pattern_is_sharing(enum pattern);

/* What is known of the accesses of one line of source to one object. */
struct access_evidence {
    size_t bursts;
    struct estimate time; /* share of the CPU time that its misses may take */
    double line_bytes;
    double width;        /* mean bytes of an access; 0: not known */
    double visits;       /* to lines that are not in the innermost cache, per access */
    double line_order;   /* new lines if they were four times as long, per new line: a quarter where
                            they follow each other, one where they are scattered; 0: not known */
    bool loop_in_order;  /* all that its loop does with the object goes through it in order */
    double object_bytes; /* largest block, or the variable; 0: not known */
    double blocks;       /* allocated ones; 0: not known */
    bool some_untracked; /* small blocks of the heap: there are more than these */
    double touched_bytes; /* by the run, in all; 0: not known */
    double block_bytes;   /* largest block, used or not; 0: not known */
    bool sampled_blocks;  /* of the heap, most of them not tracked one by one */
    double level_bytes;   /* the cache whose misses take most of its time */
    double fall_bytes;    /* the outermost cache that is too small for need_bytes */
    double inner_bytes;   /* the innermost cache */

    double need_bytes;      /* the cache that would hold its late reuses; 0: none was found */
    uint64_t element_bytes; /* all places seen lie apart by multiples of it; 0: too few seen */
    uint64_t element_used;  /* bytes of it that are used */
    double sharpness;       /* part of its misses that a cache of a third of need_bytes still has */
    /* Of its accesses, those that are a line or more from the instruction's access before;
       and of these, those as far as that was from the one before it. How far most of these are.
       0: none, or not known. */
    double far_steps, even_steps, stride_bytes;
    struct timed_evidence timed; /* where its lines come from */
    double crowded;              /* part of its accesses that miss for want of ways in their sets */
    double chased;               /* part of its accesses at an address that the place before held */
    bool traced;                 /* of some accesses it is known what made their addresses */
    double computed;             /* part of its accesses at an address that no loaded value made */
    bool indexed; /* its addresses are made of numbers that are read from another object */
    /* Of these, if indexed: the object and the line that reads it. The model's; NULL: not known. */
    const char *index_object, *index_line;
    bool index_counts;       /* each is increased when it was used: elements are put into buckets */
    double late_spread;      /* upper over lower quartile of the times to late reuses; 0: too few */
    size_t late_reuses;      /* seen by watches */
    double reused_elsewhere; /* part of them that happens in another loop */
    bool passed_elsewhere;   /* another loop goes through the object, too, in turn with this one */
    /* Bursts, and bursts with late reuses, of equal weight that would tell as much. */
    double independent_bursts, independent_reuses;
};

/* Bursts that it takes to recognise a pattern, each of some thousand accesses; late reuses for what
 * rests on these. How much time it takes is for the interval of the time to say. */
enum { EVIDENCE_BURSTS_MIN = 4, EVIDENCE_REUSES_MIN = 3 };
/* More of the late reuses are in another loop than this: the loops are passes over one thing. */
#define EVIDENCE_PASSES 0.6

/* Where more of the addresses than this are made of no loaded value, there are no indexes. */
#define EVIDENCE_COMPUTED 0.5

/* Data of hardly more than a cache's size fits for the most part. */
#define EVIDENCE_FITS 1.2

enum pattern pattern_of(const struct access_evidence *);

/* Bytes that accesses in no order may lead to: the block, or all blocks of its kind; 0: not known.
 */
double evidence_extent(const struct access_evidence *);

/* Whether lines come back within a pass over the object, always after about as much other data. */
bool evidence_comes_back_evenly(const struct access_evidence *);

/* Whether it is about blocks of the heap that are nodes each. */
bool evidence_is_of_nodes(const struct access_evidence *);

/* Whether the steps to its lines were seen, and few of their addresses were read at the place
 * before: pointers to blocks that lie elsewhere, in an array or a table. */
bool evidence_is_led_from_elsewhere(const struct access_evidence *);

/* Whether its misses are those of steps across lines, which are of one length. */
bool evidence_steps_evenly(const struct access_evidence *);

/* Whether most of its misses are for want of ways in a set. */
bool evidence_is_crowded(const struct access_evidence *);

/* Whether it is one of several loops that go through an object in turn, though few or no reuses
 * were watched. */
bool evidence_passes_unwatched(const struct access_evidence *);

/* Whether lines follow each other, which prefetchers see. */
bool evidence_is_in_order(const struct access_evidence *);

/*
 * The part of a problem's time that curing it saves, at least and at most, by what cures of its
 * kind do: modelled, and checked by trying it.
 */
struct estimate pattern_saving(enum pattern, const struct access_evidence *);

/* One sentence on what to change; the caller frees it. object: a name for it. */
char *pattern_remedy(enum pattern, const struct access_evidence *, const char *object,
                     const char *elsewhere);

/* Why it is believed, without a full stop; the caller frees it. */
char *pattern_reason(enum pattern, const struct access_evidence *);

/* A share of the CPU time below which a reader's time is worth more. */
#define FINDING_TIME_MIN 0.03

/* What is modelled is probable if its lower bound is within a factor of three of that: of threads
 * that fight over a line it was 0.02 to 0.24, of threads that pass a lock on every 5 ms 0.001 to
 * 0.007, of pools of threads at work apart (sort, zstd, sqlite3, python) 0.0012 at most. */
#define FINDING_MODELLED_LEAST (FINDING_TIME_MIN / 3)

/*
 * What to make of a share of time: FINDING_CLEAR: it is worth it for certain; FINDING_OPEN: the
 * interval says both, and runs of *longer times the length would decide.
 */
enum finding_weight { FINDING_NOTHING, FINDING_OPEN, FINDING_CLEAR };
enum finding_weight finding_weight(struct estimate time, double *longer);

#endif
