/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * allocate(a(n), p%x(n), stat=ierr): each item is an array of its own. Compilers allocate them in
 * the order of the text, and give the code of all of them one place: gfortran the last line of the
 * statement. So an item is found by the number of its call among those of the statement.
 */
#define _GNU_SOURCE /* strchrnul */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "support/memory.h"
#include "symbols/assignment_languages.h"
#include "symbols/statement.h"

/* A line without its comment. */
struct code_line {
    const char *from, *to; /* to: behind the last character that is no blank */
};

enum { FIXED_MARK = 5, FIXED_CODE = 6 }; /* columns of the old form, from 0 on */

static bool is_comment_line(const struct source_text *source, const char *text)
{
    return source->fixed_form && *text != '\0' && strchr("cC*dD!", *text) != NULL;
}

static struct code_line code_of(const struct source_text *source, size_t line)
{
    const char *text = source->code + source->lines[line - 1], *end = strchrnul(text, '\n');
    const char *to = text;
    char quote = '\0';

    if (is_comment_line(source, text))
        return (struct code_line){text, text};
    for (const char *c = text; c < end && (quote != '\0' || *c != '!'); c++) {
        if (quote != '\0')
            quote = *c == quote ? '\0' : quote;
        else if (*c == '\'' || *c == '"')
            quote = *c;
        if (!isspace((unsigned char)*c))
            to = c + 1;
    }
    return (struct code_line){text, to};
}

static bool is_empty(const struct code_line *code)
{
    return code->to == code->from;
}

/* The next line with code, upwards or downwards; 0: there is none. */
static size_t neighbour(const struct source_text *source, size_t line, bool downwards)
{
    while (downwards ? line < source->line_count : line > 1) {
        struct code_line code;

        line = downwards ? line + 1 : line - 1;
        code = code_of(source, line);
        if (!is_empty(&code))
            return line;
    }
    return 0;
}

/* Whether the lower of two lines, with no code between them, continues the upper one. */
static bool is_continued(const struct source_text *source, size_t upper, size_t lower)
{
    struct code_line above, below;

    if (upper == 0 || lower == 0)
        return false;
    above = code_of(source, upper);
    below = code_of(source, lower);
    if (!source->fixed_form)
        return !is_empty(&above) && above.to[-1] == '&';
    return below.to - below.from > FIXED_MARK && strspn(below.from, " ") >= FIXED_MARK &&
           below.from[FIXED_MARK] != ' ' && below.from[FIXED_MARK] != '0';
}

/* Continued lines as one, without comments and blanks, and with literals crossed out. */
struct joined_lines {
    ARRAY(char) text; /* ends with a zero */
    size_t position;  /* in text, of the line and column asked for */
};

/* columns: how many of the line lie before the position asked for. */
static void join_line(const struct source_text *source, size_t line, size_t columns,
                      struct joined_lines *out)
{
    struct code_line code = code_of(source, line);
    const char *from = code.from, *to = code.to, crossed_out = '"';
    char quote = '\0';

    if (source->fixed_form)
        from = to - from > FIXED_CODE ? from + FIXED_CODE : to;
    else if (!is_empty(&code) && to[-1] == '&')
        to--;
    for (const char *c = from; c < to; c++) {
        if ((size_t)(c - code.from) <= columns)
            out->position = out->text.count;
        if (quote != '\0') {
            quote = *c == quote ? '\0' : quote;
            ARRAY_PUSH(&out->text, crossed_out);
        } else if (*c == '\'' || *c == '"') {
            quote = *c;
            ARRAY_PUSH(&out->text, crossed_out);
        } else if (!isspace((unsigned char)*c) && *c != '&') {
            ARRAY_PUSH(&out->text, *c);
        }
    }
}

static void join_lines(const struct source_text *source, size_t line, uint32_t column,
                       struct joined_lines *out)
{
    const char end = '\0';
    size_t first = line, last = line, other;

    while (is_continued(source, other = neighbour(source, first, false), first))
        first = other;
    while (is_continued(source, last, other = neighbour(source, last, true)))
        last = other;
    for (size_t i = first; i <= last; i++) {
        size_t position = out->position;

        join_line(source, i, column > 0 ? column - 1 : 0, out);
        if (i != line)
            out->position = position;
    }
    ARRAY_PUSH(&out->text, end);
}

struct item {
    const char *from, *to;
};

typedef ARRAY(struct item) items;

/* stat=, source= and their like. */
static bool is_option(const struct item *item)
{
    int depth = 0;

    for (const char *c = item->from; c < item->to; c++) {
        depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
        if (depth == 0 && *c == '=')
            return true;
    }
    return false;
}

/* The objects between the brackets that open at text; none if they do not close. */
static void split_items(const char *text, const char *end, items *out)
{
    struct item item = {text + 1, NULL};
    size_t before = out->count;
    int depth = 0;

    for (const char *c = text; c < end; c++) {
        depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
        /* real(8) :: a(n): the type is given. */
        if (depth == 1 && end - c > 2 && c[0] == ':' && c[1] == ':')
            item.from = c + 2;
        if (depth > 1 || (depth == 1 && *c != ','))
            continue;
        item.to = c;
        if (item.to > item.from && !is_option(&item))
            ARRAY_PUSH(out, item);
        if (depth <= 0)
            return;
        item.from = c + 1;
    }
    out->count = before;
}

/* Of every allocate between two places of the joined text. */
static void find_items(const char *from, const char *end, items *out)
{
    static const char word[] = "allocate(";
    const size_t length = sizeof(word) - 1;

    /* A label, which no blank separates any more. */
    while (from < end && isdigit((unsigned char)*from))
        from++;
    for (const char *c = from; (size_t)(end - c) > length; c++)
        if ((c == from || !statement_is_word_char(c[-1])) && strncasecmp(c, word, length) == 0)
            split_items(c + length - 1, end, out);
}

/* The statement that holds the position, of several on a line. */
static void find_items_at(const struct joined_lines *lines, items *out)
{
    const char *text = lines->text.items, *from = text + lines->position, *end;

    /* The position may be the semicolon's own: of what it ends. */
    end = strchrnul(from, ';');
    while (from > text && from[-1] != ';')
        from--;
    find_items(from, end, out);
}

/* x(i)%field(n) is named x(i)%field: what stands in the last brackets is how many. */
static void take_item(const struct item *item, struct assignment *out)
{
    const char *to = item->to, *word;
    int depth = 0;

    /* a(n)[*] */
    while (to > item->from && (to[-1] == ']' || to[-1] == ')')) {
        bool subscripts = to[-1] == ')';

        do {
            to--;
            depth += (*to == ')' || *to == ']') - (*to == '(' || *to == '[');
        } while (to > item->from && depth > 0);
        if (subscripts)
            break;
    }
    for (word = to; word > item->from && statement_is_word_char(word[-1]); word--)
        continue;
    if (word == to || depth != 0)
        return;
    out->name = format_string("%.*s", (int)(to - item->from), item->from);
    out->declared = format_string("%.*s", (int)(to - word), word);
    for (char *c = out->declared; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    out->member = word > item->from && word[-1] == '%';
    out->kind = ASSIGNMENT_NAMED;
}

void assignment_find_allocate(const struct source_text *source, uint32_t line, uint32_t column,
                              size_t site, size_t sites, struct assignment *out)
{
    struct joined_lines lines = {0};
    items found = {0};

    memset(out, 0, sizeof(*out));
    if (line == 0 || line > source->line_count)
        return;
    join_lines(source, line, column, &lines);
    if (column > 0)
        find_items_at(&lines, &found);
    else
        find_items(lines.text.items, lines.text.items + lines.text.count - 1, &found);
    if (found.count == 1)
        take_item(&found.items[0], out);
    else if (found.count == sites && site < sites)
        take_item(&found.items[site], out);
    free(found.items);
    free(lines.text.items);
}
