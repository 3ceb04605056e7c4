/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xsave and xrstor, which lazy binding puts around every first call of a function.
 *
 * The saved bytes are not modelled: they are poisoned in the store buffer, and the interpreter
 * keeps a copy of its vector state beside. A restore from the same place, still untouched, takes
 * the copy; any other restore poisons what it loads. Async-signal-safe.
 */
#ifndef REUSE_ISA_X86_SAVE_H
#define REUSE_ISA_X86_SAVE_H

#include "isa/state.h"

enum { SAVE_AREA_MAX = 63 * 64 };

/* Report their accesses, in pieces of 64 bytes, at *out. False if they must stop: the area is
 * larger than SAVE_AREA_MAX, or the mask of components is poisoned. */
bool x86_save_state(struct interpreter *, const struct micro_op *, uint64_t ip, uint64_t address,
                    struct access **out);
bool x86_restore_state(struct interpreter *, const struct micro_op *, uint64_t ip, uint64_t address,
                       struct access **out);

#endif
