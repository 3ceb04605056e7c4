/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "report/html/assets.h"
#include "report/html/blocks.h"
#include "report/html/data.h"
#include "report/html/escape.h"
#include "report/html/layouts.h"
#include "report/html/libraries.h"
#include "report/html/source_view.h"
#include "report/html/summary_view.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* A page that is being written. */
struct page {
    const struct document *document;
    const struct report_options *options;
    const struct model *model;
    struct line_notes notes;
    struct html_library_text libraries[LIBRARIES];
    char nonce[33];
    FILE *stream;
};

/* The order in which sections are worth reading, and the chart that a section begins with. What
 * is not named here, findings above all, comes first. */
static const struct {
    const char *name, *chart, *words;
} known_sections[] = {
    {"mrc", "curve", "Misses per access as a function of cache size, with caches marked"},
    {"objects", NULL, NULL},
    {"structs", NULL, NULL},
    {"lines", NULL, NULL},
    {"contexts", "flame", "Misses by calling context, callers below"},
    {"sharing", NULL, NULL},
    {"matrix", "matrix", "Transfers from thread (rows) to thread (columns)"},
    {"placement", NULL, NULL},
    {"blocking", NULL, NULL},
    {"sector-hints", NULL, NULL},
    {"traffic", NULL, NULL},
    {"threads", NULL, NULL},
    {"histogram", NULL, NULL},
    {"notes", NULL, NULL},
};
enum { KNOWN_SECTIONS = sizeof(known_sections) / sizeof(*known_sections) };

static size_t rank_of(const struct section *section)
{
    for (size_t i = 0; i < KNOWN_SECTIONS; i++)
        if (strcmp(known_sections[i].name, section->name) == 0)
            return i + 1;
    return 0;
}

/* A value that nobody can foresee, so that no text of a profile can name it. */
static void choose_nonce(struct page *page)
{
    uint64_t random[2] = {0};

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        random[0] = random[1] = (uint64_t)(uintptr_t)page;
    snprintf(page->nonce, sizeof(page->nonce), "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

static void put_head(const struct page *page)
{
    const char *program = summary_program(page->document);

    fprintf(page->stream,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "script-src 'nonce-%s'; style-src 'nonce-%s'; img-src data:; base-uri 'none'; "
            "form-action 'none'\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n"
            "<link rel=\"icon\" href=\"data:,\">\n<title>",
            page->nonce, page->nonce);
    html_text(program != NULL ? program : "A program", page->stream);
    fprintf(page->stream, " – data locality</title>\n<style nonce=\"%s\">\n%s</style>\n</head>\n",
            page->nonce, html_page_style);
}

static bool is_summary(const struct section *section)
{
    return strcmp(section->name, "summary") == 0;
}

/* Shown in a form of its own before all parts. */
static bool begins_page(const struct section *section)
{
    return is_summary(section) || strcmp(section->name, "findings") == 0;
}

/* Charts need numbers that are in the JSON form only, so they can stand where no block does. */
static bool has_content(const struct section *section)
{
    for (size_t i = 0; i < section->blocks.count; i++)
        if (html_block_is_shown(&section->blocks.items[i]))
            return section->shown;
    return false;
}

static void put_section_start(const struct page *page, const char *name, const char *title)
{
    fprintf(page->stream, "<section id=\"s-%s\" aria-labelledby=\"h-%s\">\n<h2 id=\"h-%s\">", name,
            name, name);
    html_text(title, page->stream);
    fputs("</h2>\n", page->stream);
}

static void put_chart(const struct page *page, const char *chart, const char *words)
{
    fprintf(page->stream, "<figure data-chart=\"%s\" hidden><figcaption>%s</figcaption></figure>\n",
            chart, words);
}

static void put_section(const struct page *page, const struct section *section)
{
    size_t rank = rank_of(section);

    put_section_start(page, section->name, section->title);
    if (rank > 0 && known_sections[rank - 1].chart != NULL)
        put_chart(page, known_sections[rank - 1].chart, known_sections[rank - 1].words);
    for (size_t i = 0; i < section->blocks.count; i++)
        html_block(&section->blocks.items[i], &page->notes, page->stream);
    if (strcmp(section->name, "sharing") == 0 && html_layouts_known(page->document))
        html_layouts(page->document, page->stream);
    fputs("</section>\n", page->stream);
}

static bool has_lines(const struct page *page)
{
    return page->notes.files.count > 0 ||
           (page->model != NULL && page->options->sections[SECTION_LINES]);
}

static void put_source(const struct page *page)
{
    struct source_options options = {.sysroot = page->options->sysroot,
                                     .text = !page->options->no_source,
                                     .model = page->model,
                                     .document = page->document};

    put_section_start(page, "source", "Annotated source");
    if (page->notes.files.count == 0)
        fputs("<p class=\"gap\">No line of source is known: nothing was sampled in code with debug "
              "information. Compile with -g to see your source here.</p>\n",
              page->stream);
    html_source_view(&page->notes, &options, page->stream);
    fputs("</section>\n", page->stream);
}

/* Misses by level, of the summary, and what else it has as tables. */
static void put_levels(const struct page *page, const struct section *summary)
{
    put_section_start(page, "levels", "Misses by cache level");
    put_chart(page, "levels", "Misses per access: first use, capacity, coherence");
    for (size_t i = 0; i < summary->blocks.count; i++)
        if (summary->blocks.items[i].kind == BLOCK_TABLE)
            html_block(&summary->blocks.items[i], &page->notes, page->stream);
    fputs("</section>\n", page->stream);
}

static void put_measurement(const struct page *page, const struct section *summary)
{
    put_section_start(page, "measurement", "How this was measured");
    html_facts(summary, page->stream);
    fputs("</section>\n", page->stream);
}

static const struct section *summary_of(const struct document *document)
{
    for (size_t i = 0; i < document->sections.count; i++)
        if (is_summary(&document->sections.items[i]) && document->sections.items[i].shown)
            return &document->sections.items[i];
    return NULL;
}

static bool has_tables(const struct section *section)
{
    for (size_t i = 0; section != NULL && i < section->blocks.count; i++)
        if (section->blocks.items[i].kind == BLOCK_TABLE &&
            html_block_is_shown(&section->blocks.items[i]))
            return true;
    return false;
}

/* What each part of the page is, in the order of the page. The list of contents and the parts
 * are made by the same walk, so that they agree. */
struct part {
    const char *name, *title;
    const struct section *section; /* NULL: the annotated source */
    bool levels, measurement;      /* of the summary */
};
typedef ARRAY(struct part) part_list;

static void list_parts(const struct page *page, part_list *parts)
{
    const struct section *summary = summary_of(page->document);

    for (size_t rank = 0; rank <= KNOWN_SECTIONS; rank++) {
        for (size_t i = 0; i < page->document->sections.count; i++) {
            const struct section *section = &page->document->sections.items[i];
            struct part part = {section->name, section->title, section, false, false};

            if (rank_of(section) == rank && !begins_page(section) && has_content(section))
                ARRAY_PUSH(parts, part);
        }
        if (rank == 0 && has_tables(summary)) {
            struct part part = {"levels", "Misses by level", summary, true, false};

            ARRAY_PUSH(parts, part);
        }
        if (rank > 0 && strcmp(known_sections[rank - 1].name, "lines") == 0 && has_lines(page)) {
            struct part part = {"source", "Annotated source", NULL, false, false};

            ARRAY_PUSH(parts, part);
        }
    }
    if (summary != NULL) {
        struct part part = {"measurement", "How this was measured", summary, false, true};

        ARRAY_PUSH(parts, part);
    }
}

static void put_contents(const struct page *page, const part_list *parts)
{
    fputs("<nav aria-label=\"Contents\"><ul>\n", page->stream);
    for (size_t i = 0; i < parts->count; i++) {
        fprintf(page->stream, "<li><a href=\"#s-%s\">", parts->items[i].name);
        html_text(parts->items[i].title, page->stream);
        fputs("</a></li>\n", page->stream);
    }
    fputs("</ul></nav>\n", page->stream);
}

static void put_body(const struct page *page)
{
    part_list parts = {0};

    list_parts(page, &parts);
    fputs("<body>\n<a class=\"skip\" href=\"#main\">Skip to the report</a>\n<header>\n",
          page->stream);
    html_summary_head(page->document, page->stream);
    fputs("</header>\n<div class=\"page\">\n", page->stream);
    put_contents(page, &parts);
    fputs("<main id=\"main\">\n<section id=\"s-findings\" aria-label=\"Findings\">\n",
          page->stream);
    html_summary_findings(page->document, page->stream);
    fputs("</section>\n", page->stream);
    for (size_t i = 0; i < parts.count; i++) {
        const struct part *part = &parts.items[i];

        if (part->section == NULL)
            put_source(page);
        else if (part->levels)
            put_levels(page, part->section);
        else if (part->measurement)
            put_measurement(page, part->section);
        else
            put_section(page, part->section);
    }
    fputs("</main>\n</div>\n", page->stream);
    free(parts.items);
}

static void put_licences(const struct page *page)
{
    fputs("<footer><p>Made by reuse-report " PACKAGE_VERSION " (libreuse). Nothing is loaded from "
          "elsewhere.</p>\n",
          page->stream);
    for (size_t i = 0; i < LIBRARIES; i++) {
        if (page->libraries[i].script == NULL)
            continue;
        fprintf(page->stream,
                "<details><summary>Licence of %s, which this page embeds</summary>"
                "<pre>",
                page->libraries[i].name);
        html_text(page->libraries[i].licence, page->stream);
        fputs("</pre></details>\n", page->stream);
    }
    fputs("</footer>\n", page->stream);
}

static void put_script(const struct page *page, const char *script)
{
    if (script == NULL)
        return;
    fprintf(page->stream, "<script nonce=\"%s\">\n", page->nonce);
    html_script(script, page->stream);
    fputs("</script>\n", page->stream);
}

void render_html(const struct document *document, const struct report_options *options,
                 const struct model *model, FILE *stream)
{
    struct page page = {.document = document, .options = options, .model = model, .stream = stream};
    char *missing;

    choose_nonce(&page);
    html_libraries_read(page.libraries, !options->no_source);
    missing = html_libraries_missing(page.libraries);
    if (missing != NULL)
        fprintf(stderr,
                "reuse-report: the page has no %s: %s not installed; Debian has packages of "
                "that name\n",
                page.libraries[LIBRARY_CHARTS].script == NULL ? "charts, only tables"
                                                              : "coloured source",
                missing);
    free(missing);
    line_notes_collect(document, &page.notes);
    put_head(&page);
    put_body(&page);
    put_licences(&page);
    html_data(document, model, stream);
    for (size_t i = 0; i < LIBRARIES; i++)
        put_script(&page, page.libraries[i].script);
    put_script(&page, html_page_script);
    fputs("</body>\n</html>\n", stream);
    line_notes_free(&page.notes);
    html_libraries_free(page.libraries);
}
