/* SPDX-License-Identifier: BSD-3-Clause */
#include "sampling/watch_design.h"

double line_watch_word_probability(const struct record_line_watch *watch, uint32_t line_size,
                                   uint32_t word)
{
    uint32_t words = line_size / WATCH_WORD;
    uint32_t own = (uint32_t)(watch->address % line_size / WATCH_WORD);
    unsigned proposed = (unsigned)__builtin_popcountll(watch->proposed);
    double everywhere = words > 1 ? 1. / (words - 1) : 0;

    if (word == own)
        return 1;
    if (watch->address2 == 0)
        return 0;
    if (proposed == 0)
        return everywhere;
    return everywhere / 2 + (word < 64 && watch->proposed >> word & 1 ? .5 / proposed : 0);
}
