/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/descending.h"

#include <stdlib.h>

static int compare_valued(const void *left, const void *right)
{
    const struct valued *a = left, *b = right;

    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

void sort_descending(struct valued *valued, size_t count)
{
    if (count > 0)
        qsort(valued, count, sizeof *valued, compare_valued);
}
