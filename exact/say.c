/* SPDX-License-Identifier: BSD-3-Clause */
/* See say.h. */
#include "say.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOWEST = 700 }; /* of the descriptor: far from those that programs count on */

static int kept = -1; /* written while there is one thread */
static struct stat kept_status;

static const char *engine = "exact"; /* written while there is one thread */

void say_engine(const char *name)
{
    engine = name;
}

void say_start(void)
{
    kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, LOWEST);
    if (kept >= 0 && fstat(kept, &kept_status) != 0)
        kept = -1;
}

/* The program may have closed or reused the number. */
static bool still_ours(void)
{
    struct stat now;
    return kept >= 0 && fstat(kept, &now) == 0 && now.st_dev == kept_status.st_dev &&
           now.st_ino == kept_status.st_ino;
}

void say(const char *format, ...)
{
    char line[4096];
    size_t length = (size_t)snprintf(line, sizeof line, "libreuse: %s: ", engine);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + length, sizeof line - length - 1, format, arguments);
    va_end(arguments);
    length = strlen(line);
    line[length++] = '\n';
    ssize_t written = write(still_ours() ? kept : STDERR_FILENO, line, length);
    (void)written; /* there is nobody left to tell */
}

void say_after_fork(void)
{
    if (still_ours())
        close(kept);
    kept = -1;
}
