/* SPDX-License-Identifier: BSD-3-Clause */
/* By which calls `reuse-run --try` recognises the blocks of a heap object. */
#ifndef REUSE_POSTPROC_TRY_PLACES_H
#define REUSE_POSTPROC_TRY_PLACES_H

#include "report/model/model.h"

/*
 * MODULE+0xADDRESS of the call of malloc or operator new that a site's frames begin with; `named`
 * is the frame that the object is named by. NULL where a function of the program hands the blocks
 * out, others with them, or where they come from another allocator (enum allocator). The model's.
 */
const char *try_place(struct model *, uint8_t allocator, const struct context_frame *frames,
                      size_t count, size_t named);

/* One more place of the object, unless it has it, or as many as fit into a command. Calls of one
 * name, as in an unrolled loop, are one object. NULL is none. */
void try_places_add(struct model *, struct data_object *, const char *place);

/* "align:PLACE=64,align:PLACE=64" of "PLACE,PLACE", "align:" and "=64". NULL is empty. The caller
 * frees it. */
char *try_changes(const char *places, const char *verb, const char *value);

#endif
