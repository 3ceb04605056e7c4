/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/paragraph.h"

#include <stdlib.h>
#include <string.h>

#include "support/memory.h"

static void add_line(struct paragraph *paragraph, size_t indent, const char *text, size_t bytes,
                     enum tone tone)
{
    char *longer = format_string("%s%*s%.*s\n", paragraph->text != NULL ? paragraph->text : "",
                                 (int)indent, "", (int)bytes, text);

    free(paragraph->text);
    paragraph->text = longer;
    paragraph->lines++;
    ARRAY_PUSH(&paragraph->tones, tone);
}

/* Bytes of text that fill `width` columns, up to a blank; of a word that is longer, all that fit.
 * Bytes that continue a UTF-8 character take no column. */
static size_t bytes_that_fit(const char *text, size_t width)
{
    size_t bytes = 0, blank = 0, columns = 0;

    for (; text[bytes] != '\0'; bytes++) {
        if (((unsigned char)text[bytes] & 0xc0) != 0x80 && ++columns > width)
            return blank > 0 ? blank : bytes;
        if (text[bytes] == ' ')
            blank = bytes;
    }
    return bytes;
}

void paragraph_add(struct paragraph *paragraph, size_t first, size_t rest, const char *text)
{
    paragraph_add_toned(paragraph, first, rest, text, TONE_PLAIN);
}

void paragraph_add_toned(struct paragraph *paragraph, size_t first, size_t rest, const char *text,
                         enum tone tone)
{
    size_t indent = first;

    while (*text != '\0') {
        size_t bytes = bytes_that_fit(text, PARAGRAPH_WIDTH - indent);

        add_line(paragraph, indent, text, bytes, tone);
        text += bytes;
        text += strspn(text, " ");
        indent = rest;
    }
}

void paragraph_append(struct paragraph *paragraph, const struct paragraph *more)
{
    char *longer;

    if (more->text == NULL)
        return;
    longer = format_string("%s%s", paragraph->text != NULL ? paragraph->text : "", more->text);
    free(paragraph->text);
    paragraph->text = longer;
    paragraph->lines += more->lines;
    for (size_t i = 0; i < more->tones.count; i++)
        ARRAY_PUSH(&paragraph->tones, more->tones.items[i]);
}

void paragraph_free(struct paragraph *paragraph)
{
    free(paragraph->text);
    free(paragraph->tones.items);
    *paragraph = (struct paragraph){.text = NULL};
}
