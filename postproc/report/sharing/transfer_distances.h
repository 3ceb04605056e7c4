/* SPDX-License-Identifier: BSD-3-Clause */
/* What transfers had to cross: how many stayed in a core, a cache, a NUMA domain. */
#ifndef REUSE_POSTPROC_SHARING_TRANSFER_DISTANCES_H
#define REUSE_POSTPROC_SHARING_TRANSFER_DISTANCES_H

#include "document/document.h"
#include "report/model/communication_view.h"

/*
 * Adds a table, by the CPUs that the two accesses ran on; on a machine that one does not have, by
 * its cores, one to a thread. Nothing where no CPUs were recorded; a sentence instead where the
 * topology is not known. Code must have been labelled.
 */
void add_transfer_distances(struct model *, struct communication_view *, struct document *,
                            struct section *);

#endif
