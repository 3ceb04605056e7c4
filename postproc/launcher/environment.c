/* SPDX-License-Identifier: BSD-3-Clause */
/* See environment.h. */
#define _GNU_SOURCE
#include "launcher/environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int environment_begin(struct environment *environment, char *const *original)
{
    size_t count = 0;
    while (original[count])
        count++;
    environment->count = 0;
    environment->entries = calloc(count + 1, sizeof *environment->entries);
    if (!environment->entries)
        return -1;
    for (; environment->count < count; environment->count++) {
        char *entry = strdup(original[environment->count]);
        if (!entry) {
            environment_end(environment);
            return -1;
        }
        environment->entries[environment->count] = entry;
    }
    return 0;
}

void environment_end(struct environment *environment)
{
    for (size_t i = 0; i < environment->count; i++)
        free(environment->entries[i]);
    free(environment->entries);
    environment->entries = NULL;
    environment->count = 0;
}

static bool names(const char *entry, const char *name, size_t length)
{
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

int environment_set(struct environment *environment, const char *name, const char *value)
{
    size_t length = strlen(name), kept = 0;
    char *entry;
    char **larger = realloc(environment->entries, (environment->count + 2) * sizeof *larger);
    if (!larger)
        return -1;
    environment->entries = larger;
    if (asprintf(&entry, "%s=%s", name, value) < 0)
        return -1;
    for (size_t i = 0; i < environment->count; i++) {
        if (names(larger[i], name, length))
            free(larger[i]);
        else
            larger[kept++] = larger[i];
    }
    larger[kept++] = entry;
    larger[kept] = NULL;
    environment->count = kept;
    return 0;
}

const char *environment_get(const struct environment *environment, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < environment->count; i++) {
        if (names(environment->entries[i], name, length))
            return environment->entries[i] + length + 1;
    }
    return NULL;
}

/* The loader separates the entries of LD_PRELOAD by blanks and colons alike (ld.so(8)). */
static bool is_preloaded(const char *list, const char *library)
{
    size_t length = strlen(library);
    while (*list) {
        size_t entry = strcspn(list, " :");
        if (entry == length && memcmp(list, library, length) == 0)
            return true;
        list += entry;
        list += strspn(list, " :");
    }
    return false;
}

int environment_preload(struct environment *environment, const char *library)
{
    const char *others = environment_get(environment, "LD_PRELOAD");
    char *list;
    if (!others || *others == '\0')
        return environment_set(environment, "LD_PRELOAD", library);
    if (is_preloaded(others, library))
        return 0;
    if (asprintf(&list, "%s:%s", library, others) < 0)
        return -1;
    int status = environment_set(environment, "LD_PRELOAD", list);
    free(list);
    return status;
}
