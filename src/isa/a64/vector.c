/* SPDX-License-Identifier: BSD-3-Clause */
/* Data processing in vector registers, as far as it is known. Signal-safe. */
#include "isa/a64/decode.h"
#include "isa/a64/execute.h"

#include "signal_safe.h"

bool a64_vector_is_modelled(uint32_t word)
{
    (void)word;
    return false;
}

enum interpreter_stop a64_vector(struct interpreter *it, const struct a64_operation *op,
                                 struct a64_step *step)
{
    (void)it;
    (void)op;
    (void)step;
    return INTERPRETER_UNKNOWN;
}
