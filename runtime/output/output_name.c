/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. Where the profile goes: its pattern, expanded, and what all files of a run match. */
#include "output/output_name.h"

#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "large_table.h"
#include "output/output.h"
#include "output/say.h"
#include "process/settings.h"
#include "recording/tape.h"

#include "signal_safe.h"

/* The program's file; without /proc, as it was called. It stays the same until exec(2). */
static const char *program_name(void)
{
    static LARGE_TABLE char name[PATH_MAX];
    const char *called = (const char *)getauxval(AT_EXECFN);

    if (name[0] == '\0') {
        ssize_t length = readlink("/proc/self/exe", name, sizeof name - 1);

        name[length > 0 ? length : 0] = '\0';
    }
    if (name[0] == '\0' && called && strlen(called) < sizeof name)
        memcpy(name, called, strlen(called) + 1);
    return name;
}

bool output_expand(const char *pattern, const char *complaint, char expanded[OPTIONS_OUTPUT_MAX])
{
    struct output_names names;
    char reason[OPTIONS_MESSAGE_MAX];
    struct utsname system;
    struct line line;

    uname(&system);
    names.pid = getpid();
    names.host = system.nodename;
    names.job = settings.job.id;
    names.rank = settings.job.rank;
    names.program = tape_mode == TAPE_REPLAYS ? "replay" : program_name();
    if (options_expand_output(pattern, &names, expanded, OPTIONS_OUTPUT_MAX, reason,
                              sizeof reason) == 0)
        return true;
    line_begin(&line);
    line_text(&line, complaint);
    line_text(&line, reason);
    say_error(&line);
    return false;
}

/* What differs between the processes of the run, or the job, becomes a star, at `at` in what a
 * shell is told. */
static void choose_all(struct output_name *name, const char *pattern, size_t at)
{
    static const char suffix[] = ".rprof";
    bool same = true;

    name->by_process = false;
    for (; *pattern; pattern++) {
        bool star = *pattern == '%' && *++pattern != '%';

        /* Files of one name are numbered before the suffix. */
        if (same && strcmp(pattern, suffix) == 0)
            name->all[at++] = '*';
        if (star && *pattern == 'j' && settings.job.id[0] != '\0') {
            memcpy(name->all + at, settings.job.id, strlen(settings.job.id));
            at += strlen(settings.job.id);
            continue;
        }
        name->all[at++] = *pattern;
        if (star)
            name->all[at - 1] = '*';
        name->by_process |= star && *pattern == 'p';
        same &= !star;
    }
    name->all[at] = '\0';
}

bool output_name_choose(struct output_name *name, const struct options *options)
{
    char expanded[OPTIONS_OUTPUT_MAX];
    size_t prefix = 0;

    if (!output_expand(options->output, "no profile: REUSE_OUTPUT: ", expanded))
        return false;
    if (expanded[0] != '/' && getcwd(name->path, PATH_MAX)) {
        prefix = strlen(name->path);
        name->path[prefix++] = '/';
    }
    memcpy(name->path + prefix, expanded, strlen(expanded) + 1);
    memcpy(name->all, name->path, prefix);
    choose_all(name, options->output, prefix);
    return true;
}
