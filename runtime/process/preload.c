/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See preload.h. */
#include "process/preload.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own/c_library.h"
#include "own/raw_call.h"
#include "own/text.h"

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

/* ---- programs that this library cannot be loaded into ---- */

/* Whether it is loaded by a path that leads nowhere now. */
static bool is_out_of_reach(void)
{
#if defined(DLFO_EH_SEGMENT_TYPE)
    struct dl_find_object own;

    return c_library_is_known() && _dl_find_object((void *)(uintptr_t)preload_leave, &own) == 0 &&
           strchr(own.dlfo_link_map->l_name, '/') &&
           raw_call(SYS_faccessat, AT_FDCWD, (long)own.dlfo_link_map->l_name, R_OK, 0, 0, 0) != 0;
#else
    return false;
#endif
}

/* This library, or one that lies beside it: libreuse-try.so. */
static bool is_one_of_ours(const char *name, size_t length)
{
    static const char beginning[] = "libreuse";
    size_t file = length;

    while (file > 0 && name[file - 1] != '/')
        file--;
    return is_this_library(name, length) ||
           (file > 0 && length - file >= sizeof beginning - 1 &&
            memcmp(name + file, beginning, sizeof beginning - 1) == 0);
}

static bool is_list(const char *entry)
{
    return begins_with(entry, variable);
}

static bool names_ours(const char *list)
{
    while (*list) {
        size_t length = strcspn(list, " :");

        if (length > 0 && is_one_of_ours(list, length))
            return true;
        list += length;
        list += *list != '\0';
    }
    return false;
}

size_t preload_room_without(char *const *environment)
{
    size_t entries = 1, text = 0;

    /* First, for the kernel says so of an environment that cannot be read. */
    if (!is_out_of_reach())
        return 0;
    for (char *const *entry = environment; entry && *entry; entry++, entries++)
        if (is_list(*entry) && names_ours(*entry + sizeof variable - 1))
            text += strlen(*entry) + 1;
    return text > 0 ? entries * sizeof *environment + text : 0;
}

char *const *preload_without(char *const *environment, void *room)
{
    size_t entries = 1;
    char **to = room, *text;

    if (!room)
        return environment;
    for (char *const *entry = environment; *entry; entry++)
        entries++;
    text = (char *)(to + entries);
    for (char *const *entry = environment; *entry; entry++) {
        if (!is_list(*entry) || !names_ours(*entry + sizeof variable - 1)) {
            *to++ = *entry;
            continue;
        }
        put_text(text, *entry);
        if (remove_from(text + sizeof variable - 1, is_one_of_ours))
            *to++ = text;
        text += strlen(*entry) + 1;
    }
    *to = NULL;
    return room;
}
