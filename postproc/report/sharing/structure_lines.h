/* SPDX-License-Identifier: BSD-3-Clause */
/* One change for all members that collide in a structure: what parts two of them may leave a third
 * on the line of either. */
#ifndef REUSE_POSTPROC_STRUCTURE_LINES_H
#define REUSE_POSTPROC_STRUCTURE_LINES_H

#include "report/sharing/false_sharing.h"

/* Fills in where lines begin, of each finding on members. instances: of each, the structure;
 * accesses: of the run. */
void structure_lines_plan(const false_sharing_list *, const struct data_type *instances,
                          double accesses);

#endif
