/* SPDX-License-Identifier: BSD-3-Clause */
#include "process/environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "memory/memory.h"

/* What the loader found on the first stack: the number of arguments, these, and behind them the
 * environment (System V ABI). */
extern void *__libc_stack_end __attribute__((weak));

void environment_begin(void)
{
    char **stack = __libc_stack_end;

    if (!environ && stack)
        environ = stack + 1 + (uintptr_t)*stack + 1;
}

static bool is_named(const char *entry, const char *name, size_t length)
{
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

void environment_set(const char *name, const char *value)
{
    size_t length = strlen(name), size = length + 1 + strlen(value) + 1, count = 0;
    char **entries, **there = NULL;
    char *text;

    for (char **entry = environ; entry && *entry; entry++) {
        if (!there && is_named(*entry, name, length))
            there = entry;
        count++;
    }
    if (there && strcmp(*there + length + 1, value) == 0)
        return;
    /* The list, with room for one more and its end, and behind it the variable. */
    entries = memory_map((count + 2) * sizeof *entries + size);
    if (!entries)
        return;
    text = (char *)(entries + count + 2);
    memcpy(text, name, length);
    text[length] = '=';
    memcpy(text + length + 1, value, size - length - 1);
    if (there) {
        *there = text;
        return;
    }
    if (count > 0)
        memcpy(entries, environ, count * sizeof *entries);
    entries[count] = text;
    environ = entries;
}
