/* SPDX-License-Identifier: BSD-3-Clause */
/* How long blocks would take, and what their addresses are made of: feeds the model of a processor
 * (isa/pipeline.h) and, of what that times, isa/provenance.h. Signal-safe. */
#ifndef REUSE_ISA_X86_PACE_H
#define REUSE_ISA_X86_PACE_H

#include <stdint.h>

#include "access.h"
#include "isa/pipeline.h"
#include "isa/provenance.h"
#include "isa/x86/micro_op.h"

/* The block has been executed from its first to its last instruction, has made the accesses from
 * `made` up to end, and has gone on at next. provenance: may be NULL. */
void x86_pace_block(struct pipeline *, struct provenance *, const struct block *,
                    const struct access *made, const struct access *end, uint64_t next);

#endif
