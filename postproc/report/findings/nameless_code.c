/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/nameless_code.h"

#include "symbols/library_source.h"

static bool lacks_lines(struct symbol_module *module)
{
    enum module_state state = symbol_module_state(module);

    return state == MODULE_STRIPPED || state == MODULE_SYMBOLS;
}

char *nameless_code_text(struct model *model, const struct finding *const *findings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct code_line *line = &findings[i]->lines[0];
        struct symbol_module *module;

        if (findings[i]->line_count == 0 || line->file != NULL)
            continue;
        module = symbols_module_named(resolver_symbols(model->resolver), line->module);
        if (module == NULL || !lacks_lines(module))
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
