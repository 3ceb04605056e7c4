/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/compare/arguments.h"

#include <string.h>

bool arguments_split_sides(const char **names, size_t *count, size_t *before)
{
    size_t kept = 0, colons = 0;

    *before = *count == 2 ? 1 : 0;
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(names[i], ":") == 0) {
            *before = kept;
            colons++;
        } else {
            names[kept++] = names[i];
        }
    }
    *count = kept;
    return colons <= 1 && *before > 0 && *before < kept;
}
