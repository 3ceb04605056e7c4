/* SPDX-License-Identifier: BSD-3-Clause */
/* See merge_files.h. */
#include "report/merge_files.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "profile/explain.h"
#include "profile/merge.h"
#include "report/model/progress.h"

enum { MESSAGE_SIZE = 1024 };

static void begin_stage(void)
{
    progress_begin();
    progress_stage("merging profiles");
}

static void tell(const char *prefix, const char *message)
{
    progress_end();
    fprintf(stderr, "reuse-report: %s%s\n", prefix, message);
}

/* Without these two, which are written first, nothing that follows has a meaning. */
static bool holds_a_run(const struct profile *profile)
{
    return profile_run_text(profile, "engine", NULL) != NULL &&
           profile_run_text(profile, "line_size", NULL) != NULL;
}

/* NULL, with a line in message, if nothing in the file can be merged. */
static struct profile *load_usable(const char *name, char *message)
{
    struct profile *profile = profile_load(name, message, MESSAGE_SIZE);

    if (profile == NULL || holds_a_run(profile))
        return profile;
    profile_explain(message, MESSAGE_SIZE,
                    "'%s' holds no engine and line size, its process ended or the file was cut "
                    "before they were written: profile that process again",
                    name);
    profile_free(profile);
    return NULL;
}

/* Whether all of the file's bytes say something; else tells what is missing. */
static bool is_whole(const struct profile *profile)
{
    char message[MESSAGE_SIZE];

    if (profile->dropped_bytes == 0 && profile->invalid_records == 0)
        return true;
    profile_explain(message, MESSAGE_SIZE,
                    "'%s' is cut short or damaged: merged without %" PRIu64
                    " of its %zu bytes and %" PRIu64 " invalid records",
                    profile->path, profile->dropped_bytes, profile->size, profile->invalid_records);
    tell("", message);
    begin_stage();
    return false;
}

size_t usable_files(const char *const *names, size_t count, const char **kept)
{
    char message[MESSAGE_SIZE];
    size_t usable = 0;

    for (size_t i = 0; i < count; i++) {
        struct profile *profile = load_usable(names[i], message);

        if (profile != NULL)
            kept[usable++] = names[i];
        else
            tell("left out: ", message);
        profile_free(profile);
    }
    return usable;
}

int merge_files(const char *const *names, size_t count, const char *output)
{
    char message[MESSAGE_SIZE];
    struct profile_merge *merge = profile_merge_begin(output, message, MESSAGE_SIZE);
    size_t merged = 0;
    bool whole = true, good = merge != NULL;

    begin_stage();
    for (size_t i = 0; good && i < count; i++) {
        struct profile *profile = load_usable(names[i], message);

        if (profile == NULL) {
            tell("left out: ", message);
            begin_stage();
            whole = false;
            continue;
        }
        whole = is_whole(profile) && whole;
        good = profile_merge_add(merge, profile, message, MESSAGE_SIZE);
        profile_free(profile);
        merged++;
    }
    if (!good || merged == 0)
        profile_merge_abandon(merge);
    else
        good = profile_merge_finish(merge, message, MESSAGE_SIZE);
    if (!good)
        tell("", message);
    return good && whole ? 0 : 1;
}
