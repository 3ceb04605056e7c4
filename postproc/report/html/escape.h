/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text that others wrote, on its way into the page: symbols, file names and sources may hold
 * anything, and none of it may become markup or script. Text is valid UTF-8 (support/utf8.h).
 */
#ifndef REUSE_POSTPROC_HTML_ESCAPE_H
#define REUSE_POSTPROC_HTML_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* For text and for attribute values in double quotes. Control characters but tab and newline are
 * shown as U+FFFD, so are those that turn the direction of writing. */
void html_text(const char *text, FILE *);
void html_text_part(const char *text, size_t bytes, FILE *);

/* JSON inside <script type="application/json">: the same value, without '<', '>' and '&'. */
void html_json(const char *json, FILE *);

/* A program inside <script>: the same program, without "</script" and "<!--". */
void html_script(const char *script, FILE *);

#endif
