/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html/source_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/html/cells.h"
#include "report/html/escape.h"
#include "report/html/lookup.h"

/* Files up to so many lines are shown whole; of others what is around the lines with figures.
 * Lines without figures stand in runs, one element for many lines. */
enum { LINES_WHOLE = 2000, LINES_AROUND = 40, RUN_LINES = 200, LINKS_SHOWN = 4, HOTTEST_SHOWN = 5 };

/* Of less no line is worth a jump. */
#define HEAT_MIN 0.0005

/* A file on its way into the page. */
struct view {
    const struct line_notes *notes;
    const struct file_notes *file;
    size_t number, levels;
    const char **starts; /* of each line of the text */
    size_t line_count;   /* 0: there is no text */
    FILE *stream;
};

static void put_share(const struct cell *cell, double share, FILE *stream)
{
    if (cell == NULL || !cell_is_number(cell)) {
        fputs("<td></td>", stream);
        return;
    }
    fprintf(stream, "<td class=\"h%d\"", number_heat(share));
    html_number_attribute(cell, stream);
    fputc('>', stream);
    html_value(&(struct cell){.kind = CELL_SHARE, .value = cell->value}, false, stream);
    fputs("</td>", stream);
}

static const struct cell *misses_cell(const struct line_note *note, size_t level)
{
    const struct cell *misses =
        note->lines != NULL ? lookup_cell(note->lines, note->row, "misses") : NULL;

    return misses != NULL && misses->kind == CELL_TABLE && level < misses->table->rows.count
               ? lookup_cell(misses->table, level, "share")
               : NULL;
}

static void put_figures(const struct view *view, const struct line_note *note)
{
    const struct cell *accesses =
        note->lines != NULL ? lookup_cell(note->lines, note->row, "accesses_share") : NULL;
    struct cell transfers = cell_value(CELL_COUNT, note->transfers);

    put_share(accesses, accesses != NULL ? accesses->value.value : 0, view->stream);
    for (size_t level = 0; level < view->levels; level++)
        put_share(misses_cell(note, level), line_note_misses(note, level), view->stream);
    if (!(note->transfers > 0)) {
        fputs("<td></td>", view->stream);
        return;
    }
    fprintf(view->stream, "<td class=\"h%d\"",
            number_heat(note->transfers / view->notes->transfers));
    html_number_attribute(&transfers, view->stream);
    fputc('>', view->stream);
    html_value(&transfers, false, view->stream);
    fputs("</td>", view->stream);
}

/* "file.c:12" as a link to that line if it is on the page. */
static void put_place(const struct view *view, const struct line_link *link)
{
    size_t number = 0;
    const char *file = link->file, *slash = file != NULL ? strrchr(file, '/') : NULL;
    bool known = line_notes_find(view->notes, file, link->line, &number) != NULL;

    if (known)
        fprintf(view->stream, "<a href=\"#f%zu-%" PRIu32 "\">", number, link->line);
    if (file == NULL || link->line == 0)
        html_name(link->function != NULL ? link->function : "an unknown place", view->stream);
    else if (known && number == view->number)
        fprintf(view->stream, "line %" PRIu32, link->line);
    else {
        html_text(slash != NULL ? slash + 1 : file, view->stream);
        fprintf(view->stream, ":%" PRIu32, link->line);
    }
    if (known)
        fputs("</a>", view->stream);
}

static void put_link(const struct view *view, enum link_kind kind, const struct line_link *link)
{
    char *count;

    put_place(view, link);
    if (kind == LINK_LAST || kind == LINK_NEXT) {
        fprintf(view->stream, " (%.0f %%)", 100 * link->amount);
        return;
    }
    count = number_count(link->amount);
    fprintf(view->stream, " (%s", count);
    if (link->object != NULL) {
        fputs(", ", view->stream);
        html_name(link->object, view->stream);
    }
    fputc(')', view->stream);
    free(count);
}

/* started: something stands before them. */
static void put_links(const struct view *view, const struct line_note *note, bool started)
{
    static const char *const words[LINK_KINDS] = {
        [LINK_LAST] = "last used at ",
        [LINK_NEXT] = "used next at ",
        [LINK_SENDS] = "taken by other threads at ",
        [LINK_RECEIVES] = "taken from other threads at ",
    };

    for (size_t kind = 0; kind < LINK_KINDS; kind++) {
        size_t count = note->links[kind].count;

        if (count == 0)
            continue;
        fprintf(view->stream, "%s%s", started ? " · " : "", words[kind]);
        started = true;
        for (size_t i = 0; i < count && i < LINKS_SHOWN; i++) {
            fputs(i > 0 ? ", " : "", view->stream);
            put_link(view, (enum link_kind)kind, &note->links[kind].items[i]);
        }
        if (count > LINKS_SHOWN)
            fprintf(view->stream, " and %zu more", count - LINKS_SHOWN);
    }
}

static void put_line_text(const struct view *view, size_t line)
{
    const char *start = view->starts[line - 1];

    html_text_part(start, strcspn(start, "\r\n"), view->stream);
}

static void put_note(const struct view *view, const struct line_note *note)
{
    const char *object = note->lines != NULL ? lookup_text(note->lines, note->row, "object") : NULL;

    fprintf(view->stream,
            "<tr id=\"f%zu-%" PRIu32 "\" class=\"noted\"><th scope=\"row\">%" PRIu32 "</th>",
            view->number, note->line, note->line);
    put_figures(view, note);
    fputs("<td class=\"c\">", view->stream);
    if (note->line <= view->line_count) {
        fputs("<code>", view->stream);
        put_line_text(view, note->line);
        fputs("</code>", view->stream);
    }
    fputs("<div class=\"flow\">", view->stream);
    if (object != NULL) {
        fputs("on ", view->stream);
        html_name(object, view->stream);
    }
    put_links(view, note, object != NULL);
    fputs("</div></td></tr>\n", view->stream);
}

/* Lines [first, end) in one row. */
static void put_run(const struct view *view, size_t first, size_t end)
{
    fputs("<tr><th>", view->stream);
    for (size_t line = first; line < end; line++)
        fprintf(view->stream, "%zu\n", line);
    fprintf(view->stream, "</th><td colspan=\"%zu\"></td><td class=\"c\"><code>", view->levels + 2);
    for (size_t line = first; line < end; line++) {
        put_line_text(view, line);
        fputc('\n', view->stream);
    }
    fputs("</code></td></tr>\n", view->stream);
}

static void put_plain(const struct view *view, size_t first, size_t end)
{
    for (; first < end; first += RUN_LINES)
        put_run(view, first, first + RUN_LINES < end ? first + RUN_LINES : end);
}

/* What lies between two lines with figures (0 and line_count + 1: the ends of the file). */
static void put_between(const struct view *view, size_t after, size_t before)
{
    size_t first = after + 1;
    size_t head = after == 0 ? 0 : LINES_AROUND;
    size_t tail = before > view->line_count ? 0 : LINES_AROUND;

    if (before > view->line_count + 1)
        before = view->line_count + 1;
    if (first >= before)
        return;
    if (view->line_count <= LINES_WHOLE || before - first <= head + tail + 1) {
        put_plain(view, first, before);
        return;
    }
    put_plain(view, first, first + head);
    fprintf(view->stream,
            "<tr class=\"gap\"><th></th><td colspan=\"%zu\"></td><td class=\"c\">%zu lines without "
            "figures</td></tr>\n",
            view->levels + 2, before - first - head - tail);
    put_plain(view, before - tail, before);
}

static void index_text(struct view *view, const char *text)
{
    ARRAY(const char *) starts = {0};

    while (text != NULL && *text != '\0') {
        const char *end = strchr(text, '\n');

        ARRAY_PUSH(&starts, text);
        text = end != NULL ? end + 1 : NULL;
    }
    view->starts = starts.items;
    view->line_count = starts.count;
}

static void put_head(const struct view *view)
{
    fputs("<div class=\"scroll\"><table class=\"source\"><thead><tr><th scope=\"col\">line</th>"
          "<th scope=\"col\">accesses<small>% of all</small></th>",
          view->stream);
    for (size_t level = 0; level < view->levels; level++)
        fprintf(view->stream, "<th scope=\"col\">L%zu misses<small>%% of all</small></th>",
                level + 1);
    fputs("<th scope=\"col\">transfers</th><th scope=\"col\" class=\"t\">source</th></tr></thead>"
          "<tbody>\n",
          view->stream);
}

/* The next line below `before`, in order of heat and then of lines; NULL: there is none. */
static const struct line_note *next_hottest(const struct file_notes *file,
                                            const struct line_note *before)
{
    const struct line_note *found = NULL;

    for (size_t i = 0; i < file->lines.count; i++) {
        const struct line_note *note = &file->lines.items[i];
        double heat = line_note_heat(note);
        bool later = before == NULL || heat < line_note_heat(before) ||
                     (heat == line_note_heat(before) && note > before);

        if (later && heat > HEAT_MIN && (found == NULL || heat > line_note_heat(found)))
            found = note;
    }
    return found;
}

/* Where to jump to. */
static void put_hottest(const struct view *view)
{
    const struct line_note *note = next_hottest(view->file, NULL);

    if (note == NULL)
        return;
    fputs("<p class=\"hottest\">Hottest: ", view->stream);
    for (size_t i = 0; i < HOTTEST_SHOWN && note != NULL; i++) {
        fprintf(view->stream, "%s<a href=\"#f%zu-%" PRIu32 "\">line %" PRIu32 "</a> (%.1f %%)",
                i > 0 ? ", " : "", view->number, note->line, note->line,
                100 * line_note_heat(note));
        note = next_hottest(view->file, note);
    }
    fputs("</p>\n", view->stream);
}

static void put_file(struct view *view, const struct source_options *options)
{
    const struct file_notes *file = view->file;
    char *gap, *text = source_view_read(file->path, options, &gap);
    size_t last = 0;

    index_text(view, text);
    fprintf(view->stream, "<details class=\"file\" id=\"f%zu\"%s><summary><b>", view->number,
            view->number == 0 ? " open" : "");
    html_name(file->path, view->stream);
    fprintf(view->stream,
            "</b> <span>%zu line%s with figures, %.1f %% of the %s</span></summary>\n",
            file->lines.count, file->lines.count == 1 ? "" : "s", 100 * file->heat,
            file->accesses ? "accesses" : "misses");
    if (gap != NULL) {
        fputs("<p class=\"gap\">", view->stream);
        html_text(gap, view->stream);
        fputs("</p>\n", view->stream);
    }
    put_hottest(view);
    put_head(view);
    for (size_t i = 0; i < file->lines.count; i++) {
        put_between(view, last, file->lines.items[i].line);
        put_note(view, &file->lines.items[i]);
        last = file->lines.items[i].line;
    }
    put_between(view, last, view->line_count + 1);
    fputs("</tbody></table></div></details>\n", view->stream);
    free(view->starts);
    free(gap);
    free(text);
}

void html_source_view(const struct line_notes *notes, const struct source_options *options,
                      FILE *stream)
{
    for (size_t i = 0; i < notes->files.count; i++) {
        struct view view = {.notes = notes,
                            .file = &notes->files.items[i],
                            .number = i,
                            .levels = line_note_levels(notes),
                            .stream = stream};

        put_file(&view, options);
    }
}
