/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html/line_notes.h"

#include <stdlib.h>
#include <string.h>

#include "report/html/lookup.h"

static struct file_notes *file_of(struct line_notes *notes, const char *path)
{
    struct file_notes file = {.path = path};

    for (size_t i = 0; i < notes->files.count; i++)
        if (strcmp(notes->files.items[i].path, path) == 0)
            return &notes->files.items[i];
    ARRAY_PUSH(&notes->files, file);
    return &notes->files.items[notes->files.count - 1];
}

/* Valid until the next note is made. */
static struct line_note *note_of(struct line_notes *notes, const char *path, uint32_t line)
{
    struct file_notes *file = file_of(notes, path);
    struct line_note note = {.line = line};

    for (size_t i = 0; i < file->lines.count; i++)
        if (file->lines.items[i].line == line)
            return &file->lines.items[i];
    ARRAY_PUSH(&file->lines, note);
    return &file->lines.items[file->lines.count - 1];
}

static void add_link(struct line_notes *notes, const char *file, uint32_t line, enum link_kind kind,
                     struct line_link link)
{
    struct line_note *note;

    if (file == NULL || line == 0)
        return;
    note = note_of(notes, file, line);
    ARRAY_PUSH(&note->links[kind], link);
}

/* Both ends of a reuse: the line whose data is used again, and the line that does. */
static void add_reuse(struct line_notes *notes, const struct table *lines, size_t row,
                      const struct table *uses, size_t use)
{
    const char *file = lookup_text(lines, row, "file");
    struct line_link next = {lookup_text(uses, use, "file"), lookup_text(uses, use, "function"),
                             (uint32_t)lookup_number(uses, use, "line", 0),
                             lookup_number(uses, use, "share", 0), NULL};
    struct line_link previous = {file, lookup_text(lines, row, "function"),
                                 (uint32_t)lookup_number(lines, row, "line", 0), next.amount,
                                 lookup_text(lines, row, "object")};

    add_link(notes, file, previous.line, LINK_LAST, next);
    add_link(notes, next.file, next.line, LINK_NEXT, previous);
}

static void add_lines(struct line_notes *notes, const struct table *lines)
{
    for (size_t i = 0; i < lines->rows.count; i++) {
        const char *file = lookup_text(lines, i, "file");
        uint32_t line = (uint32_t)lookup_number(lines, i, "line", 0);
        const struct cell *uses = lookup_cell(lines, i, "reuse_from");
        struct line_note *note;

        if (file == NULL || line == 0)
            continue;
        note = note_of(notes, file, line);
        if (note->lines == NULL) {
            note->lines = lines;
            note->row = i;
        }
        for (size_t k = 0; uses->kind == CELL_TABLE && k < uses->table->rows.count; k++)
            add_reuse(notes, lines, i, uses->table, k);
    }
}

static struct line_link transfer_end(const struct table *table, size_t row, bool from)
{
    return (struct line_link){
        lookup_text(table, row, from ? "from.file" : "to.file"),
        lookup_text(table, row, from ? "from.function" : "to.function"),
        (uint32_t)lookup_number(table, row, from ? "from.line" : "to.line", 0),
        lookup_number(table, row, "all", 0), lookup_text(table, row, "object")};
}

static void add_transfers(struct line_notes *notes, const struct line_link *at, double transfers)
{
    struct line_note *note;

    if (at->file == NULL || at->line == 0)
        return;
    note = note_of(notes, at->file, at->line);
    note->transfers += transfers;
    if (note->transfers > notes->transfers)
        notes->transfers = note->transfers;
}

static void add_sharing(struct line_notes *notes, const struct table *table)
{
    for (size_t i = 0; i < table->rows.count; i++) {
        struct line_link from = transfer_end(table, i, true), to = transfer_end(table, i, false);
        bool same = from.file != NULL && to.file != NULL && from.line == to.line &&
                    strcmp(from.file, to.file) == 0;

        add_link(notes, from.file, from.line, LINK_SENDS, to);
        add_link(notes, to.file, to.line, LINK_RECEIVES, from);
        add_transfers(notes, &from, from.amount);
        if (!same)
            add_transfers(notes, &to, to.amount);
    }
}

double line_note_misses(const struct line_note *note, size_t level)
{
    const struct cell *misses;

    if (note->lines == NULL)
        return -1;
    misses = lookup_cell(note->lines, note->row, "misses");
    return misses->kind == CELL_TABLE && level < misses->table->rows.count
               ? lookup_number(misses->table, level, "share", -1)
               : -1;
}

size_t line_note_levels(const struct line_notes *notes)
{
    for (size_t i = 0; i < notes->files.count; i++)
        for (size_t k = 0; k < notes->files.items[i].lines.count; k++) {
            const struct line_note *note = &notes->files.items[i].lines.items[k];
            const struct cell *misses =
                note->lines != NULL ? lookup_cell(note->lines, note->row, "misses") : NULL;

            if (misses != NULL && misses->kind == CELL_TABLE)
                return misses->table->rows.count;
        }
    return 0;
}

/* At the level that matters most, as far as it is known; negative: it is not. */
static double misses_of(const struct line_note *note)
{
    double misses = line_note_misses(note, 1);

    return misses < 0 ? line_note_misses(note, 0) : misses;
}

double line_note_heat(const struct line_note *note)
{
    double misses = misses_of(note);

    if (note->lines == NULL)
        return 0;
    return misses >= 0 ? misses : lookup_number(note->lines, note->row, "accesses_share", 0);
}

static int compare_lines(const void *left, const void *right)
{
    const struct line_note *a = left, *b = right;

    return (a->line > b->line) - (a->line < b->line);
}

static int compare_files(const void *left, const void *right)
{
    const struct file_notes *a = left, *b = right;

    if (a->heat != b->heat)
        return a->heat < b->heat ? 1 : -1;
    return strcmp(a->path, b->path);
}

void line_notes_collect(const struct document *document, struct line_notes *out)
{
    const struct table *lines = lookup_table(document, "lines");
    const struct table *sharing = lookup_table(document, "sharing.lines");

    memset(out, 0, sizeof(*out));
    if (lines != NULL)
        add_lines(out, lines);
    if (sharing != NULL)
        add_sharing(out, sharing);
    for (size_t i = 0; i < out->files.count; i++) {
        struct file_notes *file = &out->files.items[i];

        qsort(file->lines.items, file->lines.count, sizeof(file->lines.items[0]), compare_lines);
        for (size_t k = 0; k < file->lines.count; k++) {
            const struct line_note *note = &file->lines.items[k];

            file->heat += line_note_heat(note);
            file->accesses |= note->lines != NULL && misses_of(note) < 0;
        }
    }
    if (out->files.count > 0)
        qsort(out->files.items, out->files.count, sizeof(out->files.items[0]), compare_files);
}

void line_notes_free(struct line_notes *notes)
{
    for (size_t i = 0; i < notes->files.count; i++) {
        struct file_notes *file = &notes->files.items[i];

        for (size_t k = 0; k < file->lines.count; k++)
            for (size_t kind = 0; kind < LINK_KINDS; kind++)
                free(file->lines.items[k].links[kind].items);
        free(file->lines.items);
    }
    free(notes->files.items);
    memset(notes, 0, sizeof(*notes));
}

const struct line_note *line_notes_find(const struct line_notes *notes, const char *file,
                                        uint32_t line, size_t *file_number)
{
    for (size_t i = 0; file != NULL && i < notes->files.count; i++) {
        const struct file_notes *found = &notes->files.items[i];
        struct line_note wanted = {.line = line};

        if (strcmp(found->path, file) != 0)
            continue;
        *file_number = i;
        return found->lines.count == 0 ? NULL
                                       : bsearch(&wanted, found->lines.items, found->lines.count,
                                                 sizeof(wanted), compare_lines);
    }
    return NULL;
}
