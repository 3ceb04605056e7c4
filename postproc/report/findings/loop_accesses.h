/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All that a loop does with an object, where a group of its accesses is one line of source:
 * compilers give an unrolled loop many instructions, and put them under several lines or none.
 */
#ifndef REUSE_POSTPROC_LOOP_ACCESSES_H
#define REUSE_POSTPROC_LOOP_ACCESSES_H

#include "report/model/model.h"

/*
 * The group's accesses and those of its functions to its object by instructions that are mostly
 * seen in the same bursts. The group lists its members. *members: what the result lists, which the
 * caller frees.
 */
struct subset loop_accesses_of(const struct model *, struct subset group, uint32_t **members);

#endif
