/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* strchrnul */
#include <ctype.h>
#include <langinfo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "document/render.h"
#include "support/memory.h"

enum { PAGE = 80, GAP = 2, LABEL = 16, READABLE_MIN = 22, FLEXIBLE_MIN = 8 };
enum { DETAIL_INDENT = 4, DETAIL_LINES = 3 };

/* Columns that a text takes: the bytes that do not continue a UTF-8 character. */
static size_t text_width(const char *text)
{
    size_t width = 0;

    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static size_t bytes_of_width(const char *text, size_t width)
{
    size_t bytes = 0;

    while (text[bytes] != '\0') {
        if (((unsigned char)text[bytes] & 0xc0) != 0x80 && width-- == 0)
            break;
        bytes++;
    }
    return bytes;
}

/* Names of the target can hold anything; what a terminal would obey is replaced. */
static void put_safely(const char *text, size_t bytes, FILE *stream)
{
    for (size_t i = 0; i < bytes; i++)
        fputc(isspace((unsigned char)text[i])   ? ' '
              : iscntrl((unsigned char)text[i]) ? '?'
                                                : text[i],
              stream);
}

static void put_spaces(size_t count, FILE *stream)
{
    while (count-- > 0)
        fputc(' ', stream);
}

/* Writes at most `width` columns: the middle of a longer text becomes "...". */
static void put_shortened(const char *text, size_t width, FILE *stream)
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

static const char *plus_minus(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "\u00b1" : "+-";
}

/* An interval that is so many times the value tells its reader as much without a number. */
#define NOTHING_KNOWN 1e4

/* Shares in percent, short: the ends of a range. */
static char *range_end(enum cell_kind kind, double value)
{
    if (kind != CELL_SHARE)
        return cell_number_text(kind, value);
    return format_string(value <= 0 || value >= 0.0995 ? "%.0f" : "%.1f", 100 * value);
}

/* 12.3+-0.5 would go below zero or above all, or says less than its two ends. */
static bool is_better_as_range(const struct cell *cell, double half)
{
    const struct estimate *value = &cell->value;

    if (cell->kind == CELL_SHARE)
        return half >= 0.0005 && (value->value - half < 0 || value->value + half > 1);
    return half >= value->value;
}

/* 0 to 3; the caller frees it. */
static char *number_range(const struct cell *cell)
{
    char *lo = range_end(cell->kind, cell->value.lo), *hi = range_end(cell->kind, cell->value.hi);
    char *text = format_string("%s to %s", lo, hi);

    free(lo);
    free(hi);
    return text;
}

/* 12.3+-0.5: the larger half of the interval stands for both. */
static char *number_with_interval(const struct cell *cell)
{
    const struct estimate *value = &cell->value;
    double half = fmax(value->hi - value->value, value->value - value->lo);
    char *number = cell_number_text(cell->kind, value->value), *spread, *text;

    if (cell->bound) {
        free(number);
        number = cell_number_text(cell->kind, value->hi);
        text = format_string("< %s", number);
        free(number);
        return text;
    }
    if (!cell->interval || !(half > 0))
        return number;
    if (!isfinite(half) || (cell->kind != CELL_SHARE && half > NOTHING_KNOWN * value->value)) {
        text = format_string("%s%s?", number, plus_minus());
        free(number);
        return text;
    }
    if (is_better_as_range(cell, half)) {
        free(number);
        return number_range(cell);
    }
    spread = cell->kind == CELL_SHARE ? format_string("%.1f", fmax(100 * half, 0.1))
                                      : cell_number_text(cell->kind, half);
    text = format_string("%s%s%s", number, plus_minus(), spread);
    free(spread);
    free(number);
    return text;
}

static char *plain_string(const struct cell *cell)
{
    char *number, *text;

    switch (cell->kind) {
    case CELL_TEXT:
        return copy_string(cell->text);
    case CELL_EMPTY:
    case CELL_TABLE:
        return copy_string("-");
    case CELL_BEYOND:
        return copy_string("beyond");
    case CELL_ABOVE:
        number = number_bytes(cell->value.value);
        text = format_string("> %s", number);
        free(number);
        return text;
    case CELL_TRUTH:
        return copy_string(cell->value.value != 0 ? "yes" : "no");
    default:
        if (!isfinite(cell->value.value))
            return copy_string("-");
        return number_with_interval(cell);
    }
}

static char *cell_string(const struct cell *cell)
{
    char *plain = plain_string(cell), *text;

    if (!cell->marked)
        return plain;
    text = format_string("%s*", plain);
    free(plain);
    return text;
}

static bool is_left_aligned(const struct table *table, size_t column)
{
    for (size_t i = 0; i < table->rows.count; i++)
        if (table->rows.items[i].cells[column].kind == CELL_TEXT)
            return true;
    return false;
}

/* Splits a heading at its newline. */
static char *heading_line(const char *heading, int line)
{
    const char *end = strchrnul(heading, '\n');

    if (line == 0)
        return format_string("%.*s", (int)(end - heading), heading);
    return copy_string(*end == '\n' ? end + 1 : "");
}

struct layout {
    size_t count;   /* columns in text */
    size_t *column; /* their numbers in the table */
    size_t *width;
    bool *left;
    char **strings; /* rows x count */
    bool two_line_heading;
};

static void widen(size_t *width, const char *text)
{
    size_t wanted = text_width(text);

    if (wanted > *width)
        *width = wanted;
}

static size_t total_width(const struct layout *layout)
{
    size_t total = 0;

    for (size_t i = 0; i < layout->count; i++)
        if (layout->width[i] > 0)
            total += layout->width[i] + (total > 0 ? (size_t)GAP : 0);
    return total;
}

/* Narrows the widest flexible column by one, down to a limit; false if none is wider than that. */
static bool shorten_widest(const struct table *table, struct layout *layout, size_t limit)
{
    size_t widest = SIZE_MAX;

    for (size_t i = 0; i < layout->count; i++)
        if (table->columns[layout->column[i]].flexible && layout->width[i] > limit &&
            (widest == SIZE_MAX || layout->width[i] > layout->width[widest]))
            widest = i;
    if (widest == SIZE_MAX)
        return false;
    layout->width[widest]--;
    return true;
}

/* Leaves out the last optional column; false if there is none. */
static bool drop_optional(const struct table *table, struct layout *layout)
{
    for (size_t i = layout->count; i > 0; i--) {
        if (table->columns[layout->column[i - 1]].optional && layout->width[i - 1] > 0) {
            layout->width[i - 1] = 0;
            return true;
        }
    }
    return false;
}

static void fit_page(const struct table *table, struct layout *layout)
{
    while (total_width(layout) > PAGE)
        if (!shorten_widest(table, layout, READABLE_MIN) && !drop_optional(table, layout) &&
            !shorten_widest(table, layout, FLEXIBLE_MIN))
            return;
}

static void lay_out(const struct table *table, struct layout *layout)
{
    size_t rows = table->rows.count, slots = table->column_count ? table->column_count : 1;

    memset(layout, 0, sizeof(*layout));
    layout->column = allocate_zeroed(slots, sizeof(*layout->column));
    layout->width = allocate_zeroed(slots, sizeof(*layout->width));
    layout->left = allocate_zeroed(slots, sizeof(*layout->left));
    for (size_t k = 0; k < table->column_count; k++)
        if (table->columns[k].heading != NULL)
            layout->column[layout->count++] = k;
    layout->strings = allocate_zeroed(rows * layout->count, sizeof(*layout->strings));
    for (size_t i = 0; i < layout->count; i++) {
        size_t k = layout->column[i];

        layout->left[i] = is_left_aligned(table, k);
        for (int line = 0; line < 2; line++) {
            char *heading = heading_line(table->columns[k].heading, line);

            widen(&layout->width[i], heading);
            layout->two_line_heading |= line == 1 && *heading != '\0';
            free(heading);
        }
        for (size_t r = 0; r < rows; r++) {
            char *string = cell_string(&table->rows.items[r].cells[k]);

            layout->strings[r * layout->count + i] = string;
            widen(&layout->width[i], string);
        }
    }
    fit_page(table, layout);
}

/* Column i of a line, and the gap after it. */
static void put_aligned(const char *text, const struct layout *layout, size_t i, FILE *stream)
{
    size_t width = layout->width[i];
    size_t taken = text_width(text) < width ? text_width(text) : width;

    if (width == 0)
        return;
    if (!layout->left[i])
        put_spaces(width - taken, stream);
    put_shortened(text, width, stream);
    if (layout->left[i])
        put_spaces(width - taken, stream);
    put_spaces(GAP, stream);
}

static void put_wrapped(const char *text, size_t indent, FILE *stream);

/* The middle of what is longer than a few lines is left out. */
static void put_detail(const char *detail, FILE *stream)
{
    char *text;
    size_t size;
    FILE *memory = open_text(&text, &size);

    put_shortened(detail, (size_t)DETAIL_LINES * (PAGE - DETAIL_INDENT) * 9 / 10, memory);
    fclose(memory);
    put_wrapped(text, DETAIL_INDENT, stream);
    free(text);
}

static void put_table(const struct table *table, FILE *stream)
{
    struct layout layout;

    if (table->title == NULL)
        return;
    fprintf(stream, "%s\n", table->title);
    if (table->basis != NULL)
        put_wrapped(table->basis, 2, stream);
    lay_out(table, &layout);
    for (int line = 0; line < (layout.two_line_heading ? 2 : 1); line++) {
        for (size_t i = 0; i < layout.count; i++) {
            char *heading = heading_line(table->columns[layout.column[i]].heading, line);

            put_aligned(heading, &layout, i, stream);
            free(heading);
        }
        fputc('\n', stream);
    }
    for (size_t r = 0; r < table->rows.count; r++) {
        for (size_t i = 0; i < layout.count; i++) {
            put_aligned(layout.strings[r * layout.count + i], &layout, i, stream);
            free(layout.strings[r * layout.count + i]);
        }
        fputc('\n', stream);
        if (table->rows.items[r].detail != NULL)
            put_detail(table->rows.items[r].detail, stream);
    }
    if (table->rows.count == 0)
        fputs("  (none)\n", stream);
    if (table->remark != NULL)
        put_wrapped(table->remark, 2, stream);
    free(layout.strings);
    free(layout.left);
    free(layout.width);
    free(layout.column);
}

/* Words on lines of at most PAGE columns; a word longer than that is shortened. */
static void put_wrapped(const char *text, size_t indent, FILE *stream)
{
    size_t column = 0;

    while (*text != '\0') {
        size_t length = strcspn(text, " \n"), width;
        char *word;

        /* A number and its unit stay together. */
        if (strncmp(text + length, " %", 2) == 0)
            length += 2 + strcspn(text + length + 2, " \n");
        word = format_string("%.*s", (int)length, text);

        width = text_width(word);
        if (column > indent && column + 1 + width > PAGE) {
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
        put_shortened(word, PAGE - indent, stream);
        column += width;
        free(word);
        text += length;
        text += *text != '\0';
    }
    fputc('\n', stream);
}

/* "label:      value", continued under the value when it is long. */
static void put_fact(const struct fact *fact, FILE *stream)
{
    char *value = fact->text != NULL ? copy_string(fact->text) : cell_string(&fact->cell);
    const char *rest = value;
    bool first = true;

    while (first || *rest != '\0') {
        size_t room = PAGE - LABEL, bytes = bytes_of_width(rest, room), cut = bytes;

        if (rest[bytes] != '\0') {
            while (cut > 0 && rest[cut] != ' ')
                cut--;
            if (cut == 0)
                cut = bytes;
        }
        if (first)
            fprintf(stream, "%s:%*s", fact->label, (int)(LABEL - 1 - strlen(fact->label)), "");
        else
            put_spaces(LABEL, stream);
        put_safely(rest, cut, stream);
        fputc('\n', stream);
        rest += cut;
        rest += strspn(rest, " ");
        first = false;
    }
    free(value);
}

static void put_verbatim(const char *text, FILE *stream)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");

        put_safely(text, length, stream);
        fputc('\n', stream);
        text += length + (text[length] == '\n');
    }
}

static void put_block(const struct block *block, FILE *stream)
{
    switch (block->kind) {
    case BLOCK_FACTS:
        for (size_t f = 0; f < block->facts.count; f++)
            if (block->facts.items[f].label != NULL)
                put_fact(&block->facts.items[f], stream);
        break;
    case BLOCK_TABLE:
        put_table(block->table, stream);
        break;
    case BLOCK_PARAGRAPH:
        put_wrapped(block->paragraph, 0, stream);
        break;
    case BLOCK_GRID:
        if (block->grid->title != NULL)
            fprintf(stream, "%s\n%s", block->grid->title,
                    block->grid->text != NULL ? block->grid->text : "");
        break;
    case BLOCK_VERBATIM:
        put_verbatim(block->paragraph, stream);
        break;
    }
}

static bool is_visible(const struct block *block)
{
    switch (block->kind) {
    case BLOCK_FACTS:
        for (size_t f = 0; f < block->facts.count; f++)
            if (block->facts.items[f].label != NULL)
                return true;
        return false;
    case BLOCK_TABLE:
        return block->table->title != NULL;
    case BLOCK_GRID:
        return block->grid->title != NULL;
    default:
        return true;
    }
}

/* Copies lines without the blanks at their ends, which padding to columns leaves. */
static void put_trimmed(const char *text, FILE *stream)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n"), kept = length;

        while (kept > 0 && text[kept - 1] == ' ')
            kept--;
        fwrite(text, 1, kept, stream);
        text += length;
        if (*text == '\n')
            fputc(*text++, stream);
    }
}

static void put_sections(const struct document *document, FILE *stream)
{
    bool started = false;

    for (size_t i = 0; i < document->sections.count; i++) {
        const struct section *section = &document->sections.items[i];
        const struct block *before = NULL;

        if (!section->shown || section->blocks.count == 0)
            continue;
        if (started)
            fputc('\n', stream);
        started = true;
        if (section->title != NULL)
            fprintf(stream, "== %s ==\n", section->title);
        for (size_t k = 0; k < section->blocks.count; k++) {
            const struct block *block = &section->blocks.items[k];
            bool follows_on = block->kind == BLOCK_VERBATIM ||
                              (before != NULL && before->kind == BLOCK_PARAGRAPH &&
                               block->kind == BLOCK_PARAGRAPH);

            if (!is_visible(block))
                continue;
            if (before != NULL && !follows_on)
                fputc('\n', stream);
            put_block(block, stream);
            before = block;
        }
    }
}

void render_text(const struct document *document, FILE *stream)
{
    char *text;
    size_t size;
    FILE *memory = open_text(&text, &size);

    put_sections(document, memory);
    fclose(memory);
    put_trimmed(text, stream);
    free(text);
}
