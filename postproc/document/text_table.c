/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* strchrnul */
#include "document/text_table.h"

#include <stdlib.h>
#include <string.h>

#include "document/cell_text.h"
#include "document/numbers.h"
#include "support/memory.h"

enum { GAP = 2, READABLE_MIN = 22, FLEXIBLE_MIN = 8 };
enum { DETAIL_INDENT = 4, DETAIL_LINES = 3, TITLE_LINES = 2 };

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

/* A column that is known nowhere takes room from those that are. */
static bool is_known(const struct table *table, size_t column)
{
    for (size_t i = 0; i < table->rows.count; i++) {
        const struct cell *cell = &table->rows.items[i].cells[column];
        char *string = cell_string(cell);
        bool known = cell->kind == CELL_TEXT || strcmp(string, "-") != 0;

        free(string);
        if (known)
            return true;
    }
    return table->rows.count == 0;
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

static void fit_page(const struct table *table, size_t page, struct layout *layout)
{
    while (page > 0 && total_width(layout) > page)
        if (!shorten_widest(table, layout, READABLE_MIN) && !drop_optional(table, layout) &&
            !shorten_widest(table, layout, FLEXIBLE_MIN))
            return;
}

static void lay_out(const struct table *table, size_t page, struct layout *layout)
{
    size_t rows = table->rows.count, slots = table->column_count ? table->column_count : 1;

    memset(layout, 0, sizeof(*layout));
    layout->column = allocate_zeroed(slots, sizeof(*layout->column));
    layout->width = allocate_zeroed(slots, sizeof(*layout->width));
    layout->left = allocate_zeroed(slots, sizeof(*layout->left));
    for (size_t k = 0; k < table->column_count; k++)
        if (table->columns[k].heading != NULL && is_known(table, k))
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
    fit_page(table, page, layout);
}

/* At most `width` columns of a name; the caller frees it. */
static char *fitted_to(const char *name, size_t width)
{
    size_t size;
    char *text;
    FILE *memory = open_text(&text, &size);

    put_name_shortened(name, width, memory);
    fclose(memory);
    return text;
}

/* Column i of a line, and the gap after it. */
static void put_aligned(const struct text_page *page, const char *text, enum tone tone,
                        const struct layout *layout, size_t i)
{
    size_t width = layout->width[i];
    char *fitted = fitted_to(text, width);
    size_t taken = text_width(fitted);

    if (width == 0) {
        free(fitted);
        return;
    }
    if (!layout->left[i])
        put_spaces(width - taken, page->stream);
    tone_begin(page, tone);
    fputs(fitted, page->stream);
    tone_end(page, tone);
    if (layout->left[i])
        put_spaces(width - taken, page->stream);
    put_spaces(GAP, page->stream);
    free(fitted);
}

/* Words on a few lines of the page, if it has a width: the middle of longer names is left out. */
static void put_names(const struct text_page *page, const char *names, size_t lines, size_t indent)
{
    size_t line = page->style.width - indent, size;
    char *text;
    FILE *memory;

    if (page->style.width == 0) {
        put_filled(page, names, indent);
        return;
    }
    memory = open_text(&text, &size);
    put_words_shortened(names, lines * line * 9 / 10, memory);
    fclose(memory);
    put_filled(page, text, indent);
    free(text);
}

static void put_detail(const struct text_page *page, const struct row *row)
{
    if (row->prose)
        put_filled(page, row->detail, DETAIL_INDENT);
    else
        put_names(page, row->detail, DETAIL_LINES, DETAIL_INDENT);
    fputc('\n', page->stream);
}

static void put_headings(const struct text_page *page, const struct table *table,
                         const struct layout *layout)
{
    for (int line = 0; line < (layout->two_line_heading ? 2 : 1); line++) {
        for (size_t i = 0; i < layout->count; i++) {
            char *heading = heading_line(table->columns[layout->column[i]].heading, line);

            put_aligned(page, heading, TONE_PLAIN, layout, i);
            free(heading);
        }
        fputc('\n', page->stream);
    }
}

/* Ten shades in thirds: the terminal's own colour and two more for them. An interval is as hot as
 * it is at least. */
static enum tone heat_of(const struct column *column, const struct cell *cell)
{
    int heat;

    if (!column->heat || cell->kind != CELL_SHARE)
        return TONE_PLAIN;
    heat = number_heat(cell->interval ? cell->value.lo : cell->value.value);
    return heat >= 6 ? TONE_HOT : heat >= 3 ? TONE_WARM : TONE_PLAIN;
}

static void put_row(const struct text_page *page, const struct table *table,
                    const struct layout *layout, size_t r)
{
    const struct row *row = &table->rows.items[r];

    for (size_t i = 0; i < layout->count; i++) {
        size_t k = layout->column[i];

        put_aligned(page, layout->strings[r * layout->count + i],
                    heat_of(&table->columns[k], &row->cells[k]), layout, i);
    }
    fputc('\n', page->stream);
    if (row->detail != NULL)
        put_detail(page, row);
}

/* The remark, and what the columns mean that the page had room for. */
static void put_remark(const struct text_page *page, const struct table *table,
                       const struct layout *layout)
{
    char *text = copy_string(table->remark != NULL ? table->remark : ""), *longer;

    for (size_t i = 0; i < layout->count; i++) {
        const char *note = table->columns[layout->column[i]].note;

        if (note == NULL || layout->width[i] == 0)
            continue;
        longer = format_string("%s%s%s", text, *text != '\0' ? " " : "", note);
        free(text);
        text = longer;
    }
    if (*text != '\0')
        put_wrapped(page, text, 2);
    free(text);
}

static void release(struct layout *layout, size_t rows)
{
    for (size_t i = 0; i < rows * layout->count; i++)
        free(layout->strings[i]);
    free(layout->strings);
    free(layout->left);
    free(layout->width);
    free(layout->column);
}

void put_table(const struct text_page *page, const struct table *table)
{
    struct layout layout;

    if (table->title == NULL)
        return;
    tone_begin(page, TONE_TITLE);
    put_names(page, table->title, TITLE_LINES, 0);
    tone_end(page, TONE_TITLE);
    fputc('\n', page->stream);
    if (table->basis != NULL)
        put_wrapped(page, table->basis, 2);
    lay_out(table, page->style.width, &layout);
    put_headings(page, table, &layout);
    for (size_t r = 0; r < table->rows.count; r++)
        put_row(page, table, &layout, r);
    if (table->rows.count == 0)
        fputs("  (none)\n", page->stream);
    put_remark(page, table, &layout);
    if (table->bars != NULL)
        put_wrapped(page, table->bars, 2);
    release(&layout, table->rows.count);
}
