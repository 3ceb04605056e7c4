/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which order of a structure's members has the parts that are used together on fewest cache lines.
 * Pure: knows neither profiles nor debug information.
 */
#ifndef REUSE_POSTPROC_STRUCT_ORDER_H
#define REUSE_POSTPROC_STRUCT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets of members are masks. */
enum { STRUCT_MEMBERS_MAX = 64 };

struct struct_member {
    uint64_t offset, size; /* bytes */
    uint64_t alignment;    /* bytes, a power of two */
    double uses;           /* accesses, in any unit */
    bool first;            /* has to stay in front: base classes, tables of functions */
    bool last;             /* has to stay at the end: an array without length */
};

/* Members that some code uses in one and the same element, and how many accesses that makes. */
struct struct_use {
    uint64_t members; /* bit i: member i */
    double weight;
};

/* Where elements begin within a line: at `phase`, plus any multiple of `grain`, all alike. */
struct struct_starts {
    uint64_t line;   /* bytes, a power of two */
    uint64_t phase;  /* of the first; below the line's size */
    uint64_t grain;  /* bytes, a power of two: the line's size where the phase is certain */
    uint64_t repeat; /* bytes from one element to the next; 0: there is one */
};

enum order_verdict {
    ORDER_BETTER,
    ORDER_GOOD,     /* no other is better by enough */
    ORDER_ALONE,    /* one member: there is no order */
    ORDER_TOO_MANY, /* members */
    ORDER_UNUSED,   /* no use is known */
};

struct struct_order {
    enum order_verdict verdict;
    uint64_t size;                        /* of the structure then; now, where none is better */
    bool padded;                          /* then: a hole at its end keeps it as long as it is */
    double lines_now, lines_then;         /* that a use of one element touches, on average */
    uint64_t offsets[STRUCT_MEMBERS_MAX]; /* of each member then */
};

/* Lines that a use of one element touches, averaged over uses and starts; 0 without a use. Of a
 * member longer than a line, one line counts. */
double struct_lines(const struct struct_member *, size_t count, const struct struct_use *,
                    size_t use_count, const struct struct_starts *);

/*
 * Tries the members in the order of their uses as the hot ones, 1 of them, 2 ... (member_order.h),
 * and takes the order that touches fewest lines, of such the smallest structure; it may keep its
 * size by a hole at the end. Members of `first`
 * and `last` keep their places; no order is longer than the present one. An order has to save a
 * twentieth of the lines, or as much of the size without touching more lines, to be proposed.
 */
struct struct_order struct_order_find(const struct struct_member *, size_t count, uint64_t size,
                                      uint64_t alignment, const struct struct_use *,
                                      size_t use_count, const struct struct_starts *);

#endif
