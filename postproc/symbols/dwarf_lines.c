/* SPDX-License-Identifier: BSD-3-Clause */
/* Line tables: address -> file, line, column; file numbers -> paths. */
#include <stdlib.h>
#include <string.h>

#include "symbols/dwarf_internal.h"
#include "symbols/line_program.h"

/* Path of file number `number`: directory of the table, made absolute with the unit's directory. */
static const char *path_of_file(struct dwarf_file *file, const struct unit *unit,
                                Dwarf_Line_Context table, Dwarf_Unsigned version,
                                Dwarf_Signed number)
{
    const char *name = NULL, *directory = NULL, *result;
    Dwarf_Unsigned directory_number = 0, time = 0, length = 0;
    Dwarf_Form_Data16 *md5 = NULL;
    Dwarf_Error error = NULL;
    char *path;

    if (!dwarf_succeeded(file->debug,
                         dwarf_srclines_files_data_b(table, number, &name, &directory_number, &time,
                                                     &length, &md5, &error),
                         error) ||
        name == NULL)
        return NULL;
    /* Directory 0 is the unit's own; before DWARF 5 it is not in the table. */
    if (*name != '/' && (directory_number > 0 || version >= 5)) {
        error = NULL;
        if (!dwarf_succeeded(file->debug,
                             dwarf_srclines_include_dir_data(table, (Dwarf_Signed)directory_number,
                                                             &directory, &error),
                             error))
            directory = NULL;
    }
    if (*name == '/')
        return intern_table_string(file->strings, name);
    if (directory == NULL || *directory == '\0')
        directory = unit->directory;
    if (directory == NULL)
        return intern_table_string(file->strings, name);
    if (*directory == '/' || unit->directory == NULL || directory == unit->directory)
        path = format_string("%s/%s", directory, name);
    else
        path = format_string("%s/%s/%s", unit->directory, directory, name);
    result = intern_table_string(file->strings, path);
    free(path);
    return result;
}

static void copy_files(struct dwarf_file *file, struct unit *unit, Dwarf_Line_Context table,
                       Dwarf_Unsigned version)
{
    Dwarf_Signed first = 0, count = 0, end = 0;
    Dwarf_Error error = NULL;

    if (unit->files_loaded)
        return;
    unit->files_loaded = true;
    if (!dwarf_succeeded(file->debug,
                         dwarf_srclines_files_indexes(table, &first, &count, &end, &error),
                         error) ||
        end <= first || first < 0)
        return;
    unit->file_count = (size_t)end;
    unit->files = allocate_zeroed(unit->file_count, sizeof(*unit->files));
    for (Dwarf_Signed i = first; i < end; i++)
        unit->files[i] = path_of_file(file, unit, table, version, i);
}

static int compare_spans(const void *left, const void *right)
{
    const struct line_span *a = left, *b = right;

    return a->low != b->low ? (a->low < b->low ? -1 : 1) : 0;
}

struct collector {
    struct unit *unit;
    struct line_span open;
    bool is_open;
};

/* A row holds from its address to that of the next row of its sequence. */
static void collect_row(void *context, const struct line_row *row)
{
    struct collector *collector = context;

    /* Discarded sections start at 0 or 1. */
    if (collector->is_open && collector->open.low > 1 && collector->open.low < row->address) {
        collector->open.high = row->address;
        ARRAY_PUSH(&collector->unit->lines, collector->open);
    }
    collector->open = (struct line_span){
        .low = row->address, .file = row->file, .line = row->line, .column = row->column};
    collector->is_open = !row->end_sequence;
}

static void copy_lines(struct dwarf_file *file, struct unit *unit, Dwarf_Line_Context table)
{
    struct collector collector = {.unit = unit};
    const unsigned char *section;
    Dwarf_Unsigned offset = 0;
    Dwarf_Error error = NULL;
    size_t size;

    section = elf_image_section_data(file->image, ".debug_line", &size);
    if (section == NULL ||
        !dwarf_succeeded(file->debug, dwarf_srclines_table_offset(table, &offset, &error), error))
        return;
    line_program_run(section, size, offset, collect_row, &collector);
    if (unit->lines.count > 0)
        qsort(unit->lines.items, unit->lines.count, sizeof(*unit->lines.items), compare_spans);
}

/* Reading the header alone gives the file names; the rows are many times larger. */
static void load_table(struct dwarf_file *file, struct unit *unit, bool with_rows)
{
    struct entry die = entry_at(file->debug, unit->die);
    Dwarf_Unsigned version = 0;
    Dwarf_Small tables = 0;
    Dwarf_Line_Context table = NULL;
    Dwarf_Error error = NULL;

    if (die.die == NULL)
        return;
    if (dwarf_succeeded(file->debug, dwarf_srclines_b(die.die, &version, &tables, &table, &error),
                        error)) {
        copy_files(file, unit, table, version);
        if (with_rows && tables == 1)
            copy_lines(file, unit, table);
        dwarf_srclines_dealloc_b(table);
    }
    entry_release(die);
}

void unit_load_files(struct dwarf_file *file, struct unit *unit)
{
    if (!unit->files_loaded)
        load_table(file, unit, false);
    unit->files_loaded = true;
}

void unit_load_lines(struct dwarf_file *file, struct unit *unit)
{
    if (!unit->lines_loaded)
        load_table(file, unit, true);
    unit->lines_loaded = true;
    unit->files_loaded = true;
}

const char *unit_file(struct dwarf_file *file, struct unit *unit, uint64_t number)
{
    unit_load_files(file, unit);
    return number < unit->file_count ? unit->files[number] : NULL;
}

const struct line_span *unit_line(struct dwarf_file *file, struct unit *unit, uint64_t address)
{
    size_t low = 0, high;

    unit_load_lines(file, unit);
    high = unit->lines.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (unit->lines.items[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= unit->lines.items[low - 1].high)
        return NULL;
    return &unit->lines.items[low - 1];
}
