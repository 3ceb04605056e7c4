/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes: what the runtime had to say, and why some names are missing. */
#include <stdlib.h>
#include <string.h>

#include "report/sections/sections.h"
#include "support/intern_table.h"
#include "symbols/library_source.h"

static const struct {
    enum module_state state;
    const char *words;
} causes[] = {
    {MODULE_WRONG_BUILD_ID,
     "Not the file that ran (its build-id differs), so shown by offset only"},
    {MODULE_MISSING, "File not found, so shown by offset only (--sysroot says where to look)"},
    {MODULE_STRIPPED, "Stripped, so exported names only"},
    {MODULE_SYMBOLS, "No debug information, so functions but no source lines"},
};

/* One note for all modules with the same cause: "cause: a, b, c". */
static void note_modules(struct model *model, struct document *document, struct section *section,
                         enum module_state state, const char *words)
{
    struct symbols *symbols = resolver_symbols(model->resolver);
    char *text = NULL, *longer;

    for (size_t i = 0; i < symbols_module_count(symbols); i++) {
        struct symbol_module *module = symbols_module_number(symbols, i);

        if (symbol_module_state(module) != state)
            continue;
        longer = text == NULL ? format_string("%s: %s", words, symbol_module_name(module))
                              : format_string("%s, %s", text, symbol_module_name(module));
        free(text);
        text = longer;
    }
    if (text != NULL)
        section_paragraph(document, section, "notes", text);
    free(text);
}

/* Where names and lines can be had from, once for all modules that lack them. */
static void note_remedy(struct model *model, struct document *document, struct section *section)
{
    struct symbols *symbols = resolver_symbols(model->resolver);
    bool own = false, distributed = false;
    const char *packaged = "what a distribution built has them in a package of its own "
                           "(PACKAGE-dbgsym on Debian: `reuse-doctor FILE` says which), or fetch "
                           "them: `debuginfod-find debuginfo FILE`";
    char *text;

    for (size_t i = 0; i < symbols_module_count(symbols); i++) {
        struct symbol_module *module = symbols_module_number(symbols, i);
        enum module_state state = symbol_module_state(module);

        if (state != MODULE_STRIPPED && state != MODULE_SYMBOLS)
            continue;
        own |= !is_system_file(symbol_module_path(module));
        distributed |= is_system_file(symbol_module_path(module));
    }
    if (!own && !distributed)
        return;
    text = format_string("For names and source lines: %s%s%s",
                         own ? "compile with -g and do not strip" : "",
                         own && distributed ? "; " : "", distributed ? packaged : "");
    section_paragraph(document, section, "notes", text);
    free(text);
}

static void note_split(struct model *model, struct document *document, struct section *section)
{
    struct symbols *symbols = resolver_symbols(model->resolver);

    for (size_t i = 0; i < symbols_module_count(symbols); i++) {
        struct symbol_module *module = symbols_module_number(symbols, i);
        char *text;

        if (!symbol_module_is_split(module))
            continue;
        text = format_string("%s: debug information in .dwo files is not read; inlined functions "
                             "and variables of those units have no names",
                             symbol_module_name(module));
        section_paragraph(document, section, "notes", text);
        free(text);
    }
}

static void note_end(struct model *model, struct document *document, struct section *section)
{
    for (size_t p = 0; p < model->profile_count; p++) {
        const struct profile *profile = model->profiles[p];
        char *text;

        if (profile->complete)
            continue;
        if (profile->being_written)
            text = format_string("%s: the run is still going on; this is what it has written so "
                                 "far",
                                 profile->path);
        else
            text =
                format_string("%s ends early%s: the run was killed, is still going on "
                              "elsewhere, or the disk was full. Everything up to its last "
                              "whole record is used",
                              profile->path, profile->dropped_bytes > 0 ? ", within a record" : "");
        section_paragraph(document, section, "notes", text);
        free(text);
    }
}

/* What the runtime had to say: of many processes, each thing once. */
static void note_runs(struct model *model, struct document *document, struct section *section)
{
    struct intern_table *told = intern_table_create();

    for (size_t p = 0; p < model->profile_count; p++)
        for (size_t i = 0; i < model->profiles[p]->notes.count; i++) {
            const char *text = model->profiles[p]->notes.items[i]->text;

            if (intern_table_find(told, text, strlen(text)) != INTERN_TABLE_NONE)
                continue;
            intern_table_insert(told, text, strlen(text));
            section_paragraph(document, section, "notes", text);
        }
    intern_table_free(told);
}

void section_notes(struct model *model, struct document *document)
{
    struct section *section = document_section(document, "notes", "Notes", true);

    note_end(model, document, section);
    note_runs(model, document, section);
    if (!model_splits(model))
        section_paragraph(document, section, "notes",
                          "An exact profile counts lines and objects for the whole process, not "
                          "for one region or thread");
    if (model->machine_assumed)
        section_paragraph(document, section, "notes",
                          "The profile does not say what caches its machine has; common sizes "
                          "stand in. --machine names others");
    for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
        note_modules(model, document, section, causes[i].state, causes[i].words);
    note_remedy(model, document, section);
    note_split(model, document, section);
    for (size_t i = 0; i < model->remarks.count; i++)
        section_paragraph(document, section, "notes", model->remarks.items[i]);
}
