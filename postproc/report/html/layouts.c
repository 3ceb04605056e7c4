/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html/layouts.h"

#include <string.h>

#include "report/html/cells.h"
#include "report/html/escape.h"
#include "report/html/lookup.h"

static const char findings_key[] = "sharing.false_sharing";

/* One of the two places of a finding that lie on one line. */
struct side {
    const char *name, *offset, *size, *thread; /* keys of the columns */
};

static const struct side sides[] = {
    {"first", "first_offset", "first_size", "first_thread"},
    {"second", "second_offset", "second_size", "second_thread"},
};

static bool is_known(const struct table *table, size_t row)
{
    for (size_t side = 0; side < 2; side++)
        if (!cell_is_number(lookup_cell(table, row, sides[side].offset)))
            return false;
    return true;
}

bool html_layouts_known(const struct document *document)
{
    const struct table *table = lookup_table(document, findings_key);

    for (size_t i = 0; table != NULL && i < table->rows.count; i++)
        if (is_known(table, i))
            return true;
    return false;
}

static void put_number(const struct cell *cell, const char *name, FILE *stream)
{
    fprintf(stream, "<td class=\"n\" data-part=\"%s\"", name);
    html_number_attribute(cell, stream);
    fputc('>', stream);
    html_value(cell, true, stream);
    fputs("</td>", stream);
}

static void put_side(const struct table *table, size_t row, const struct side *side,
                     double line_size, FILE *stream)
{
    const char *type = lookup_text(table, row, "type"), *name = lookup_text(table, row, side->name);
    const char *collision = lookup_text(table, row, "collision");
    const char *object = lookup_text(table, row, "object");
    bool members = collision != NULL && strcmp(collision, "members") == 0;
    const struct cell *offset = lookup_cell(table, row, side->offset);
    struct cell line = cell_value(CELL_NUMBER, (double)(long)(offset->value.value / line_size));

    fputs("<tr><td class=\"t\">", stream);
    html_name(members && type != NULL ? type : object != NULL ? object : "?", stream);
    fputs("</td><td class=\"t\">", stream);
    html_name(name != NULL ? name : "?", stream);
    fputs("</td>", stream);
    put_number(offset, "offset", stream);
    put_number(lookup_cell(table, row, side->size), "size", stream);
    put_number(&line, "line", stream);
    put_number(lookup_cell(table, row, side->thread), "thread", stream);
    put_number(lookup_cell(table, row, "transfers"), "transfers", stream);
    fputs("</tr>\n", stream);
}

void html_layouts(const struct document *document, FILE *stream)
{
    const struct table *table = lookup_table(document, findings_key);
    const struct fact *fact = lookup_fact(document, "sharing.line_size");
    double line_size = fact != NULL && cell_is_number(&fact->cell) ? fact->cell.value.value : 64;

    fprintf(
        stream,
        "<figure data-chart=\"layouts\" data-line=\"%.0f\" hidden></figure>\n"
        "<div class=\"scroll\"><table class=\"data\" id=\"layout-table\"><caption>Members that "
        "share a cache line<small>Offsets from the start of the structure, or of the array; "
        "lines of %.0f bytes, counted from there.</small></caption><thead><tr>"
        "<th scope=\"col\" class=\"t\">structure</th><th scope=\"col\" class=\"t\">member</th>"
        "<th scope=\"col\" class=\"n\">offset<small>bytes</small></th>"
        "<th scope=\"col\" class=\"n\">size</th><th scope=\"col\" class=\"n\">line</th>"
        "<th scope=\"col\" class=\"n\">thread<small>number</small></th>"
        "<th scope=\"col\" class=\"n\">false<small>transfers</small></th></tr></thead><tbody>\n",
        line_size, line_size);
    for (size_t i = 0; i < table->rows.count; i++)
        for (size_t side = 0; side < 2 && is_known(table, i); side++)
            put_side(table, i, &sides[side], line_size, stream);
    fputs("</tbody></table></div>\n", stream);
}
