/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which members, elements or variables that no two threads have in common lie on one line. A
 * finding is a pair of them, all elements of an array and all instances of a structure taken
 * together.
 */
#ifndef REUSE_POSTPROC_FALSE_SHARING_H
#define REUSE_POSTPROC_FALSE_SHARING_H

#include "report/model/communication_view.h"
#include "report/model/flow_totals.h"
#include "report/sharing/sharing_cost.h"

enum collision {
    COLLISION_MEMBERS,  /* two members of one structure */
    COLLISION_ELEMENTS, /* elements of an array */
    COLLISION_OBJECTS,  /* two objects that lie side by side */
    COLLISION_BYTES,    /* places of one object whose type is not known */
};

/* One of the two that collide, as the flow with most transfers has it. */
struct collision_side {
    uint32_t object;       /* number in the view's objects */
    uint32_t thread;       /* number in the view's threads; GROUP_NONE unknown */
    const char *path;      /* "counters[3].left": the object's name and the place in it */
    const char *member;    /* ".left", without indexes; "" none */
    uint64_t offset, size; /* bytes, within the object; size 0 unknown */
    uint64_t
        instance_offset; /* of the structure or array element that both sides are compared in */
};

/* A member at which a cache line has to begin. */
struct line_begin {
    uint64_t offset;     /* bytes, in the structure */
    const char *member;  /* ".left", without indexes */
    const char *between; /* a member before it at which no thread was seen; NULL: none */
};

enum { FALSE_SHARING_BEGINS_MAX = 8 };

struct false_sharing {
    enum collision collision;
    struct collision_side sides[2];
    const char *type;   /* of the structure or the elements; NULL: it has no name */
    uint64_t type_size; /* bytes; 0 unknown */
    /* Of members: where lines have to begin to part all that collide in the structure, ascending;
     * more than FALSE_SHARING_BEGINS_MAX are only counted. */
    struct line_begin begins[FALSE_SHARING_BEGINS_MAX];
    size_t begin_count;
    bool parts;            /* elements: threads have parts of the array, which meet on few lines */
    size_t threads, lines; /* that take part; lines in the profile, of a sampled one not all */
    struct flow_totals transfers; /* false ones only */
    double modelled; /* of them, those that follow from rates, as threads fight over the line */
    struct sharing_cost cost; /* of what is modelled; else not known */
};

typedef ARRAY(struct false_sharing) false_sharing_list;

/*
 * Most transfers first. Strings live as long as the model. Transfers in the threading runtime are
 * not looked at, unless they are to be included everywhere.
 */
false_sharing_list false_sharing_find(struct model *, struct communication_view *);

/* Whether most of it is modelled: threads use the line at the same time, in no order. */
bool false_sharing_is_modelled(const struct false_sharing *);

/* False transfers per access below which nothing is gained by parting anything: see worth_of(). */
extern const double false_sharing_threshold;

enum parting_worth {
    PARTING_WORTHLESS,
    PARTING_UNCERTAIN, /* the interval says both */
    PARTING_WORTHY,
};

/*
 * Where the cost is known, the transfers are compared with the CPU time of the threads. Else: a
 * transfer takes about as long as a hundred accesses that hit (some 50 to 100 ns against 1 ns or
 * less): below one in 10 000 accesses they make no more than one percent of the time. Lines that
 * were handed over a few times, as when one thread prepares what another uses, are no reason to
 * part anything either.
 */
enum parting_worth worth_of(const struct false_sharing *, double accesses);

#endif
