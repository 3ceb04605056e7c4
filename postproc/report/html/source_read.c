/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a source file for the page, or says why it is not shown. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "report/html/file_text.h"
#include "report/html/lookup.h"
#include "report/html/source_view.h"
#include "report/model/model.h"
#include "symbols/source_text.h"

/*
 * The profile and the debug information name the files, and pages are passed on: only what is named
 * like source text is taken into one, never a key or a password file that a forged profile names.
 */
static bool is_named_like_source(const char *path)
{
    static const char *const suffixes[] = {
        ".c",   ".h",   ".cc",  ".cpp", ".cxx", ".c++", ".hh",  ".hpp",  ".hxx", ".inl",   ".ipp",
        ".tcc", ".inc", ".def", ".cu",  ".cuh", ".m",   ".mm",  ".s",    ".asm", ".f",     ".for",
        ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08", ".rs",  ".go",   ".d",   ".zig",   ".nim",
        ".v",   ".ada", ".adb", ".ads", ".pas", ".ml",  ".hs",  ".jl",   ".cr",  ".swift", ".java",
        ".kt",  ".py",  ".js",  ".y",   ".l",   ".re",  ".pyx", ".ispc", ".cl",  ".metal"};
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash != NULL ? slash : path, '.');

    for (size_t i = 0; dot != NULL && i < sizeof(suffixes) / sizeof(*suffixes); i++)
        if (strcasecmp(dot, suffixes[i]) == 0)
            return true;
    return false;
}

/* When the youngest binary that has lines of the file was made; 0: not known. */
static int64_t binary_time(const struct model *model, const struct document *document,
                           const char *path)
{
    const struct table *lines = lookup_table(document, "lines");
    struct symbols *symbols;
    int64_t newest = 0;

    if (model == NULL || lines == NULL)
        return 0;
    symbols = resolver_symbols(model->resolver);
    for (size_t i = 0; i < lines->rows.count; i++) {
        const char *file = lookup_text(lines, i, "file"), *module = lookup_text(lines, i, "module");

        if (file == NULL || module == NULL || strcmp(file, path) != 0)
            continue;
        for (size_t k = 0; k < symbols_module_count(symbols); k++) {
            struct symbol_module *found = symbols_module_number(symbols, k);

            if (strcmp(symbol_module_name(found), module) == 0 &&
                symbol_module_time(found) > newest)
                newest = symbol_module_time(found);
        }
    }
    return newest;
}

char *source_view_read(const char *path, const struct source_options *options, char **gap)
{
    char *found, *text;
    int64_t modified = 0, built;

    *gap = NULL;
    if (!options->text) {
        *gap = copy_string("The text is left out (--no-source).");
        return NULL;
    }
    if (!is_named_like_source(path)) {
        *gap = copy_string("The text is left out: the file is not named like source code.");
        return NULL;
    }
    found = format_string("%s%s", options->sysroot, path);
    text = file_text_read(found, SOURCE_BYTES_MAX, &modified);
    if (text == NULL)
        *gap = format_string("The source is not at hand: %s: %s. Make the page where the program "
                             "was built, or name its root with --sysroot.",
                             found, strerror(errno));
    built = text != NULL ? binary_time(options->model, options->document, path) : 0;
    if (built != 0 && modified > built)
        *gap = copy_string("This file was changed after the program was built: figures may stand "
                           "beside other lines than those that made them.");
    free(found);
    return text;
}
