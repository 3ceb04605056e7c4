/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of global variables, found for all observations of a module at once. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/object_labels_internal.h"

/* By module and address. Where modules lie in our memory differs between two reports on one
 * profile: their paths order them, so that objects of equal weight keep their places. */
static int compare_globals(const void *left, const void *right)
{
    const struct pending_global *a = left, *b = right;

    if (a->module != b->module) {
        int order = strcmp(symbol_module_path(a->module), symbol_module_path(b->module));

        return order != 0 ? order : (a->module < b->module ? -1 : 1);
    }
    return a->address != b->address ? (a->address < b->address ? -1 : 1) : 0;
}

/* ".bss+0x1c0 of app", ".bss of app" or "data of app". The caller frees it. */
static char *name_of_nameless(const struct data_symbol *symbol, const char *module)
{
    if (symbol->section == NULL)
        return format_string("data of %s", module);
    if (symbol->address == symbol->section_start)
        return format_string("%s of %s", symbol->section, module);
    return format_string("%s+0x%" PRIx64 " of %s", symbol->section,
                         symbol->address - symbol->section_start, module);
}

static uint32_t object_of_symbol(struct labelling *labelling, struct symbol_module *module,
                                 const struct data_symbol *symbol)
{
    struct data_object object = {.kind = "global",
                                 .name = symbol->name,
                                 .size = symbol->size,
                                 .file = symbol->file,
                                 .line = symbol->line,
                                 .owner = module,
                                 .type = symbol->type};

    if (object.name == NULL) {
        char *text = name_of_nameless(symbol, symbol_module_name(module));

        object.name = intern_table_string(labelling->model->strings, text);
        free(text);
        return object_labels_intern(labelling, &object, 0);
    }
    /* Two static variables may have one name. */
    return object_labels_intern(labelling, &object, symbol->address);
}

/* All globals of one module at once: the debug information is searched once for all of them. */
static void label_globals_of_module(struct labelling *labelling,
                                    const struct pending_global *globals, size_t count)
{
    uint64_t *addresses = allocate_zeroed(count, sizeof(*addresses));
    struct data_symbol *symbols;
    size_t distinct = 0, at = 0;

    for (size_t i = 0; i < count; i++)
        if (i == 0 || globals[i].address != addresses[distinct - 1])
            addresses[distinct++] = globals[i].address;
    symbols = allocate_zeroed(distinct, sizeof(*symbols));
    symbol_module_variables(globals[0].module, addresses, distinct, symbols);
    for (size_t i = 0; i < count; i++) {
        while (addresses[at] != globals[i].address)
            at++;
        labelling->labels[globals[i].observation] =
            object_of_symbol(labelling, globals[i].module, &symbols[at]);
        if (labelling->offsets != NULL && symbols[at].name != NULL)
            labelling->offsets[globals[i].observation] = globals[i].address - symbols[at].address;
    }
    free(symbols);
    free(addresses);
}

void object_labels_globals(struct labelling *labelling)
{
    struct pending_global *globals = labelling->globals.items;
    size_t count = labelling->globals.count, end;

    if (count > 0)
        qsort(globals, count, sizeof(*globals), compare_globals);
    for (size_t i = 0; i < count; i = end) {
        for (end = i + 1; end < count && globals[end].module == globals[i].module; end++)
            ;
        label_globals_of_module(labelling, globals + i, end - i);
    }
}
