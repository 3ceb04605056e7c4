/* SPDX-License-Identifier: BSD-3-Clause */
/* See tree_ancestor.h. */
#include "process/tree_ancestor.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own/own_place.h"
#include "own/small_file.h"
#include "own/text.h"
#include "process/handed_down.h"

/* Ours have high numbers (descriptors.c): the first are not looked at. */
enum { GENERATIONS = 4, NEVER_OURS = 16, LIST_BYTES = 2048 };

static bool is_page(const char *folder, const char *number)
{
    static const char name[] = "/memfd:" OWN_MEMORY_FILE " (deleted)";
    char path[64], target[sizeof name + 1];
    long length;
    int opened, seals;

    put_text(put_text(path, folder), number);
    length = syscall(SYS_readlinkat, AT_FDCWD, path, target, sizeof target);
    if (length != (long)sizeof name - 1 || memcmp(target, name, sizeof name - 1) != 0)
        return false;
    opened = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (opened < 0)
        return false;
    seals = (int)syscall(SYS_fcntl, opened, F_GET_SEALS, 0);
    syscall(SYS_close, opened);
    return seals == TREE_SEALS;
}

/* Whether an entry of the list of descriptors is the page. */
static bool has_page(const char *folder, const struct dirent64 *entry, int *descriptor)
{
    const char *text = entry->d_name;
    uint64_t number;

    if (!handed_down_number(&text, '\0', &number) || number < NEVER_OURS || number > INT32_MAX ||
        !is_page(folder, entry->d_name))
        return false;
    *descriptor = (int)number;
    return true;
}

static bool find_in(long pid, int *descriptor)
{
    _Alignas(struct dirent64) char list[LIST_BYTES];
    char folder[40];
    bool found = false;
    long length;
    int opened;

    put_text(put_number(put_text(folder, "/proc/"), (uint64_t)pid), "/fd/");
    opened = (int)syscall(SYS_openat, AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0)
        return false;
    while (!found && (length = syscall(SYS_getdents64, opened, list, sizeof list)) > 0)
        for (long at = 0; at < length && !found;) {
            const struct dirent64 *entry = (const struct dirent64 *)(list + at);

            found = has_page(folder, entry, descriptor);
            at += entry->d_reclen;
        }
    syscall(SYS_close, opened);
    return found;
}

/* 0: unknown. */
static long parent_of(long pid)
{
    char path[40], text[512];

    put_text(put_number(put_text(path, "/proc/"), (uint64_t)pid), "/status");
    small_file_read(path, text, sizeof text);
    return (long)small_file_number(small_file_field(text, "PPid:"));
}

bool tree_ancestor_find(long *pid, int *descriptor)
{
    long ancestor = syscall(SYS_getppid);

    for (int i = 0; i < GENERATIONS && ancestor > 1; i++, ancestor = parent_of(ancestor))
        if (find_in(ancestor, descriptor)) {
            *pid = ancestor;
            return true;
        }
    return false;
}
