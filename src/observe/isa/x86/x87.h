/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * x87: run in stubs, with the target's x87 state loaded into the processor from its first use in
 * a run to the run's end. Nothing else in the interpreter touches x87 registers. Either all of the
 * x87 state is known or none. Async-signal-safe.
 */
#ifndef REUSE_ISA_X86_X87_H
#define REUSE_ISA_X86_X87_H

#include "isa/state.h"

/* Takes the state from the first 160 bytes of an FXSAVE area; NULL: unknown. */
void x87_begin(struct interpreter *, const uint8_t *area, bool in_initial_state);

/* The micro-operations of these names. */
void x87_stub(struct interpreter *, const struct micro_op *);
void x87_load_control(struct interpreter *, const struct micro_op *);
void x87_store_control(struct interpreter *, const struct micro_op *);

/* Ends a run: the state goes back to the interpreter, the processor's is the initial one. */
void x87_leave(struct interpreter *);

#endif
