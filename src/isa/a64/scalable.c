/* SPDX-License-Identifier: BSD-3-Clause */
/* Scalable vectors. Signal-safe. */
#include "isa/a64/decode.h"
#include "isa/a64/execute.h"

#include "signal_safe.h"

void a64_decode_scalable(struct a64_operation *op)
{
    (void)op;
}

enum interpreter_stop a64_scalable(struct interpreter *it, const struct a64_operation *op,
                                   struct a64_step *step)
{
    (void)it;
    (void)op;
    (void)step;
    return INTERPRETER_UNKNOWN;
}
