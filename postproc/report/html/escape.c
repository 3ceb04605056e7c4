/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html/escape.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* U+202A to U+202E and U+2066 to U+2069: they make a line of code look like another one. */
static bool turns_direction(const unsigned char *c, size_t left)
{
    return left >= 3 && c[0] == 0xe2 &&
           ((c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
            (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9));
}

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return ((unsigned char)c < ' ' && c != '\t' && c != '\n') || c == 0x7f ? "\xef\xbf\xbd"
                                                                               : NULL;
    }
}

void html_text_part(const char *text, size_t bytes, FILE *stream)
{
    size_t plain = 0; /* where what can be written as it stands begins */

    for (size_t i = 0; i < bytes; i++) {
        bool turns = turns_direction((const unsigned char *)text + i, bytes - i);
        const char *entity = turns ? "\xef\xbf\xbd" : entity_of(text[i]);

        if (entity == NULL)
            continue;
        fwrite(text + plain, 1, i - plain, stream);
        fputs(entity, stream);
        i += turns ? 2 : 0;
        plain = i + 1;
    }
    fwrite(text + plain, 1, bytes - plain, stream);
}

void html_text(const char *text, FILE *stream)
{
    html_text_part(text, strlen(text), stream);
}

void html_json(const char *json, FILE *stream)
{
    for (;;) {
        size_t plain = strcspn(json, "<>&");

        fwrite(json, 1, plain, stream);
        json += plain;
        if (*json == '\0')
            return;
        fprintf(stream, "\\u%04x", (unsigned)*json++);
    }
}

void html_script(const char *script, FILE *stream)
{
    for (const char *found; (found = strchr(script, '<')) != NULL; script = found + 1) {
        fwrite(script, 1, (size_t)(found + 1 - script), stream);
        /* A backslash before either means nothing in a string or a pattern. */
        if (strncasecmp(found, "</script", 8) == 0 || strncmp(found, "<!--", 4) == 0)
            fputc('\\', stream);
    }
    fputs(script, stream);
}
