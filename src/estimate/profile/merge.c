/* SPDX-License-Identifier: BSD-3-Clause */
/* The merge from outside: output file, inputs one after the other, completion. */
#include "profile/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/explain.h"
#include "profile/merge_internal.h"
#include "support/memory.h"

static bool explain_output(const struct profile_merge *merge, int error, char *message, size_t size)
{
    bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
    return profile_explain(message, size, "cannot write '%s': %s; %s", merge->out_path,
                           strerror(error),
                           full              ? "make room, or name a file on another disk"
                           : error == EEXIST ? "it is no profile: name another file"
                                             : "name a file in a directory that you may write to");
}

/* Those that are not finished, by their member next: what they have written goes when the program
 * ends for want of memory. */
static struct profile_merge *unfinished;

static void remove_unfinished(void)
{
    for (const struct profile_merge *merge = unfinished; merge; merge = merge->next) {
        if (merge->part_path)
            (void)unlink(merge->part_path);
    }
}

static void add_unfinished(struct profile_merge *merge)
{
    static bool registered;
    if (!registered)
        registered = atexit(remove_unfinished) == 0;
    merge->next = unfinished;
    unfinished = merge;
}

void merge_reserve(void **items, size_t *capacity, size_t needed, size_t item_size)
{
    if (needed <= *capacity)
        return;
    size_t larger = *capacity * 2 > needed ? *capacity * 2 : needed + 16;
    char *grown = reallocate(*items, larger, item_size);
    memset(grown + *capacity * item_size, 0, (larger - *capacity) * item_size);
    *items = grown;
    *capacity = larger;
}

void merge_append(struct profile_merge *merge, enum record_type type, const void *fixed,
                  size_t fixed_size, const void *tail, size_t tail_size)
{
    (void)profile_writer_append(&merge->writer, type, fixed, fixed_size, tail, tail_size, 0);
}

/* Something that would be lost. */
static bool is_no_profile(const char *path)
{
    char begin[sizeof PROFILE_MAGIC - 1];
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = descriptor < 0 ? 0 : read(descriptor, begin, sizeof begin);
    if (descriptor >= 0)
        (void)close(descriptor);
    return size != 0 &&
           (size != (ssize_t)sizeof begin || memcmp(begin, PROFILE_MAGIC, sizeof begin) != 0);
}

/* The file is its owner's alone, as those that it is made of. What lies there under that name is of
 * a process that is gone, or a trap. */
static int create_part(const char *path)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int descriptor = open(path, flags, 0600);
    if (descriptor < 0 && errno == EEXIST && unlink(path) == 0)
        descriptor = open(path, flags, 0600);
    return descriptor;
}

/* A device or the like is written to as it is; a name gets its file at the end. */
static int open_output(struct profile_merge *merge)
{
    struct stat status;
    bool exists = stat(merge->out_path, &status) == 0;
    if (exists && !S_ISREG(status.st_mode))
        return open(merge->out_path, O_WRONLY | O_CLOEXEC);
    if (exists && is_no_profile(merge->out_path)) {
        errno = EEXIST;
        return -1;
    }
    size_t size = strlen(merge->out_path) + 32;
    merge->part_path = allocate(size, 1);
    (void)snprintf(merge->part_path, size, "%s.%ld.part", merge->out_path, (long)getpid());
    int descriptor = create_part(merge->part_path);
    if (descriptor < 0) {
        int error = errno;
        free(merge->part_path);
        merge->part_path = NULL;
        errno = error;
    }
    return descriptor;
}

struct profile_merge *profile_merge_begin(const char *out_path, char *message, size_t message_size)
{
    struct profile_merge *merge = allocate_zeroed(1, sizeof(*merge));
    merge->next_start = PROFILE_MERGED_ADDRESS;
    merge->out_path = copy_string(out_path);
    merge->buffer = allocate(PROFILE_WRITER_BUFFER, 1);
    add_unfinished(merge);
    int descriptor = open_output(merge);
    if (descriptor >= 0)
        profile_writer_open(&merge->writer, descriptor, merge->buffer, UINT64_MAX);
    if (descriptor < 0 || merge->writer.state != WRITER_OPEN) {
        (void)explain_output(merge, descriptor < 0 ? errno : merge->writer.error, message,
                             message_size);
        profile_merge_abandon(merge);
        return NULL;
    }
    return merge;
}

/* One key on which inputs must agree; *first is the first input's value. */
static bool check_agreement(struct profile_merge *merge, const struct profile *profile,
                            const char *key, const char *what, char **first, char *message,
                            size_t message_size)
{
    const char *value = profile_run_text(profile, key, "unknown");
    if (!*first) {
        *first = copy_string(value);
        /* The other keys come at the end; these are needed even if the file gets cut short. */
        merge_append(merge, RECORD_RUN, key, strlen(key) + 1, value, strlen(value) + 1);
        return true;
    }
    if (strcmp(*first, value) == 0)
        return true;
    return profile_explain(
        message, message_size,
        "'%s' was taken with %s %s, '%s' with %s: merge them apart, they cannot be one "
        "profile",
        profile->path, what, value, merge->first_path, *first);
}

bool profile_merge_add(struct profile_merge *merge, const struct profile *profile, char *message,
                       size_t message_size)
{
    if (!merge->first_path)
        merge->first_path = copy_string(profile->path);
    if (!check_agreement(merge, profile, "engine", "engine", &merge->first_engine, message,
                         message_size) ||
        !check_agreement(merge, profile, "line_size", "line size", &merge->first_line_size, message,
                         message_size))
        return false;
    struct merge_input input;
    merge_input_open(&input, merge, profile);
    merge_input_records(&input);
    merge_input_close(&input);
    if (merge->writer.state != WRITER_OPEN)
        return explain_output(merge, merge->writer.error, message, message_size);
    return true;
}

static void release(struct profile_merge *merge)
{
    struct profile_merge **link = &unfinished;
    while (*link != merge)
        link = &(*link)->next;
    *link = merge->next;
    histogram_sums_clear(&merge->sums);
    histogram_sums_clear(&merge->own_sums);
    key_map_clear(&merge->modules);
    key_map_clear(&merge->contexts);
    key_map_clear(&merge->sites);
    key_map_clear(&merge->regions);
    key_map_clear(&merge->counters);
    free(merge->counter_sums);
    free(merge->module_starts);
    free(merge->site_totals);
    free(merge->caches);
    free(merge->probes);
    free(merge->agreed);
    free(merge->first_path);
    free(merge->first_engine);
    free(merge->first_line_size);
    free(merge->part_path);
    free(merge->out_path);
    free(merge->buffer);
    free(merge);
}

void profile_merge_abandon(struct profile_merge *merge)
{
    if (!merge)
        return;
    profile_writer_close(&merge->writer, 0);
    if (merge->part_path)
        (void)unlink(merge->part_path);
    release(merge);
}

bool profile_merge_finish(struct profile_merge *merge, char *message, size_t message_size)
{
    struct record_end end = {.wall_ns = merge->wall_ns, .exit_status = merge->exit_status};
    merge_write_sums(merge);
    merge_write_counters(merge);
    merge_write_run(merge);
    merge_append(merge, RECORD_END, &end, sizeof(end), NULL, 0);
    profile_writer_close(&merge->writer, 0);
    bool good = true;
    if (merge->writer.state != WRITER_CLOSED)
        good = explain_output(merge, merge->writer.error, message, message_size);
    else if (merge->writer.lost_records > 0)
        good = profile_explain(message, message_size,
                               "cannot merge into '%s': a record is too long", merge->out_path);
    else if (merge->part_path && rename(merge->part_path, merge->out_path) != 0)
        good = explain_output(merge, errno, message, message_size);
    if (!good) {
        profile_merge_abandon(merge);
        return false;
    }
    release(merge);
    return true;
}

bool profile_merge(const struct profile *const *in, size_t n, const char *out_path, char *message,
                   size_t message_size)
{
    struct profile_merge *merge = profile_merge_begin(out_path, message, message_size);
    if (!merge)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!profile_merge_add(merge, in[i], message, message_size)) {
            profile_merge_abandon(merge);
            return false;
        }
    }
    return profile_merge_finish(merge, message, message_size);
}

bool profile_merge_files(const char *const *paths, size_t n, const char *out_path, char *message,
                         size_t message_size)
{
    struct profile_merge *merge = profile_merge_begin(out_path, message, message_size);
    if (!merge)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct profile *profile = profile_load(paths[i], message, message_size);
        bool added = profile && profile_merge_add(merge, profile, message, message_size);
        profile_free(profile);
        if (!added) {
            profile_merge_abandon(merge);
            return false;
        }
    }
    return profile_merge_finish(merge, message, message_size);
}
