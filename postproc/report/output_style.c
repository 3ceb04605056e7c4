/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/output_style.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Wider than any screen: what COLUMNS says beyond this is a mistake. */
enum { PAGE_WIDTH_MAX = 10000 };

/* Whether the report becomes a regular file, one that -o makes included. */
static bool goes_to_file(const struct report_options *options)
{
    struct stat status;

    if (options->output == NULL)
        return fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode);
    return stat(options->output, &status) != 0 || S_ISREG(status.st_mode);
}

static bool goes_to_terminal(const struct report_options *options)
{
    return options->output == NULL && isatty(STDOUT_FILENO);
}

/* 0: it is not set, or no number. */
static size_t columns_variable(void)
{
    const char *text = getenv("COLUMNS");
    char *end;
    unsigned long columns;

    if (text == NULL || *text < '0' || *text > '9')
        return 0;
    errno = 0;
    columns = strtoul(text, &end, 10);
    return errno == 0 && *end == '\0' && columns <= PAGE_WIDTH_MAX ? columns : 0;
}

static size_t width_of(const struct report_options *options)
{
    struct winsize window;
    size_t columns;

    if (goes_to_file(options))
        return 0;
    columns = columns_variable();
    if (columns == 0 && goes_to_terminal(options) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0)
        columns = window.ws_col;
    return columns > PAGE_WIDTH_MIN ? columns : PAGE_WIDTH_MIN;
}

static bool has_colors(const struct report_options *options)
{
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return goes_to_terminal(options) && (refused == NULL || *refused == '\0') && terminal != NULL &&
           *terminal != '\0' && strcmp(terminal, "dumb") != 0;
}

struct text_style output_style(const struct report_options *options)
{
    return (struct text_style){
        .width = width_of(options),
        .colour =
            options->color == COLOR_ALWAYS || (options->color == COLOR_AUTO && has_colors(options)),
    };
}
