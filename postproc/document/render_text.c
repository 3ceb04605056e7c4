/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "document/cell_text.h"
#include "document/render.h"
#include "document/text_page.h"
#include "document/text_table.h"
#include "support/memory.h"

enum { LABEL = 16 };

/* Bytes of a line that begins at `text`: whole words up to PROSE, or one that is longer; of a word
 * that no line of the page holds, a part. */
static size_t line_length(const struct text_page *page, const char *text)
{
    size_t bytes = bytes_of_width(text, PROSE - LABEL), cut = bytes, fits;

    if (text[bytes] == '\0')
        return bytes;
    while (cut > 0 && text[cut] != ' ')
        cut--;
    if (cut > 0)
        return cut;
    cut = strcspn(text, " ");
    if (page->style.width == 0)
        return cut;
    fits = bytes_of_width(text, page->style.width - LABEL);
    return cut < fits ? cut : fits;
}

/* "label:      value", continued under the value when it is long. */
static void put_fact(const struct text_page *page, const struct fact *fact)
{
    char *value = fact->text != NULL ? copy_string(fact->text) : cell_string(&fact->cell);
    const char *rest = value;
    size_t label = strlen(fact->label);
    bool first = true;

    while (first || *rest != '\0') {
        size_t length = line_length(page, rest);

        if (first)
            fprintf(page->stream, "%s:%*s", fact->label,
                    label + 2 <= LABEL ? (int)(LABEL - 1 - label) : 1, "");
        else
            put_spaces(LABEL, page->stream);
        put_safely(rest, length, page->stream);
        fputc('\n', page->stream);
        rest += length;
        rest += strspn(rest, " ");
        first = false;
    }
    free(value);
}

static void put_verbatim(const struct text_page *page, const struct block *block)
{
    const char *text = block->paragraph;

    for (size_t line = 0; *text != '\0'; line++) {
        size_t length = strcspn(text, "\n"), kept = length;
        enum tone tone = line < block->tones.count ? block->tones.items[line] : TONE_PLAIN;

        while (kept > 0 && text[kept - 1] == ' ')
            kept--;
        tone_begin(page, tone);
        put_safely(text, kept, page->stream);
        tone_end(page, tone);
        fputc('\n', page->stream);
        text += length + (text[length] == '\n');
    }
}

static void put_block(const struct text_page *page, const struct block *block)
{
    switch (block->kind) {
    case BLOCK_FACTS:
        for (size_t f = 0; f < block->facts.count; f++)
            if (block->facts.items[f].label != NULL)
                put_fact(page, &block->facts.items[f]);
        break;
    case BLOCK_TABLE:
        put_table(page, block->table);
        break;
    case BLOCK_PARAGRAPH:
        put_wrapped(page, block->paragraph, 0);
        break;
    case BLOCK_GRID:
        if (block->grid->title != NULL)
            fprintf(page->stream, "%s\n%s", block->grid->title,
                    block->grid->text != NULL ? block->grid->text : "");
        break;
    case BLOCK_VERBATIM:
        put_verbatim(page, block);
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

static void put_title(const struct text_page *page, const char *title)
{
    if (title == NULL)
        return;
    tone_begin(page, TONE_HEADING);
    fprintf(page->stream, "== %s ==", title);
    tone_end(page, TONE_HEADING);
    fputc('\n', page->stream);
}

static void put_sections(const struct text_page *page, const struct document *document)
{
    bool started = false;

    for (size_t i = 0; i < document->sections.count; i++) {
        const struct section *section = &document->sections.items[i];
        const struct block *before = NULL;

        if (!section->shown || section->blocks.count == 0)
            continue;
        if (started)
            fputc('\n', page->stream);
        started = true;
        put_title(page, section->title);
        for (size_t k = 0; k < section->blocks.count; k++) {
            const struct block *block = &section->blocks.items[k];
            bool follows_on = block->kind == BLOCK_VERBATIM ||
                              (before != NULL && before->kind == BLOCK_PARAGRAPH &&
                               block->kind == BLOCK_PARAGRAPH);

            if (!is_visible(block))
                continue;
            if (before != NULL && !follows_on)
                fputc('\n', page->stream);
            put_block(page, block);
            before = block;
        }
    }
}

void render_text(const struct document *document, struct text_style style, FILE *stream)
{
    char *text;
    size_t size;
    FILE *memory = open_text(&text, &size);

    put_sections(&(struct text_page){style, memory}, document);
    fclose(memory);
    put_trimmed(text, stream);
    free(text);
}
