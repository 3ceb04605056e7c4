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

/* Bytes of the command that text begins with; 0: it begins with something else. */
static size_t command_bytes(const char *text)
{
    static const char start[] = "reuse-run ", end[] = " PROGRAM";
    const char *last, *sentence;

    if (strncmp(text, start, strlen(start)) != 0)
        return 0;
    last = strstr(text, end);
    sentence = strstr(text, ". ");
    return last != NULL && (sentence == NULL || last < sentence)
               ? (size_t)(last - text) + strlen(end)
               : 0;
}

/* Bytes of the next piece that no line may end in: a word, a number and its unit, or a command,
 * which a reader copies whole. */
static size_t piece_bytes(const char *text)
{
    size_t bytes = command_bytes(text);

    bytes += strcspn(text + bytes, " ");
    if (strncmp(text + bytes, " %", 2) == 0)
        bytes += 1 + strcspn(text + bytes + 1, " ");
    return bytes;
}

/* Bytes that continue a UTF-8 character take no column. */
static size_t columns_of(const char *text, size_t bytes)
{
    size_t columns = 0;

    for (size_t i = 0; i < bytes; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

/* Bytes of text that fill `width` columns, in whole pieces; a longer piece has the line alone. */
static size_t bytes_that_fit(const char *text, size_t width)
{
    size_t bytes = piece_bytes(text);

    while (text[bytes] != '\0') {
        size_t blanks = strspn(text + bytes, " ");
        size_t more = bytes + blanks + piece_bytes(text + bytes + blanks);

        if (columns_of(text, more) > width)
            break;
        bytes = more;
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
