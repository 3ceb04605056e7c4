/* SPDX-License-Identifier: BSD-3-Clause */
/* Description files of machines (docs/machines.md). */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"

enum { LINE_LENGTH_MAX = 512 };

/* Cuts blanks off both ends, in place. */
static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* A decimal number with an optional K, M or G (times 1024, 1024^2, 1024^3, "KiB" and so on as
 * well). */
static bool parse_number(const char *text, uint64_t *number)
{
    char *rest;

    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *number = strtoull(text, &rest, 10);
    unsigned shift = 0;
    if (*rest == 'K' || *rest == 'M' || *rest == 'G') {
        shift = *rest == 'K' ? 10 : *rest == 'M' ? 20 : 30;
        rest++;
        if (strcmp(rest, "iB") == 0)
            rest += 2;
    }
    if (errno || *rest || *number > UINT64_MAX >> shift)
        return false;
    *number <<= shift;
    return true;
}

static bool parse_cache(char *value, struct machine *machine, char *message, size_t size)
{
    enum { FIELDS = 5 };
    static const char *const names[FIELDS] = {"level", "bytes", "line", "ways", "sharing"};
    uint64_t numbers[FIELDS];
    char *position = NULL, *field = strtok_r(value, " \t", &position);

    if (machine->levels == MACHINE_LEVELS_MAX) {
        snprintf(message, size, "more than %d caches", MACHINE_LEVELS_MAX);
        return false;
    }
    for (int i = 0; i < FIELDS; i++, field = strtok_r(NULL, " \t", &position)) {
        if (!field) {
            snprintf(message, size,
                     "cache needs five numbers: level, bytes, line, ways, sharing (%s is missing)",
                     names[i]);
            return false;
        }
        if (!parse_number(field, &numbers[i]) || (i != 1 && numbers[i] > UINT32_MAX)) {
            snprintf(message, size, "%s \"%s\" is not a number in range", names[i], field);
            return false;
        }
    }
    if (field) {
        snprintf(message, size, "\"%s\" after the five numbers of a cache", field);
        return false;
    }
    machine->caches[machine->levels++] =
        (struct machine_cache){(unsigned)numbers[0], numbers[1], (uint32_t)numbers[2],
                               (uint32_t)numbers[3], (uint32_t)numbers[4]};
    return true;
}

static bool parse_line(char *line, struct machine *machine, char *message, size_t size)
{
    char *comment = strchr(line, '#');

    if (comment)
        *comment = '\0';
    line = trimmed(line);
    if (!*line)
        return true;
    char *equals = strchr(line, '=');
    if (!equals) {
        snprintf(message, size,
                 "expected \"name = TEXT\" or \"cache = LEVEL BYTES LINE WAYS SHARING\"");
        return false;
    }
    *equals = '\0';
    char *key = trimmed(line), *value = trimmed(equals + 1);
    if (strcmp(key, "name") == 0) {
        snprintf(machine->name, sizeof machine->name, "%s", value);
        return true;
    }
    if (strcmp(key, "cache") == 0)
        return parse_cache(value, machine, message, size);
    snprintf(message, size, "\"%s\" is neither name nor cache", key);
    return false;
}

bool machine_read(const char *path, struct machine *machine, char *message, size_t message_size)
{
    char line[LINE_LENGTH_MAX], cause[256] = "";
    unsigned number = 0;
    bool good = true;
    FILE *file = fopen(path, "re");

    if (!file) {
        snprintf(message, message_size, "%s: %s", path, strerror(errno));
        return false;
    }
    memset(machine, 0, sizeof *machine);
    while (good && fgets(line, sizeof line, file)) {
        number++;
        if (!strchr(line, '\n') && !feof(file)) {
            snprintf(cause, sizeof cause, "line longer than %d bytes", LINE_LENGTH_MAX - 2);
            good = false;
        } else {
            good = parse_line(line, machine, cause, sizeof cause);
        }
    }
    if (good && ferror(file)) {
        snprintf(message, message_size, "%s: %s", path, strerror(errno));
        fclose(file);
        return false;
    }
    fclose(file);
    if (!good) {
        snprintf(message, message_size, "%s:%u: %s", path, number, cause);
        return false;
    }
    if (!machine->name[0])
        snprintf(machine->name, sizeof machine->name, "%s", path);
    if (!machine_check(machine, cause, sizeof cause)) {
        snprintf(message, message_size, "%s: %s", path, cause);
        return false;
    }
    return true;
}
