/* SPDX-License-Identifier: BSD-3-Clause */
/* What threads that fight over lines spend there, as far as samples by time can tell. */
#ifndef REUSE_POSTPROC_SHARING_COST_H
#define REUSE_POSTPROC_SHARING_COST_H

#include <stddef.h>
#include <stdint.h>

struct model;

/* A line that a thread uses. */
struct line_user_place {
    size_t profile;
    uint32_t thread_id;
    uint64_t line; /* address of its first byte, at the analysed line size */
};

/* A loop of a thread, as access rates tell loops apart. */
struct thread_loop {
    size_t profile;
    uint32_t thread_id;
    uint64_t loop;
};

struct sharing_cost {
    double cpu_ns; /* of these threads; 0: not known, as are the others */
    double loops;  /* share of it in loops that use these lines: what parting can save at most */
    /* ns per access in these loops, and in the rest of what these threads do; NAN: not known. */
    double access_ns, elsewhere_ns;
};

/* The loops in which a thread was sampled at one of its lines, sorted for bsearch(). Reorders the
 * places. Returns how many; the caller frees *loops. */
size_t thread_loops_of(const struct model *, struct line_user_place *, size_t count,
                       struct thread_loop **loops);
int thread_loops_compare(const void *, const void *);

/* Of sampled runs whose time is known; else all is 0. Reorders the places. */
struct sharing_cost sharing_cost_of(const struct model *, struct line_user_place *, size_t count);

#endif
