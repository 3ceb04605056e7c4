/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. Where the profile goes: its pattern, expanded, and what all files of a run match. */
#include "output/output_name.h"

#include <limits.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "output/output.h"
#include "output/say.h"
#include "process/program_path.h"
#include "process/settings.h"
#include "recording/tape.h"

#include "signal_safe.h"

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
    names.program = tape_mode == TAPE_REPLAYS ? "replay" : program_path();
    if (options_expand_output(pattern, &names, expanded, OPTIONS_OUTPUT_MAX, reason,
                              sizeof reason) == 0)
        return true;
    line_begin(&line);
    line_text(&line, complaint);
    line_text(&line, reason);
    say_error(&line);
    return false;
}

void output_name_all(const struct output_name *name, const char *pattern,
                     char all[OUTPUT_NAME_ALL_MAX])
{
    static const char suffix[] = ".rprof";
    size_t at = name->directory_bytes;
    bool same = true;

    memcpy(all, name->path, at);
    for (; *pattern; pattern++) {
        bool star = *pattern == '%' && *++pattern != '%';

        /* Files of one name are numbered before the suffix. */
        if (same && strcmp(pattern, suffix) == 0)
            all[at++] = '*';
        if (star && *pattern == 'j' && settings.job.id[0] != '\0') {
            memcpy(all + at, settings.job.id, strlen(settings.job.id));
            at += strlen(settings.job.id);
            continue;
        }
        all[at++] = *pattern;
        if (star)
            all[at - 1] = '*';
        same &= !star;
    }
    all[at] = '\0';
}

static bool has_process(const char *pattern)
{
    for (; *pattern; pattern++)
        if (*pattern == '%' && *++pattern == 'p')
            return true;
    return false;
}

bool output_name_choose(struct output_name *name, const struct options *options)
{
    char expanded[OPTIONS_OUTPUT_MAX];
    size_t at = 0;

    if (!output_expand(options->output, "no profile: REUSE_OUTPUT: ", expanded))
        return false;
    if (expanded[0] != '/' && getcwd(name->path, PATH_MAX)) {
        at = strlen(name->path);
        name->path[at++] = '/';
    }
    name->directory_bytes = at;
    memcpy(name->path + at, expanded, strlen(expanded) + 1);
    name->by_process = has_process(options->output);
    return true;
}
