/* SPDX-License-Identifier: BSD-3-Clause */
/* What each micro-operation reads and writes, by its code: micro_op.h has what the bits mean. */
#ifndef REUSE_ISA_X86_TRAITS_H
#define REUSE_ISA_X86_TRAITS_H

#include "isa/x86/micro_op.h"

static const uint8_t traits[OP_COUNT] = {
#define TRAITS(name, value) [OP_##name] = (uint8_t)(value),
    MICRO_OPS(TRAITS)
#undef TRAITS
};

#endif
