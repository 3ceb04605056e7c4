/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/source_text.h"
#include "symbols/named_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "support/memory.h"

static void blank(char *text, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (text[i] != '\n')
            text[i] = ' ';
}

/* End of a preprocessor line, continued lines included. */
static size_t end_of_directive(const char *text, size_t size, size_t i)
{
    while (i < size && (text[i] != '\n' || (i > 0 && text[i - 1] == '\\')))
        i++;
    return i;
}

static size_t end_of_literal(const char *text, size_t size, size_t i)
{
    char quote = text[i++];

    while (i < size && text[i] != quote && text[i] != '\n')
        i += text[i] == '\\' && i + 1 < size ? 2 : 1;
    return i < size ? i + 1 : size;
}

static size_t end_of_comment(const char *text, size_t size, size_t i)
{
    if (text[i + 1] == '/') {
        while (i < size && text[i] != '\n')
            i++;
        return i;
    }
    for (i += 2; i + 1 < size; i++)
        if (text[i] == '*' && text[i + 1] == '/')
            return i + 2;
    return size;
}

/* 1'000'000: the quote inside a C++ number starts no literal. */
static bool is_digit_separator(const char *text, size_t i)
{
    return i > 0 && text[i] == '\'' && isxdigit((unsigned char)text[i - 1]) &&
           isxdigit((unsigned char)text[i + 1]);
}

/* &'a str: the quote of a lifetime in Rust starts no literal. The text ends with a zero. */
static bool is_lifetime(const char *text, size_t i)
{
    return text[i] == '\'' && (isalpha((unsigned char)text[i + 1]) || text[i + 1] == '_') &&
           text[i + 2] != '\'';
}

static void keep_code_only(char *text, size_t size, bool rust)
{
    bool line_start = true; /* only blanks so far on this line */

    for (size_t i = 0; i < size;) {
        size_t end = i + 1;

        if (text[i] == '/' && i + 1 < size && (text[i + 1] == '/' || text[i + 1] == '*')) {
            end = end_of_comment(text, size, i);
            blank(text, i, end);
        } else if (text[i] == '#' && line_start && !rust) {
            end = end_of_directive(text, size, i);
            blank(text, i, end);
        } else if ((text[i] == '"' || text[i] == '\'') && !is_digit_separator(text, i) &&
                   !(rust && is_lifetime(text, i))) {
            end = end_of_literal(text, size, i);
            blank(text, i, end);
            /* Something stands here: two quotes keep "(void *)""..." from becoming a cast. */
            text[i] = '"';
        } else if (text[i] == '\n') {
            line_start = true;
            i = end;
            continue;
        }
        if (!isspace((unsigned char)text[i]))
            line_start = false;
        i = end;
    }
}

static void index_lines(struct source_text *source)
{
    ARRAY(size_t) lines = {0};

    ARRAY_PUSH(&lines, 0);
    for (size_t i = 0; i < source->size; i++)
        if (source->code[i] == '\n')
            ARRAY_PUSH(&lines, i + 1);
    source->lines = lines.items;
    source->line_count = lines.count;
}

static bool has_suffix(const char *path, const char *const *suffixes)
{
    const char *dot = strrchr(path, '.');

    for (; dot != NULL && *suffixes != NULL; suffixes++)
        if (strcasecmp(dot, *suffixes) == 0)
            return true;
    return false;
}

static bool is_fixed_form(const char *path)
{
    static const char *const suffixes[] = {".f", ".for", ".ftn", NULL};

    return has_suffix(path, suffixes);
}

enum source_language source_language_of(const char *path)
{
    static const char *const free_form[] = {".f90", ".f95", ".f03", ".f08", NULL};
    const char *dot = strrchr(path, '.');

    if (is_fixed_form(path) || has_suffix(path, free_form))
        return SOURCE_FORTRAN;
    return dot != NULL && strcmp(dot, ".rs") == 0 ? SOURCE_RUST : SOURCE_C;
}

bool source_text_load(struct source_text *source, const char *path)
{
    int descriptor = named_file_open(path);
    FILE *stream = descriptor < 0 ? NULL : fdopen(descriptor, "r");
    struct stat status;
    size_t got;

    memset(source, 0, sizeof(*source));
    if (stream == NULL)
        return false;
    if (fstat(fileno(stream), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size > SOURCE_BYTES_MAX) {
        fclose(stream);
        return false;
    }
    source->code = allocate_zeroed((size_t)status.st_size + 1, 1);
    got = fread(source->code, 1, (size_t)status.st_size, stream);
    fclose(stream);
    source->size = got;
    source->modified = status.st_mtime;
    source->language = source_language_of(path);
    source->fixed_form = is_fixed_form(path);
    if (source->language != SOURCE_FORTRAN)
        keep_code_only(source->code, source->size, source->language == SOURCE_RUST);
    index_lines(source);
    return true;
}

void source_text_from_memory(struct source_text *source, const char *text,
                             enum source_language language)
{
    memset(source, 0, sizeof(*source));
    source->code = copy_string(text);
    source->size = strlen(text);
    source->language = language;
    if (language != SOURCE_FORTRAN)
        keep_code_only(source->code, source->size, language == SOURCE_RUST);
    index_lines(source);
}

void source_text_free(struct source_text *source)
{
    free(source->code);
    free(source->lines);
    memset(source, 0, sizeof(*source));
}
