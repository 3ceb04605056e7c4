/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/huge_pages.h"

#include <stdio.h>
#include <string.h>

enum huge_pages huge_pages_setting(const char *path)
{
    FILE *file = fopen(path, "re");
    char text[128] = "";

    if (file == NULL)
        return HUGE_PAGES_UNKNOWN;
    if (fgets(text, sizeof text, file) == NULL)
        text[0] = '\0';
    fclose(file);
    return strstr(text, "[never]") != NULL     ? HUGE_PAGES_NEVER
           : strstr(text, "[madvise]") != NULL ? HUGE_PAGES_ON_DEMAND
           : strstr(text, "[always]") != NULL  ? HUGE_PAGES_ALWAYS
                                               : HUGE_PAGES_UNKNOWN;
}
