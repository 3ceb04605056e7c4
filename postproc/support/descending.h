/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbered things in the order of a value: the largest first, equal ones by number. */
#ifndef REUSE_POSTPROC_DESCENDING_H
#define REUSE_POSTPROC_DESCENDING_H

#include <stddef.h>
#include <stdint.h>

struct valued {
    uint32_t number;
    double value;
};

void sort_descending(struct valued *, size_t count);

#endif
