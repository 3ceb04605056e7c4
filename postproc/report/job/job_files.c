/* SPDX-License-Identifier: BSD-3-Clause */
/* See job_files.h. */
#include "report/job/job_files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profile/reader.h"

/* What makes files belong together, in the order in which it is asked for. */
enum { TRAIT_JOB, TRAIT_PROGRAM, TRAIT_ENGINE, TRAIT_LINE_SIZE, TRAITS };

static const char *const trait_keys[TRAITS] = {"job", "program", "engine", "line_size"};

/* Of "... of another %s: '...'". */
static const char *const trait_words[TRAITS] = {"job", "program", "engine", "line size"};

/* A file that was read. */
struct candidate {
    struct rank_file file;
    char *traits[TRAITS]; /* "" where the file does not tell */
    char *note;           /* on its end; NULL: there is nothing to say */
    uint64_t ranks, start_ns;
    bool kept;
};

typedef ARRAY(struct candidate) candidates;

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static bool is_profile_name(const char *name)
{
    static const char suffix[] = ".rprof";
    size_t length = strlen(name);

    return length >= sizeof(suffix) && strcmp(name + length - (sizeof(suffix) - 1), suffix) == 0;
}

static bool add_folder(struct job_files *files, const char *folder, char *message, size_t size)
{
    DIR *directory = opendir(folder);
    size_t before = files->names.count;
    struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (is_profile_name(entry->d_name))
            ARRAY_PUSH(&files->names, format_string("%s/%s", folder, entry->d_name));
    if (directory == NULL || files->names.count == before) {
        if (directory == NULL)
            snprintf(message, size, "cannot read %s, a directory: %s", folder, strerror(errno));
        else
            snprintf(message, size,
                     "%s is a directory without *.rprof: name profiles, or the folder of some",
                     folder);
        if (directory != NULL)
            closedir(directory);
        return false;
    }
    closedir(directory);
    qsort(files->names.items + before, files->names.count - before, sizeof(char *), by_text);
    return true;
}

static bool add_names(struct job_files *files, const char *const *arguments, size_t count,
                      char *message, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        struct stat status;

        if (stat(arguments[i], &status) != 0 || !S_ISDIR(status.st_mode))
            ARRAY_PUSH(&files->names, copy_string(arguments[i]));
        else if (!add_folder(files, arguments[i], message, size))
            return false;
    }
    return true;
}

static void leave_out(struct job_files *files, const char *text)
{
    ARRAY_PUSH(&files->notes, format_string("left out: %s", text));
    files->left_out = true;
}

static void leave_out_unranked(struct job_files *files, const char *name)
{
    char *text = format_string("%s: of no rank of a job", name);

    leave_out(files, text);
    free(text);
}

/* ---- reading ---- */

/* NULL: the file is whole. The caller frees it. */
static char *note_on_end(const struct profile *profile)
{
    const char *rank = profile_run_text(profile, "rank", "?");

    if (profile->dropped_bytes > 0 || profile->invalid_records > 0)
        return format_string("rank %s: %s is cut short or damaged: shown without %" PRIu64
                             " of its %zu bytes",
                             rank, profile->path, profile->dropped_bytes, profile->size);
    if (profile->complete)
        return NULL;
    return format_string("rank %s: %s %s", rank, profile->path,
                         profile->being_written ? "is still being written"
                                                : "has no end: the process was killed");
}

static bool is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static void read_candidate(candidates *found, const char *name, const struct profile *profile)
{
    struct candidate candidate = {
        .file = {.name = copy_string(name),
                 .rank = profile_run_number(profile, "rank", 0),
                 .host = copy_string(profile_run_text(profile, "host", ""))},
        .note = note_on_end(profile),
        .ranks = profile_run_number(profile, "ranks", 0),
        .start_ns = profile_run_number(profile, "start_unix_ns", 0),
        .kept = is_number(profile_run_text(profile, "rank", "")),
    };

    for (size_t t = 0; t < TRAITS; t++)
        candidate.traits[t] = copy_string(profile_run_text(profile, trait_keys[t], ""));
    ARRAY_PUSH(found, candidate);
}

static void read_all(struct job_files *files, candidates *found)
{
    for (size_t i = 0; i < files->names.count; i++) {
        char message[1024];
        struct profile *profile = profile_load(files->names.items[i], message, sizeof(message));

        if (profile == NULL) {
            leave_out(files, message);
            continue;
        }
        read_candidate(found, files->names.items[i], profile);
        profile_free(profile);
    }
}

/* ---- choosing ---- */

/* How many kept files share a trait with this one, and when the last of them began. */
static size_t count_alike(const candidates *found, const struct candidate *one, size_t trait,
                          uint64_t *last_ns)
{
    size_t count = 0;

    *last_ns = 0;
    for (size_t i = 0; i < found->count; i++) {
        const struct candidate *other = &found->items[i];

        if (!other->kept || strcmp(other->traits[trait], one->traits[trait]) != 0)
            continue;
        count++;
        if (other->start_ns > *last_ns)
            *last_ns = other->start_ns;
    }
    return count;
}

/* Only the files that have most in common with the others stay. NULL: there is none. */
static const char *most_common(const candidates *found, size_t trait)
{
    const char *chosen = NULL;
    size_t most = 0;
    uint64_t latest = 0, last;

    for (size_t i = 0; i < found->count; i++) {
        const struct candidate *one = &found->items[i];
        size_t count;

        if (!one->kept || one->traits[trait][0] == '\0' ||
            (chosen != NULL && strcmp(one->traits[trait], chosen) == 0))
            continue;
        count = count_alike(found, one, trait, &last);
        if (count > most || (count == most && last > latest)) {
            chosen = one->traits[trait];
            most = count;
            latest = last;
        }
    }
    return chosen;
}

/* One line for all files that have the same other trait. */
static void drop(struct job_files *files, candidates *found, size_t first, size_t trait)
{
    const struct candidate *one = &found->items[first];
    uint64_t last;
    size_t count = count_alike(found, one, trait, &last);
    char *more = count > 1 ? format_string(" and %zu more", count - 1) : copy_string("");
    char *text =
        one->traits[trait][0] == '\0'
            ? format_string("%s%s: no %s is told", one->file.name, more, trait_words[trait])
            : format_string("%s%s: of another %s: %s; to see it, name its files alone",
                            one->file.name, more, trait_words[trait], one->traits[trait]);

    leave_out(files, text);
    free(text);
    free(more);
    for (size_t i = found->count; i-- > first;)
        if (strcmp(found->items[i].traits[trait], one->traits[trait]) == 0)
            found->items[i].kept = false;
}

static void keep_most_common(struct job_files *files, candidates *found, size_t trait)
{
    const char *chosen = most_common(found, trait);

    for (size_t i = 0; chosen != NULL && i < found->count; i++)
        if (found->items[i].kept && strcmp(found->items[i].traits[trait], chosen) != 0)
            drop(files, found, i, trait);
}

static int by_rank(const void *left, const void *right)
{
    const struct rank_file *a = left, *b = right;

    return a->rank != b->rank ? (a->rank > b->rank ? 1 : -1) : strcmp(a->name, b->name);
}

/* "3, 7-9": the numbers below `expected` that no file has. NULL: none is missing. */
static char *missing_ranks(const struct job_files *files)
{
    char *list = NULL;
    uint64_t next = 0;

    for (size_t i = 0; i <= files->ranks.count; i++) {
        uint64_t rank = i < files->ranks.count ? files->ranks.items[i].rank : files->expected;
        char *range, *longer;

        if (rank > next && next < files->expected) {
            range = rank == next + 1 ? format_string("%" PRIu64, next)
                                     : format_string("%" PRIu64 "-%" PRIu64, next, rank - 1);
            longer =
                format_string("%s%s%s", list != NULL ? list : "", list != NULL ? ", " : "", range);
            free(range);
            free(list);
            list = longer;
        }
        if (rank >= next)
            next = rank + 1;
    }
    return list;
}

static void take(struct job_files *files, candidates *found)
{
    char *missing;

    for (size_t i = 0; i < found->count; i++) {
        struct candidate *one = &found->items[i];

        if (!one->kept)
            continue;
        if (files->id == NULL) {
            files->id = copy_string(one->traits[TRAIT_JOB]);
            files->program = copy_string(one->traits[TRAIT_PROGRAM]);
        }
        if (one->ranks > files->expected)
            files->expected = one->ranks;
        ARRAY_PUSH(&files->ranks, one->file);
        one->file = (struct rank_file){0};
        if (one->note != NULL)
            ARRAY_PUSH(&files->notes, one->note);
        one->note = NULL;
    }
    if (files->ranks.count == 0)
        return;
    qsort(files->ranks.items, files->ranks.count, sizeof(files->ranks.items[0]), by_rank);
    for (size_t i = 0; i < files->ranks.count; i++)
        files->distinct += i == 0 || files->ranks.items[i].rank != files->ranks.items[i - 1].rank;
    missing = missing_ranks(files);
    if (missing != NULL)
        ARRAY_PUSH(&files->notes,
                   format_string("no file of rank %s of %" PRIu64, missing, files->expected));
    free(missing);
}

static bool are_a_job(const candidates *found)
{
    size_t count = 0;

    for (size_t i = 0; i < found->count; i++)
        count += found->items[i].kept && found->items[i].traits[TRAIT_JOB][0] != '\0';
    return count >= 2;
}

static void clear_notes(struct job_files *files)
{
    for (size_t i = 0; i < files->notes.count; i++)
        free(files->notes.items[i]);
    files->notes.count = 0;
    files->left_out = false;
}

bool job_files_find(const char *const *arguments, size_t count, struct job_files *files,
                    char *message, size_t message_size)
{
    candidates found = {0};

    memset(files, 0, sizeof(*files));
    if (!add_names(files, arguments, count, message, message_size))
        return false;
    if (files->names.count < 2)
        return true;
    read_all(files, &found);
    if (are_a_job(&found)) {
        for (size_t i = 0; i < found.count; i++)
            if (!found.items[i].kept)
                leave_out_unranked(files, found.items[i].file.name);
        for (size_t trait = 0; trait < TRAITS; trait++)
            keep_most_common(files, &found, trait);
        take(files, &found);
    } else {
        clear_notes(files);
    }
    for (size_t i = 0; i < found.count; i++) {
        for (size_t t = 0; t < TRAITS; t++)
            free(found.items[i].traits[t]);
        free(found.items[i].note);
        free(found.items[i].file.name);
        free(found.items[i].file.host);
    }
    free(found.items);
    return true;
}

void job_files_free(struct job_files *files)
{
    clear_notes(files);
    for (size_t i = 0; i < files->names.count; i++)
        free(files->names.items[i]);
    for (size_t i = 0; i < files->ranks.count; i++) {
        free(files->ranks.items[i].name);
        free(files->ranks.items[i].host);
    }
    free(files->names.items);
    free(files->ranks.items);
    free(files->notes.items);
    free(files->id);
    free(files->program);
}
