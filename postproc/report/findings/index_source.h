/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where indexes come from: bursts follow which instruction loaded what an address is made of
 * (profile/format_bursts.h, struct address_steps), and that instruction's own accesses tell its
 * line of source and the object that it reads.
 */
#ifndef REUSE_POSTPROC_INDEX_SOURCE_H
#define REUSE_POSTPROC_INDEX_SOURCE_H

#include <stdbool.h>

#include "report/model/model.h"

/* Numbers in the model. */
struct index_source {
    uint32_t line, object;
};

/* What each instruction of the profiles does: its line, and the object that most of its accesses
 * are to. Of a model whose lines and objects are labelled; the caller frees it. */
struct loading_code;
struct loading_code *loading_code_of(const struct model *);
void loading_code_free(struct loading_code *);

/*
 * What more than half of the traced addresses of a subset are made of, if that is read in one other
 * object than `object`, which the subset accesses: false if not, or if nothing was traced. The
 * subset has to list its members. Words on a stack are no source: a loop keeps there what it read
 * elsewhere.
 */
bool index_source_of(const struct model *, const struct loading_code *, struct subset,
                     uint32_t object, struct index_source *);

/* Whether that line writes the indexes as well: counters, which tell where the next element of a
 * bucket goes. */
bool index_source_is_written(const struct model *, struct index_source);

#endif
