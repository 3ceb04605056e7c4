/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sharing/member_lines.h"

#include <stdlib.h>

static int compare_seconds(const void *a, const void *b)
{
    const struct member_pair *x = a, *y = b;

    return (x->second > y->second) - (x->second < y->second);
}

size_t member_lines_begin(struct member_pair *pairs, size_t count, uint64_t *begins)
{
    size_t found = 0;

    if (count > 0)
        qsort(pairs, count, sizeof(*pairs), compare_seconds);
    for (size_t i = 0; i < count; i++)
        if (found == 0 || begins[found - 1] <= pairs[i].first)
            begins[found++] = pairs[i].second;
    return found;
}

uint64_t member_lines_size(const uint64_t *begins, size_t count, uint64_t size, uint32_t line_size)
{
    uint64_t bytes = 0, start = 0;

    for (size_t i = 0; i <= count; i++) {
        uint64_t end = i < count ? begins[i] : size;

        bytes += (end - start + line_size - 1) / line_size * line_size;
        start = end;
    }
    return bytes;
}
