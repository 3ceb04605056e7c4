/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* strcasestr, memrchr, strchrnul */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "support/memory.h"
#include "symbols/assignment_languages.h"
#include "symbols/statement.h"

/* allocate(a(n)) and allocate(x%field(n)): one object, or nothing is certain. */
void assignment_find_fortran(const struct source_text *source, uint32_t line,
                             struct assignment *out)
{
    const char *text = source->code + source->lines[line - 1], *end = strchrnul(text, '\n');
    const char *start = strcasestr(text, "allocate"), *name, *last, *percent;
    int depth = 0;

    if (start == NULL || start >= end || (start > text && statement_is_word_char(start[-1])))
        return;
    name = start + strlen("allocate");
    name += strspn(name, " \t");
    if (*name++ != '(')
        return;
    name += strspn(name, " \t");
    last = name;
    while (statement_is_word_char(*last) || *last == '%')
        last++;
    if (last == name)
        return;
    for (const char *c = last; c < end && depth >= 0; c++) {
        depth += (*c == '(') - (*c == ')');
        /* A comma at this depth starts a second object, unless an option (stat=) follows. */
        if (depth == 0 && *c == ',') {
            const char *next = c + 1 + strspn(c + 1, " \t");

            if (strncasecmp(next, "stat", 4) != 0 && strncasecmp(next, "source", 6) != 0 &&
                strncasecmp(next, "mold", 4) != 0 && strncasecmp(next, "errmsg", 6) != 0)
                return;
        }
    }
    out->name = format_string("%.*s", (int)(last - name), name);
    percent = memrchr(name, '%', (size_t)(last - name));
    if (percent != NULL)
        name = percent + 1;
    out->declared = format_string("%.*s", (int)(last - name), name);
    for (char *c = out->declared; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    out->member = strchr(out->name, '%') != NULL;
    out->kind = ASSIGNMENT_NAMED;
}
