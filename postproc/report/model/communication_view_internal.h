/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the communication view share; nobody else includes it. */
#ifndef REUSE_POSTPROC_COMMUNICATION_VIEW_INTERNAL_H
#define REUSE_POSTPROC_COMMUNICATION_VIEW_INTERNAL_H

#include "report/model/communication_view.h"

/* One label for each flow, all zero. */
uint32_t *flow_labels(const struct communication_view *);

/* Fills the lists of parties, and the labels that say from whom to whom. */
void communication_view_label_parties(struct model *, struct communication_view *);

#endif
