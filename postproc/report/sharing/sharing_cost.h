/* SPDX-License-Identifier: BSD-3-Clause */
/* What threads that fight over lines spend there, as far as samples by time can tell. */
#ifndef REUSE_POSTPROC_SHARING_COST_H
#define REUSE_POSTPROC_SHARING_COST_H

#include "report/sharing/thread_loops.h"

struct sharing_cost {
    double cpu_ns; /* of these threads; 0: not known, as are the others */
    double loops;  /* share of it in loops that use these lines: what parting can save at most */
    /* ns per access in these loops, and in the rest of what these threads do; NAN: not known. */
    double access_ns, elsewhere_ns;
};

/* Of sampled runs whose time is known; else all is 0. Reorders the places. */
struct sharing_cost sharing_cost_of(const struct model *, struct line_user_place *, size_t count);

#endif
