/* SPDX-License-Identifier: BSD-3-Clause */
/* See layout.h. */
#include "simulate/layout.h"

bool layout_pass(enum simulated_layout layout, const struct access *made, uint64_t time_ns,
                 struct access *told)
{
    (void)layout;
    (void)time_ns;
    *told = *made;
    return true;
}
