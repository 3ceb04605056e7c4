/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html/libraries.h"

#include <stdlib.h>

#include "report/html/file_text.h"
#include "support/memory.h"

static const struct {
    const char *name, *package, *script;
} known[LIBRARIES] = {
    [LIBRARY_CHARTS] = {"D3", "libjs-d3", "d3/d3.min.js"},
    [LIBRARY_SOURCE] = {"highlight.js", "libjs-highlight.js", "highlight.js/highlight.min.js"},
};

enum { LIBRARY_BYTES_MAX = 1 << 20, LICENCE_BYTES_MAX = 64 << 10 };

/* Together they may not grow beyond what a page may have (2 MB). */
static void read_library(const char *folder, struct html_library_text *library, const char *script)
{
    char *path = format_string("%s/%s", folder, script);
    char *licence = format_string("%s/../doc/%s/copyright", folder, library->package);

    library->script = file_text_read(path, LIBRARY_BYTES_MAX, NULL);
    library->licence = file_text_read(licence, LICENCE_BYTES_MAX, NULL);
    if (library->licence == NULL) {
        free(library->script);
        library->script = NULL;
    }
    free(licence);
    free(path);
}

void html_libraries_read(struct html_library_text libraries[LIBRARIES], bool source)
{
    const char *given = getenv("REUSE_JAVASCRIPT");
    const char *folder = given != NULL && *given != '\0' ? given : "/usr/share/javascript";

    for (size_t i = 0; i < LIBRARIES; i++) {
        libraries[i].name = known[i].name;
        libraries[i].package = known[i].package;
        libraries[i].wanted = i != LIBRARY_SOURCE || source;
        if (libraries[i].wanted)
            read_library(folder, &libraries[i], known[i].script);
    }
}

void html_libraries_free(struct html_library_text libraries[LIBRARIES])
{
    for (size_t i = 0; i < LIBRARIES; i++) {
        free(libraries[i].script);
        free(libraries[i].licence);
    }
}

char *html_libraries_missing(const struct html_library_text libraries[LIBRARIES])
{
    char *list = NULL, *longer;

    for (size_t i = 0; i < LIBRARIES; i++) {
        if (!libraries[i].wanted || libraries[i].script != NULL)
            continue;
        longer = format_string("%s%s%s", list != NULL ? list : "", list != NULL ? " and " : "",
                               libraries[i].package);
        free(list);
        list = longer;
    }
    return list;
}
