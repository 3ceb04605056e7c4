/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of output files from their pattern. Signal-safe. */
#include <string.h>

#include "options_internal.h"

#include "signal_safe.h"

bool option_pattern_is_valid(const char *pattern)
{
    if (strlen(pattern) >= OPTIONS_OUTPUT_MAX)
        return false;
    for (const char *at = strchr(pattern, '%'); at; at = strchr(at + 2, '%')) {
        if (at[1] == '\0' || !strchr("phjre%", at[1]))
            return false;
    }
    return true;
}

static void append_conversion(struct option_text *text, char conversion,
                              const struct output_names *names)
{
    switch (conversion) {
    case 'p':
        if (names->pid < 0)
            option_text_append_character(text, '-');
        option_text_append_number(text,
                                  names->pid < 0 ? -(uint64_t)names->pid : (uint64_t)names->pid);
        break;
    case 'h':
        option_text_append_component(text, names->host ? names->host : "unknown");
        break;
    case 'j':
        option_text_append_component(text, names->job && *names->job ? names->job : "0");
        break;
    case 'r':
        option_text_append_component(text, names->rank && *names->rank ? names->rank : "0");
        break;
    case 'e': {
        const char *program = names->program ? names->program : "unknown";
        const char *slash = strrchr(program, '/');
        option_text_append_component(text, slash && slash[1] ? slash + 1 : program);
        break;
    }
    default:
        option_text_append_character(text, conversion);
    }
}

int options_expand_output(const char *pattern, const struct output_names *names, char *path,
                          size_t path_size, char *reason, size_t reason_size)
{
    struct option_text expanded = option_text_begin(path, path_size);
    struct option_text text = option_text_begin(reason, reason_size);

    if (!option_pattern_is_valid(pattern)) {
        option_explain(&text, OPTION_OUTPUT, pattern);
        return -1;
    }
    for (const char *at = pattern; *at; at++) {
        if (*at == '%')
            append_conversion(&expanded, *++at, names);
        else
            option_text_append_character(&expanded, *at);
    }
    if (!expanded.full && expanded.length > 0)
        return 0;
    option_text_append(&text, "'");
    option_text_append(&text, pattern);
    option_text_append(&text, expanded.full ? "' names a file longer than a path can be"
                                            : "' names no file");
    if (path_size > 0)
        path[0] = '\0';
    return -1;
}
