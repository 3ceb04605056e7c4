/* SPDX-License-Identifier: BSD-3-Clause */
/* Which data object each observation belongs to, and what the objects are called. */
#ifndef REUSE_POSTPROC_OBJECT_LABELS_H
#define REUSE_POSTPROC_OBJECT_LABELS_H

#include "report/model.h"

/* Fills model->objects and the labels of model->by_object, which the caller allocated. */
void object_labels_assign(struct model *);

#endif
