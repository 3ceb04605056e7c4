/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html/summary_view.h"

#include <stdbool.h>

#include "path_name.h"
#include "report/html/cells.h"
#include "report/html/escape.h"
#include "report/html/lookup.h"

const char *summary_program(const struct document *document)
{
    const struct fact *fact = lookup_fact(document, "started_as");

    if (fact == NULL || fact->cell.kind != CELL_TEXT)
        fact = lookup_fact(document, "program");
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

    fputs("<p class=\"kind\">Data locality report</p>\n<h1>", stream);
    html_name(program != NULL ? path_name(program) : "A program", stream);
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

static void put_line(const char *class_name, const char *before, const char *text, FILE *stream)
{
    if (text == NULL || *text == '\0')
        return;
    fprintf(stream, "<p class=\"%s\">%s", class_name, before);
    html_text(text, stream);
    fputs("</p>\n", stream);
}

static bool is_advised(const struct table *findings, size_t row)
{
    const struct cell *advised = lookup_cell(findings, row, "advised");

    return advised != NULL && advised->kind == CELL_TRUTH && advised->value.value != 0;
}

/* What is not advised says where to look, and not what to change. */
static void put_finding(const struct table *findings, size_t row, FILE *stream)
{
    fputs("<li>", stream);
    put_line("title", "", lookup_text(findings, row, "title"), stream);
    put_line("where", "At ", lookup_text(findings, row, "where"), stream);
    if (is_advised(findings, row))
        put_line("remedy", "<b>Do</b> ", lookup_text(findings, row, "remedy"), stream);
    put_line("why", "<b>Why</b> ", lookup_text(findings, row, "why"), stream);
    put_line("check", "<b>Check</b> ", lookup_text(findings, row, "check"), stream);
    fputs("</li>\n", stream);
}

/* As the first screen of the text has them: those with evidence, and the first one. */
static void put_findings(const struct document *document, const struct table *findings,
                         FILE *stream)
{
    const struct fact *conclusion = lookup_fact(document, "conclusion");
    const struct fact *latencies = lookup_fact(document, "time.latencies");
    size_t uncertain = 0;

    if (findings != NULL && findings->rows.count > 0) {
        fputs("<ol class=\"findings\">\n", stream);
        for (size_t i = 0; i < findings->rows.count; i++) {
            if (i == 0 || is_advised(findings, i))
                put_finding(findings, i, stream);
            else
                uncertain++;
        }
        fputs("</ol>\n", stream);
    } else if (conclusion != NULL && conclusion->cell.kind == CELL_TEXT) {
        put_line("conclusion", "", conclusion->cell.text, stream);
    }
    fputs("<p class=\"aside\">", stream);
    if (uncertain > 0)
        fprintf(stream, "%zu more with too few samples to tell. ", uncertain);
    if (latencies != NULL && latencies->cell.kind == CELL_TEXT) {
        fputs("Latencies: ", stream);
        html_text(latencies->cell.text, stream);
        fputs(". Shares of time are modelled, at 95 %.", stream);
    }
    fputs("</p>\n", stream);
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

void html_summary_findings(const struct document *document, FILE *stream)
{
    const struct table *misses = lookup_table(document, "misses");

    put_findings(document, lookup_table(document, "findings"), stream);
    if (misses == NULL || misses->rows.count == 0)
        return;
    fputs("<ul class=\"tiles\">\n", stream);
    for (size_t i = 0; i < misses->rows.count; i++)
        put_tile(misses, i, stream);
    fputs("</ul>\n", stream);
}
