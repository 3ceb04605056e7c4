/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of output files from their pattern. Signal-safe. */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* By a system call, for a target may have a stat() of its own. */
static bool is_folder(const char *path)
{
    struct stat status;

    return syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

void option_output_in_folder(char output[], const char *name)
{
    size_t length = strlen(output), more = strlen(name) + 1;
    bool ends = length > 0 && output[length - 1] == '/';

    if ((!ends && !is_folder(output)) || length + 1 + more > OPTIONS_OUTPUT_MAX)
        return;
    if (!ends)
        output[length++] = '/';
    memcpy(output + length, name, more);
}

static const char *file_of_program(const struct output_names *names)
{
    const char *program = names->program ? names->program : "unknown";
    const char *slash = strrchr(program, '/');

    return slash && slash[1] ? slash + 1 : program;
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
    case 'e':
        option_text_append_component(text, file_of_program(names));
        break;
    default:
        option_text_append_character(text, conversion);
    }
}

static void append_pattern(struct option_text *text, const char *pattern,
                           const struct output_names *names)
{
    for (; *pattern; pattern++) {
        if (*pattern == '%')
            append_conversion(text, *++pattern, names);
        else
            option_text_append_character(text, *pattern);
    }
}

/* By how much the file's name is longer than a file system takes, with what it may be numbered by
 * (".2"). */
static size_t excess(const char *path)
{
    enum { NUMBER_ROOM = 12, MOST = NAME_MAX - NUMBER_ROOM };
    const char *slash = strrchr(path, '/');
    size_t length = strlen(slash ? slash + 1 : path);

    return length > MOST ? length - MOST : 0;
}

static bool file_has_program(const char *pattern)
{
    const char *slash = strrchr(pattern, '/');

    for (const char *at = slash ? slash : pattern; (at = strchr(at, '%')); at += 2)
        if (at[1] == 'e')
            return true;
    return false;
}

/* Programs may have names as long as a file's can be: so much of it as leaves room for the rest. */
static void shorten_program(const char *pattern, const struct output_names *names,
                            struct option_text *text, char *path, size_t path_size)
{
    struct output_names cut = *names;
    const char *program = file_of_program(names);
    size_t length = strlen(program), over = excess(path);
    char shorter[NAME_MAX + 1];

    if (over == 0 || !file_has_program(pattern) || length <= over || length - over > NAME_MAX)
        return;
    length -= over;
    /* A character of several bytes stays whole or goes. */
    while (length > 1 && ((unsigned char)program[length] & 0xc0) == 0x80)
        length--;
    memcpy(shorter, program, length);
    shorter[length] = '\0';
    cut.program = shorter;
    *text = option_text_begin(path, path_size);
    append_pattern(text, pattern, &cut);
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
    append_pattern(&expanded, pattern, names);
    if (!expanded.full && expanded.length > 0)
        shorten_program(pattern, names, &expanded, path, path_size);
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
