/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/demangle.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* libiberty's demangle.h includes "libiberty.h", which declares basename() in a way that conflicts
 * with <string.h> unless this is set. */
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

#include "support/memory.h"

/* What compilers append to the name of a function that they made out of another one. */
static const struct {
    const char *suffix, *word;
} suffixes[] = {{"._omp_fn.", "omp"},        {"._omp_cpyfn.", "omp copy"}, {".omp_outlined", "omp"},
                {".constprop.", "constant"}, {".isra.", "parameters"},     {".part.", "part"},
                {".cold", "cold"},           {".lto_priv.", "local"}};

/* The first of them in a name: where it begins and its word; NULL: none. */
static const char *find_suffix(const char *name, const char **word, size_t *length)
{
    const char *first = NULL;

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        const char *found = strstr(name, suffixes[i].suffix);

        if (found == NULL || found == name || (first != NULL && found >= first))
            continue;
        first = found;
        *word = suffixes[i].word;
        *length = strlen(suffixes[i].suffix);
    }
    return first;
}

static char *demangle_base(const char *linkage_name)
{
    /* C names are the common case and never start like this. */
    if (strncmp(linkage_name, "_Z", 2) != 0 && strncmp(linkage_name, "_R", 2) != 0 &&
        strncmp(linkage_name, "_D", 2) != 0 && strncmp(linkage_name, "__Z", 3) != 0)
        return NULL;
    return cplus_demangle(linkage_name, DMGL_AUTO | DMGL_ANSI);
}

/* "f [omp 4]": compilers count what they make out of one function. */
static char *with_word(const char *base, const char *word, const char *number)
{
    size_t digits = strspn(number, "0123456789");

    return digits > 0 ? format_string("%s [%s %.*s]", base, word, (int)digits, number)
                      : format_string("%s [%s]", base, word);
}

char *demangle(const char *linkage_name)
{
    const char *word = NULL, *suffix;
    char *base, *readable, *text;
    size_t length = 0;

    suffix = find_suffix(linkage_name, &word, &length);
    if (suffix == NULL)
        return demangle_base(linkage_name);
    base = format_string("%.*s", (int)(suffix - linkage_name), linkage_name);
    readable = demangle_base(base);
    text = with_word(readable != NULL ? readable : base, word, suffix + length);
    free(readable);
    free(base);
    return text;
}
