/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See preload.h. */
#include "process/preload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "own/c_library.h"

#include "signal_safe.h"

static const char variable[] = "LD_PRELOAD=", file_name[] = "libreuse.so";

/* Of one name in the list: by what the loader calls us, or by our usual name. */
static bool is_this_library(const char *name, size_t length)
{
    size_t usual = sizeof file_name - 1;
#if defined(DLFO_EH_SEGMENT_TYPE)
    struct dl_find_object own;

    if (_dl_find_object((void *)(uintptr_t)preload_leave, &own) == 0)
        return strlen(own.dlfo_link_map->l_name) == length &&
               memcmp(own.dlfo_link_map->l_name, name, length) == 0;
#endif
    return length >= usual && memcmp(name + length - usual, file_name, usual) == 0 &&
           (length == usual || name[length - usual - 1] == '/');
}

/* Closes up a list whose names are separated by blanks and colons alike (ld.so(8)). False: nothing
 * is left of it. */
static bool remove_from(char *list, bool (*is_wanted)(const char *, size_t))
{
    char *to = list;

    for (const char *from = list; *from;) {
        size_t length = strcspn(from, " :");

        if (length > 0 && !is_wanted(from, length)) {
            if (to != list)
                *to++ = ':';
            memmove(to, from, length);
            to += length;
        }
        from += length;
        from += *from != '\0';
    }
    *to = '\0';
    return to != list;
}

/* As reuse-run writes it: without a folder. */
static bool is_sanitizer(const char *name, size_t length)
{
    static const char *const sanitizers[] = {"libasan.so", "liblsan.so"};

    for (size_t i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++)
        if (length >= strlen(sanitizers[i]) &&
            memcmp(name, sanitizers[i], strlen(sanitizers[i])) == 0)
            return true;
    return false;
}

static void leave(bool (*is_wanted)(const char *, size_t))
{
    char **to = environ;

    for (char **from = environ; from && *from; from++) {
        bool is_list = strncmp(*from, variable, sizeof variable - 1) == 0;

        if (!is_list || remove_from(*from + sizeof variable - 1, is_wanted))
            *to++ = *from;
    }
    if (to)
        *to = NULL;
}

void preload_leave(void)
{
    leave(is_this_library);
}

void preload_leave_sanitizer(void)
{
    leave(is_sanitizer);
}
