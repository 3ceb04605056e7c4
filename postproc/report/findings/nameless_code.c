/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/nameless_code.h"

#include <string.h>

#include "symbols/library_source.h"

/* NULL: there is none of that name, or it has debug information. */
static const struct symbol_module *module_without_lines(struct model *model, const char *name)
{
    struct symbols *symbols = resolver_symbols(model->resolver);

    for (size_t i = 0; name != NULL && i < symbols_module_count(symbols); i++) {
        struct symbol_module *module = symbols_module_number(symbols, i);
        enum module_state state = symbol_module_state(module);

        if (strcmp(symbol_module_name(module), name) == 0)
            return state == MODULE_STRIPPED || state == MODULE_SYMBOLS ? module : NULL;
    }
    return NULL;
}

char *nameless_code_text(struct model *model, const struct finding *const *findings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct code_line *line = &findings[i]->lines[0];
        const struct symbol_module *module;

        if (findings[i]->line_count == 0 || line->file != NULL)
            continue;
        module = module_without_lines(model, line->module);
        if (module == NULL)
            continue;
        if (is_system_file(symbol_module_path(module)))
            return format_string("Source lines of %s: reuse-doctor %s says which package has its "
                                 "debug information.",
                                 symbol_module_name(module), symbol_module_path(module));
        return format_string("Source lines of %s: compile it with -g, and do not strip it.",
                             symbol_module_name(module));
    }
    return NULL;
}
