/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "memory/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "signal_safe.h"

static uint64_t hexadecimal(const char **at)
{
    uint64_t value = 0;

    for (;; (*at)++) {
        char c = **at;

        if (c >= '0' && c <= '9')
            value = value * 16 + (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value * 16 + (uint64_t)(c - 'a' + 10);
        else
            return value;
    }
}

/* start-end rwxp offset device inode   path */
static void parse(const char *line, struct maps_entry *entry)
{
    entry->start = hexadecimal(&line);
    line += *line == '-';
    entry->end = hexadecimal(&line);
    line += *line == ' ';
    if (strlen(line) >= 4) {
        entry->readable = line[0] == 'r';
        entry->writable = line[1] == 'w';
        entry->executable = line[2] == 'x';
        entry->shared = line[3] == 's';
        line += 4;
    }
    line += *line == ' ';
    entry->offset = hexadecimal(&line);
    line += *line == ' ';
    entry->device = hexadecimal(&line) << 32;
    line += *line == ':';
    entry->device |= hexadecimal(&line);
    line += *line == ' ';
    for (; *line >= '0' && *line <= '9'; line++)
        entry->inode = entry->inode * 10 + (uint64_t)(*line - '0');
    while (*line == ' ')
        line++;
    entry->path = line;
}

int maps_each(bool (*visit)(void *context, const struct maps_entry *), void *context)
{
    char buffer[8192];
    size_t used = 0;
    bool go_on = true;
    int saved = errno, descriptor, error = 0;

    descriptor = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        error = errno;
        errno = saved;
        return -error;
    }
    while (go_on) {
        long n = syscall(SYS_read, descriptor, buffer + used, sizeof buffer - 1 - used);
        char *line = buffer, *end;

        if (n <= 0)
            break;
        used += (size_t)n;
        buffer[used] = '\0';
        while (go_on && (end = strchr(line, '\n')) != NULL) {
            struct maps_entry entry = {0};

            *end = '\0';
            parse(line, &entry);
            go_on = visit(context, &entry);
            line = end + 1;
        }
        used -= (size_t)(line - buffer);
        memmove(buffer, line, used);
        if (used == sizeof buffer - 1) /* a line longer than any path can be */
            used = 0;
    }
    syscall(SYS_close, descriptor);
    errno = saved;
    return 0;
}
