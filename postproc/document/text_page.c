/* SPDX-License-Identifier: BSD-3-Clause */
#include "document/text_page.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "path_name.h"
#include "support/memory.h"

size_t text_width(const char *text)
{
    size_t width = 0;

    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

size_t bytes_of_width(const char *text, size_t width)
{
    size_t bytes = 0;

    while (text[bytes] != '\0') {
        if (((unsigned char)text[bytes] & 0xc0) != 0x80 && width-- == 0)
            break;
        bytes++;
    }
    return bytes;
}

void put_safely(const char *text, size_t bytes, FILE *stream)
{
    for (size_t i = 0; i < bytes; i++)
        fputc(isspace((unsigned char)text[i])   ? ' '
              : iscntrl((unsigned char)text[i]) ? '?'
                                                : text[i],
              stream);
}

void put_spaces(size_t count, FILE *stream)
{
    while (count-- > 0)
        fputc(' ', stream);
}

void put_shortened(const char *text, size_t width, FILE *stream)
{
    size_t total = text_width(text), head, tail, start;

    if (total <= width) {
        put_safely(text, strlen(text), stream);
        return;
    }
    if (width <= 3) {
        put_safely("...", width, stream);
        return;
    }
    /* The end tells more than the start: it holds the line number or the last name. */
    head = (width - 3) / 3;
    tail = width - 3 - head;
    put_safely(text, bytes_of_width(text, head), stream);
    fputs("...", stream);
    start = bytes_of_width(text, total - tail);
    put_safely(text + start, strlen(text + start), stream);
}

/* Bytes of the function in "function (module)"; 0: the text is something else, as "stack (123)" or
 * "main (a.c:7)". */
static size_t function_before_module(const char *text)
{
    const char *open = strrchr(text, '('), *module;
    size_t length;

    if (open == NULL || open - text < 2 || open[-1] != ' ')
        return 0;
    module = open + 1;
    length = strcspn(module, " :)");
    if (module[length] != ')' || module[length + 1] != '\0' ||
        strspn(module, "0123456789") == length)
        return 0;
    return (size_t)(open - text) - 1;
}

/* "function (libname)": without the folder and what follows the name; the caller frees it. */
static char *with_brief_module(const char *text, size_t function)
{
    const char *name = path_name(text + function + strlen(" (")), *end = strstr(name, ".so");
    size_t length = end != NULL ? (size_t)(end - name) : strlen(name) - 1;

    return format_string("%.*s (%.*s)", (int)function, text, (int)length, name);
}

void put_name_shortened(const char *text, size_t width, FILE *stream)
{
    size_t function = text_width(text) > width ? function_before_module(text) : 0;
    char *brief, *alone;

    if (function == 0) {
        put_shortened(text, width, stream);
        return;
    }
    brief = with_brief_module(text, function);
    alone = format_string("%.*s", (int)function, text);
    put_shortened(text_width(brief) <= width ? brief : alone, width, stream);
    free(alone);
    free(brief);
}

/* The longest beginning of at most `bytes` bytes that ends before a separator; 0: there is none. */
static size_t end_before(const char *text, size_t bytes, const char *separator)
{
    size_t length = strlen(separator);

    while (bytes > 0 && strncmp(text + bytes, separator, length) != 0)
        bytes--;
    return bytes;
}

/* Where a text of names is cut; false: nowhere so that both sides keep something. */
static bool cut_between(const char *text, size_t head, size_t tail, const char *separator,
                        size_t *end, size_t *begin)
{
    const char *found = strstr(text + tail, separator);

    *end = end_before(text, head, separator);
    if (*end == 0 || found == NULL)
        return false;
    *begin = (size_t)(found - text);
    return true;
}

void put_words_shortened(const char *text, size_t width, FILE *stream)
{
    static const char *const separators[] = {" < ", " "};
    const size_t dots = strlen(" ...");
    size_t total = text_width(text), head, tail, end, begin;

    if (total > width && width > dots) {
        head = bytes_of_width(text, (width - dots) / 3);
        tail = bytes_of_width(text, total - (width - dots - (width - dots) / 3));
        for (size_t i = 0; i < sizeof(separators) / sizeof(*separators); i++) {
            const char *separator = separators[i];

            if (!cut_between(text, head, tail, separator, &end, &begin))
                continue;
            put_safely(text, end, stream);
            fprintf(stream, "%s...", separator);
            put_safely(text + begin, strlen(text + begin), stream);
            return;
        }
    }
    put_shortened(text, width, stream);
}

/* Bytes of the next word; a number and its unit stay together. */
static size_t word_length(const char *text)
{
    size_t length = strcspn(text, " \n");

    if (strncmp(text + length, " %", 2) == 0)
        length += 2 + strcspn(text + length + 2, " \n");
    return length;
}

void put_filled(const struct text_page *page, const char *text, size_t indent)
{
    FILE *stream = page->stream;
    size_t column = 0;

    while (*text != '\0') {
        size_t length = word_length(text), width;
        char *word = format_string("%.*s", (int)length, text);

        width = text_width(word);
        if (column > indent && column + 1 + width > PROSE) {
            fputc('\n', stream);
            column = 0;
        }
        if (column == 0) {
            put_spaces(indent, stream);
            column = indent;
        } else if (width > 0) {
            fputc(' ', stream);
            column++;
        }
        put_shortened(word, page->style.width == 0 ? SIZE_MAX : page->style.width - indent, stream);
        column += width;
        free(word);
        text += length;
        text += *text != '\0';
    }
}

void put_wrapped(const struct text_page *page, const char *text, size_t indent)
{
    put_filled(page, text, indent);
    fputc('\n', page->stream);
}

/* The 8 colours that every terminal has, whose shades are its user's choice; bold where they would
 * be faint on a light or a dark ground. */
static const char *escape_of(enum tone tone)
{
    static const char *const escapes[] = {
        [TONE_HEADING] = "1;36", [TONE_TITLE] = "1",   [TONE_CERTAIN] = "1;31",
        [TONE_LIKELY] = "1;33",  [TONE_OPEN] = "1;34", [TONE_WARM] = "33",
        [TONE_HOT] = "1;31",
    };

    return escapes[tone];
}

void tone_begin(const struct text_page *page, enum tone tone)
{
    if (page->style.colour && tone != TONE_PLAIN)
        fprintf(page->stream, "\033[%sm", escape_of(tone));
}

void tone_end(const struct text_page *page, enum tone tone)
{
    if (page->style.colour && tone != TONE_PLAIN)
        fputs("\033[0m", page->stream);
}
