/* SPDX-License-Identifier: BSD-3-Clause */
/* A document as a JSON value; keys as in reuse-report(1). */
#ifndef REUSE_POSTPROC_DOCUMENT_JSON_H
#define REUSE_POSTPROC_DOCUMENT_JSON_H

#include <jansson.h>

#include "document/document.h"

/* The caller drops the reference. */
json_t *document_json(const struct document *);

#endif
