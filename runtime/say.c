/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "say.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "signal_safe.h"

/* Written once by say_begin(). */
static bool is_quiet, is_verbose, has_stderr;
static dev_t stderr_device;
static ino_t stderr_inode;

void line_begin(struct line *line)
{
    line->length = 0;
    line_text(line, "libreuse: ");
}

void line_text(struct line *line, const char *text)
{
    size_t n = strlen(text), room = sizeof line->text - 1 - line->length;

    if (n > room)
        n = room;
    memcpy(line->text + line->length, text, n);
    line->length += n;
}

void line_number(struct line *line, uint64_t number)
{
    line_fixed(line, number, 0);
}

void line_fixed(struct line *line, uint64_t value, unsigned decimals)
{
    char digits[32];
    size_t at = sizeof digits;

    digits[--at] = '\0';
    for (unsigned i = 0; value > 0 || i <= decimals; i++) {
        if (decimals > 0 && i == decimals)
            digits[--at] = '.';
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    }
    line_text(line, digits + at);
}

void line_error(struct line *line, int error)
{
    const char *name = strerrorname_np(error);

    if (name)
        line_text(line, name);
    else
        line_number(line, (uint64_t)error);
}

void say_begin(bool quiet, bool verbose)
{
    struct stat status;

    is_quiet = quiet;
    is_verbose = verbose;
    has_stderr = fstat(STDERR_FILENO, &status) == 0;
    if (has_stderr) {
        stderr_device = status.st_dev;
        stderr_inode = status.st_ino;
    }
}

static void print(const struct line *line)
{
    struct stat status;
    struct line copy = *line;
    int saved = errno;

    if (has_stderr && fstat(STDERR_FILENO, &status) == 0 && status.st_dev == stderr_device &&
        status.st_ino == stderr_inode) {
        copy.text[copy.length] = '\n';
        long ignored = syscall(SYS_write, STDERR_FILENO, copy.text, copy.length + 1);
        (void)ignored;
    }
    errno = saved;
}

void say(const struct line *line)
{
    if (!is_quiet)
        print(line);
}

void say_error(const struct line *line)
{
    print(line);
}

void say_verbose(const struct line *line)
{
    if (is_verbose)
        print(line);
}
