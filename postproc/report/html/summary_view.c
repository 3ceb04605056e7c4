/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html/summary_view.h"

#include <string.h>

#include "report/html/cells.h"
#include "report/html/escape.h"
#include "report/html/lookup.h"

const char *summary_program(const struct document *document)
{
    const struct fact *fact = lookup_fact(document, "program");

    return fact != NULL && fact->cell.kind == CELL_TEXT ? fact->cell.text : NULL;
}

/* before: what is not said by the fact's own text. */
static void put_fact(const struct document *document, const char *key, const char *before,
                     FILE *stream)
{
    const struct fact *fact = lookup_fact(document, key);

    if (fact == NULL || (fact->text == NULL && fact->cell.kind == CELL_EMPTY))
        return;
    fputs("<li", stream);
    html_number_attribute(&fact->cell, stream);
    fprintf(stream, ">%s", before);
    if (fact->text != NULL)
        html_name(fact->text, stream);
    else
        html_value(&fact->cell, true, stream);
    fputs("</li>\n", stream);
}

void html_summary_head(const struct document *document, FILE *stream)
{
    const struct fact *command = lookup_fact(document, "command");
    const char *program = summary_program(document);
    const char *slash = program != NULL ? strrchr(program, '/') : NULL;

    fputs("<p class=\"kind\">Data locality report</p>\n<h1>", stream);
    html_name(slash != NULL ? slash + 1 : program != NULL ? program : "A program", stream);
    fputs("</h1>\n", stream);
    if (command != NULL && command->cell.kind == CELL_TEXT) {
        fputs("<p class=\"command\"><code>", stream);
        html_name(command->cell.text, stream);
        fputs("</code></p>\n", stream);
    }
    fputs("<ul class=\"meta\">\n", stream);
    put_fact(document, "complete", "", stream); /* its text tells time and threads */
    put_fact(document, "accesses", "Accesses: ", stream);
    fputs("</ul>\n", stream);
}

bool summary_is_verdict(const struct block *block)
{
    const char *dot = block->key != NULL ? strrchr(block->key, '.') : NULL;

    return block->kind == BLOCK_PARAGRAPH && block->key != NULL &&
           strcmp(dot != NULL ? dot + 1 : block->key, "verdict") == 0;
}

/* Sections may repeat what the summary says of them. */
static bool is_said_before(const struct document *document, const struct block *wanted)
{
    for (size_t i = 0; i < document->sections.count; i++)
        for (size_t k = 0; k < document->sections.items[i].blocks.count; k++) {
            const struct block *block = &document->sections.items[i].blocks.items[k];

            if (block == wanted)
                return false;
            if (summary_is_verdict(block) && strcmp(block->paragraph, wanted->paragraph) == 0)
                return true;
        }
    return false;
}

static void put_verdicts(const struct document *document, FILE *stream)
{
    size_t count = 0;

    for (size_t i = 0; i < document->sections.count; i++)
        for (size_t k = 0; k < document->sections.items[i].blocks.count; k++) {
            const struct block *block = &document->sections.items[i].blocks.items[k];

            if (!summary_is_verdict(block) || is_said_before(document, block))
                continue;
            fputs(count++ == 0 ? "<ol class=\"verdicts\">\n<li>" : "<li>", stream);
            html_text(block->paragraph, stream);
            fputs("</li>\n", stream);
        }
    if (count > 0)
        fputs("</ol>\n", stream);
}

static void put_tile(const struct table *misses, size_t row, FILE *stream)
{
    const struct cell *ratio = lookup_cell(misses, row, "miss_ratio");

    fprintf(stream, "<li class=\"tile\"><span>L%.0f misses</span><b",
            lookup_number(misses, row, "level", 0));
    html_number_attribute(ratio, stream);
    fputc('>', stream);
    html_value(ratio, true, stream);
    fputs("</b><i>of accesses, ", stream);
    html_value(lookup_cell(misses, row, "bytes"), true, stream);
    fputs("</i></li>\n", stream);
}

void html_summary_verdicts(const struct document *document, FILE *stream)
{
    const struct table *misses = lookup_table(document, "misses");

    put_verdicts(document, stream);
    if (misses == NULL || misses->rows.count == 0)
        return;
    fputs("<ul class=\"tiles\">\n", stream);
    for (size_t i = 0; i < misses->rows.count; i++)
        put_tile(misses, i, stream);
    fputs("</ul>\n", stream);
}
