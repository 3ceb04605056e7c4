/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html/blocks.h"

#include <inttypes.h>
#include <string.h>

#include "document/numbers.h"
#include "report/html/cells.h"
#include "report/html/escape.h"
#include "report/html/lookup.h"

/* A table on its way into the page. */
struct table_view {
    const struct table *table;
    const struct line_notes *notes; /* NULL: there is no source to link to */
    FILE *stream;
};

/* Rows beyond these are left to JSON: nobody reads so far, and every browser slows down. */
enum { ROWS_MAX = 2000 };

static bool is_text_column(const struct table *table, size_t column)
{
    for (size_t i = 0; i < table->rows.count; i++)
        if (table->rows.items[i].cells[column].kind == CELL_TEXT)
            return true;
    return false;
}

/* The bars of the text form: the page has charts in their place. */
static bool is_bar_column(const struct table *table, size_t column)
{
    bool bar = false;

    for (size_t i = 0; i < table->rows.count; i++) {
        const struct cell *cell = &table->rows.items[i].cells[column];

        if (cell->kind != CELL_TEXT)
            continue;
        if (cell->text[strspn(cell->text, "#+ ")] != '\0')
            return false;
        bar |= *cell->text != '\0';
    }
    return bar;
}

static bool is_shown(const struct table *table, size_t column)
{
    return table->columns[column].heading != NULL && !is_bar_column(table, column);
}

/* Headings are "name\nunit". */
static void put_heading(const char *heading, FILE *stream)
{
    size_t name = strcspn(heading, "\n");

    html_text_part(heading, name, stream);
    if (heading[name] == '\n' && heading[name + 1] != '\0') {
        fputs("<small>", stream);
        html_text(heading + name + 1, stream);
        fputs("</small>", stream);
    }
}

static void put_head(const struct table *table, FILE *stream)
{
    fputs("<thead><tr>", stream);
    for (size_t k = 0; k < table->column_count; k++) {
        const struct column *column = &table->columns[k];

        if (!is_shown(table, k))
            continue;
        fprintf(stream, "<th scope=\"col\" class=\"%s\"", is_text_column(table, k) ? "t" : "n");
        if (column->key != NULL) {
            fputs(" data-key=\"", stream);
            html_text(column->key, stream);
            fputc('"', stream);
        }
        fputc('>', stream);
        put_heading(column->heading, stream);
        fputs("</th>", stream);
    }
    fputs("</tr></thead>\n", stream);
}

/* Whether the row is about a line that the page shows: then its name leads there. */
static bool open_link(const struct table_view *view, size_t row)
{
    const struct table *table = view->table;
    uint32_t line = (uint32_t)lookup_number(table, row, "line", 0);
    size_t file;

    if (view->notes == NULL || table->key == NULL || strcmp(table->key, "lines") != 0 ||
        line_notes_find(view->notes, lookup_text(table, row, "file"), line, &file) == NULL)
        return false;
    fprintf(view->stream, "<a href=\"#f%zu-%" PRIu32 "\">", file, line);
    return true;
}

/* Shares of a whole are shaded, and the sign of percent stands in the heading. */
static void put_cell(const struct table_view *view, size_t row, size_t column, const char *detail)
{
    const struct table *table = view->table;
    FILE *stream = view->stream;
    bool linked;
    const struct cell *cell = &table->rows.items[row].cells[column];
    bool percent = strchr(table->columns[column].heading, '%') == NULL;

    if (cell->kind == CELL_TEXT)
        fputs("<td class=\"t\"", stream);
    else if (cell->kind == CELL_SHARE && cell_is_number(cell))
        fprintf(stream, "<td class=\"n h%d\"", number_heat(cell->value.value));
    else
        fputs("<td class=\"n\"", stream);
    html_number_attribute(cell, stream);
    fputc('>', stream);
    linked = cell->kind == CELL_TEXT && open_link(view, row);
    html_value(cell, percent, stream);
    if (linked)
        fputs("</a>", stream);
    if (detail != NULL) {
        fputs("<div class=\"detail\">", stream);
        html_name(detail, stream);
        fputs("</div>", stream);
    }
    fputs("</td>", stream);
}

static void put_row(const struct table_view *view, size_t row)
{
    const struct table *table = view->table;
    const char *detail = table->rows.items[row].detail;

    fputs("<tr>", view->stream);
    for (size_t k = 0; k < table->column_count; k++) {
        if (!is_shown(table, k))
            continue;
        /* What there is to say about the row stands below its name. */
        put_cell(view, row, k, detail);
        detail = NULL;
    }
    fputs("</tr>\n", view->stream);
}

static void put_note(const char *class, const char *text, FILE *stream)
{
    if (text == NULL || *text == '\0')
        return;
    fprintf(stream, "<p class=\"%s\">", class);
    html_text(text, stream);
    fputs("</p>\n", stream);
}

static bool has_heading(const struct table *table)
{
    for (size_t k = 0; k < table->column_count; k++)
        if (table->columns[k].heading != NULL)
            return true;
    return false;
}

static void put_table(const struct table_view *view)
{
    const struct table *table = view->table;
    FILE *stream = view->stream;
    size_t rows = table->rows.count < ROWS_MAX ? table->rows.count : ROWS_MAX;

    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", stream);
    html_text(table->title, stream);
    fputs("\"><table class=\"data\"", stream);
    if (table->key != NULL) {
        fputs(" data-table=\"", stream);
        html_text(table->key, stream);
        fputc('"', stream);
    }
    fputs("><caption>", stream);
    html_text(table->title, stream);
    if (table->basis != NULL) {
        fputs("<small>", stream);
        html_text(table->basis, stream);
        fputs("</small>", stream);
    }
    fputs("</caption>\n", stream);
    put_head(table, stream);
    fputs("<tbody>\n", stream);
    for (size_t i = 0; i < rows; i++)
        put_row(view, i);
    fputs("</tbody></table></div>\n", stream);
    if (rows == 0)
        put_note("remark", "No rows: nothing of the kind was seen.", stream);
    if (rows < table->rows.count)
        fprintf(stream, "<p class=\"remark\">%zu further rows: see --format json.</p>\n",
                table->rows.count - rows);
    put_note("remark", table->remark, stream);
    for (size_t k = 0; k < table->column_count; k++)
        if (is_shown(table, k))
            put_note("remark", table->columns[k].note, stream);
}

static void put_grid(const struct grid *grid, FILE *stream)
{
    fputs("<details class=\"grid\"><summary>", stream);
    html_text(grid->title, stream);
    fputs("</summary><pre tabindex=\"0\">", stream);
    html_text(grid->text != NULL ? grid->text : "", stream);
    fputs("</pre></details>\n", stream);
}

static void put_fact(const struct fact *fact, FILE *stream)
{
    fputs("<div><dt>", stream);
    html_text(fact->label, stream);
    fputs("</dt><dd", stream);
    if (fact->key != NULL) {
        fputs(" data-key=\"", stream);
        html_text(fact->key, stream);
        fputc('"', stream);
    }
    html_number_attribute(&fact->cell, stream);
    fputc('>', stream);
    if (fact->text != NULL)
        html_name(fact->text, stream);
    else
        html_value(&fact->cell, true, stream);
    fputs("</dd></div>\n", stream);
}

static bool has_labels(const struct block *block)
{
    for (size_t i = 0; i < block->facts.count; i++)
        if (block->facts.items[i].label != NULL)
            return true;
    return false;
}

bool html_block_is_shown(const struct block *block)
{
    switch (block->kind) {
    case BLOCK_FACTS:
        return has_labels(block);
    case BLOCK_TABLE:
        return block->table->title != NULL && has_heading(block->table);
    case BLOCK_GRID:
        return block->grid->title != NULL;
    default:
        return true;
    }
}

static void put_facts(const struct block *block, FILE *stream)
{
    for (size_t i = 0; i < block->facts.count; i++)
        if (block->facts.items[i].label != NULL)
            put_fact(&block->facts.items[i], stream);
}

void html_facts(const struct section *section, FILE *stream)
{
    fputs("<dl class=\"facts\">\n", stream);
    for (size_t i = 0; i < section->blocks.count; i++)
        put_facts(&section->blocks.items[i], stream);
    fputs("</dl>\n", stream);
}

void html_block(const struct block *block, const struct line_notes *notes, FILE *stream)
{
    if (!html_block_is_shown(block))
        return;
    switch (block->kind) {
    case BLOCK_FACTS:
        fputs("<dl class=\"facts\">\n", stream);
        put_facts(block, stream);
        fputs("</dl>\n", stream);
        break;
    case BLOCK_TABLE:
        put_table(&(struct table_view){block->table, notes, stream});
        break;
    case BLOCK_GRID:
        put_grid(block->grid, stream);
        break;
    case BLOCK_PARAGRAPH:
        put_note("words", block->paragraph, stream);
        break;
    case BLOCK_VERBATIM:
        fputs("<pre class=\"copy\" tabindex=\"0\">", stream);
        html_text(block->paragraph, stream);
        fputs("</pre>\n", stream);
        break;
    }
}
