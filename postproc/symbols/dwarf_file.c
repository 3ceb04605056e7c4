/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening debug information and finding the compile unit of an address. */
#include "symbols/dwarf_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/dwarf_internal.h"
#include "symbols/named_file.h"

static Dwarf_Debug open_debug(const char *path, int *descriptor)
{
    Dwarf_Debug debug = NULL;
    Dwarf_Error error = NULL;

    *descriptor = named_file_open(path);
    if (*descriptor < 0)
        return NULL;
    if (!dwarf_succeeded(
            NULL,
            dwarf_init_b(*descriptor, DW_DLC_READ, DW_GROUPNUMBER_ANY, NULL, NULL, &debug, &error),
            error)) {
        close(*descriptor);
        *descriptor = -1;
        return NULL;
    }
    return debug;
}

static void add_unit(struct dwarf_file *file, Dwarf_Off header, Dwarf_Half version)
{
    struct unit unit = {.header = header, .version = version};
    struct entry die = {.debug = file->debug};
    Dwarf_Error error = NULL;
    Dwarf_Half tag = 0;
    const char *directory;

    if (!dwarf_succeeded(file->debug, dwarf_siblingof_b(file->debug, NULL, 1, &die.die, &error),
                         error))
        return;
    error = NULL;
    if (dwarf_succeeded(file->debug, dwarf_dieoffset(die.die, &unit.die, &error), error)) {
        error = NULL;
        if (!dwarf_succeeded(file->debug, dwarf_tag(die.die, &tag, &error), error))
            tag = 0;
        if (tag == DW_TAG_skeleton_unit || entry_text(die, DW_AT_GNU_dwo_name, &directory))
            file->split_units++;
        if (entry_text(die, DW_AT_comp_dir, &directory))
            unit.directory = intern_table_string(file->strings, directory);
        if (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit)
            entry_ranges(die, version, unit_low_address(die), (uint32_t)file->units.count,
                         &file->unit_ranges);
        ARRAY_PUSH(&file->units, unit);
    }
    entry_release(die);
}

/* Headers and top entries only. .debug_aranges would be faster but clang does not write it. */
static void load_units(struct dwarf_file *file)
{
    Dwarf_Off header = 0;
    Dwarf_Unsigned length, type_offset, next = 0;
    Dwarf_Half version, address_size, offset_size, extension, kind;
    Dwarf_Off abbreviations;
    Dwarf_Sig8 signature;
    Dwarf_Error error = NULL;

    while (dwarf_succeeded(file->debug,
                           dwarf_next_cu_header_d(file->debug, 1, &length, &version, &abbreviations,
                                                  &address_size, &offset_size, &extension,
                                                  &signature, &type_offset, &next, &kind, &error),
                           error)) {
        add_unit(file, header, version);
        header = next;
        error = NULL;
    }
    sort_ranges(&file->unit_ranges);
}

struct dwarf_file *dwarf_file_open(const char *path, const char *alternate,
                                   struct intern_table *strings)
{
    struct dwarf_file *file = allocate_zeroed(1, sizeof(*file));
    char message[128];

    file->strings = strings;
    file->alternate_descriptor = -1;
    file->image = elf_image_open(path, message, sizeof(message));
    file->debug = file->image != NULL ? open_debug(path, &file->descriptor) : NULL;
    if (file->debug == NULL) {
        elf_image_close(file->image);
        free(file);
        return NULL;
    }
    if (alternate != NULL)
        file->alternate = open_debug(alternate, &file->alternate_descriptor);
    if (file->alternate != NULL) {
        Dwarf_Error error = NULL;

        dwarf_succeeded(file->debug, dwarf_set_tied_dbg(file->debug, file->alternate, &error),
                        error);
    }
    load_units(file);
    return file;
}

static void free_unit(struct unit *unit)
{
    for (size_t i = 0; i < unit->functions.count; i++) {
        free(unit->functions.items[i].inlines.items);
        free(unit->functions.items[i].inline_ranges.items);
    }
    free(unit->functions.items);
    free(unit->function_ranges.items);
    free(unit->files);
    free(unit->lines.items);
    intern_table_free(unit->variables);
    intern_table_free(unit->members);
}

void dwarf_file_close(struct dwarf_file *file)
{
    Dwarf_Error error = NULL;

    if (file == NULL)
        return;
    for (size_t i = 0; i < file->units.count; i++)
        free_unit(&file->units.items[i]);
    free(file->units.items);
    free(file->unit_ranges.items);
    dwarf_succeeded(NULL, dwarf_finish(file->debug, &error), error);
    close(file->descriptor);
    if (file->alternate != NULL) {
        error = NULL;
        dwarf_succeeded(NULL, dwarf_finish(file->alternate, &error), error);
        close(file->alternate_descriptor);
    }
    elf_image_close(file->image);
    free(file);
}

struct unit *unit_of_offset(struct dwarf_file *file, Dwarf_Off offset)
{
    size_t low = 0, high = file->units.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (file->units.items[middle].header <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &file->units.items[low - 1] : NULL;
}

struct unit *unit_of_address(struct dwarf_file *file, uint64_t address)
{
    const struct address_range *range = find_range(&file->unit_ranges, address);

    return range != NULL ? &file->units.items[range->index] : NULL;
}

size_t dwarf_file_split_units(struct dwarf_file *file)
{
    return file->split_units;
}
