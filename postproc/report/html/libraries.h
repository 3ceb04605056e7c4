/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The JavaScript libraries of the page, as Debian installs them (libjs-d3, libjs-highlight.js),
 * with the text of their licences. They are looked for below $REUSE_JAVASCRIPT, else
 * /usr/share/javascript.
 */
#ifndef REUSE_POSTPROC_HTML_LIBRARIES_H
#define REUSE_POSTPROC_HTML_LIBRARIES_H

#include <stdbool.h>

enum html_library { LIBRARY_CHARTS, LIBRARY_SOURCE, LIBRARIES };

struct html_library_text {
    const char *name;    /* "D3", for people */
    const char *package; /* that has it */
    char *script;        /* NULL: it is not installed, or its licence is not */
    char *licence;
    bool wanted;
};

/* source: also the one that colours source. What is missing has no script: see
 * html_libraries_missing(). */
void html_libraries_read(struct html_library_text libraries[LIBRARIES], bool source);
void html_libraries_free(struct html_library_text libraries[LIBRARIES]);

/* "libjs-d3 and libjs-highlight.js"; NULL if none is missing. The caller frees it. */
char *html_libraries_missing(const struct html_library_text libraries[LIBRARIES]);

#endif
