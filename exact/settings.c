/* SPDX-License-Identifier: BSD-3-Clause */
/* See settings.h. */
#include "config.h"

#include "settings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "job.h"
#include "reuse/exact_rate.h"

extern char **environ;

/* The run's line size and the further ones; a fourth further one has no room. */
static void choose_line_sizes(struct settings *settings)
{
    const struct options *options = &settings->options;
    settings->line_sizes[settings->line_size_count++] = options->line_size;
    for (unsigned i = 0; i < options->line_size_count; i++)
        if (options->line_sizes[i] != options->line_size &&
            settings->line_size_count < EXACT_LINE_SIZES_MAX)
            settings->line_sizes[settings->line_size_count++] = options->line_sizes[i];
}

/*
 * A relative pattern means the directory in which the run started, also for children that have gone
 * elsewhere, and for the programs that they become.
 */
static void make_output_absolute(struct settings *settings)
{
    char directory[PATH_MAX], absolute[OPTIONS_OUTPUT_MAX];
    size_t used = 0;
    if (settings->options.output[0] == '/' || getcwd(directory, sizeof directory) == NULL)
        return;
    for (const char *c = directory; *c != '\0' && used + 2 < sizeof absolute; c++) {
        absolute[used++] = *c;
        if (*c == '%')
            absolute[used++] = *c;
    }
    int length = snprintf(absolute + used, sizeof absolute - used, "/%s", settings->options.output);
    if (length < 0 || (size_t)length >= sizeof absolute - used)
        return;
    memcpy(settings->options.output, absolute, used + (size_t)length + 1);
    setenv("REUSE_OUTPUT", absolute, 1);
}

/* A rate R means that 1/n of the lines are followed, with n the nearest whole number to 1/R. */
static void apply_rate(struct settings *settings)
{
    char reason[OPTIONS_MESSAGE_MAX];

    settings->rate_denominator = (uint32_t)(1 / settings->options.rate + 0.5);
    if (settings->rate_denominator > 1) {
        /* One hash decides for one line size; whoever writes a line must be seen always. */
        settings->line_size_count = 1;
        settings->options.sharing = false;
        settings->options.partitions = 0;
        options_set(&settings->options, OPTION_PARTITION_GROUPS, "", reason, sizeof reason);
    }
}

static void leave_words_to_rank_0(struct settings *settings)
{
    struct job job;

    job_find((const char *const *)environ, &job);
    if (!job_speaks(&job) && !settings->options.verbose)
        settings->options.quiet = true;
}

bool settings_read(struct settings *settings, int argc, char **argv, char *message,
                   size_t message_size)
{
    memset(settings, 0, sizeof *settings);
    settings->shared_descriptor = -1;
    snprintf(settings->qemu_version, sizeof settings->qemu_version, "unknown");
    if (options_parse((const char *const *)environ, &settings->options, message, message_size) != 0)
        return false;
    leave_words_to_rank_0(settings);
    if (settings->options.engine != ENGINE_SIMULATE)
        settings->options.engine = ENGINE_EXACT;
    make_output_absolute(settings);
    choose_line_sizes(settings);
    apply_rate(settings);
    if (settings->options.engine == ENGINE_SIMULATE && settings->rate_denominator > 1) {
        snprintf(message, message_size,
                 "REUSE_RATE leaves accesses out, and the engine simulate needs all of them: unset "
                 "one of the two");
        return false;
    }
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "program=", 8) == 0) {
            settings->program_index = (unsigned)strtoul(argv[i] + 8, NULL, 10);
        } else if (strncmp(argv[i], "generation=", 11) == 0) {
            settings->generation = (unsigned)strtoul(argv[i] + 11, NULL, 10);
        } else if (strncmp(argv[i], "version=", 8) == 0) {
            if (strcmp(argv[i] + 8, PACKAGE_VERSION) == 0)
                continue;
            snprintf(message, message_size,
                     "libreuse-exact.so is version " PACKAGE_VERSION
                     ", reuse-run is %.50s: install "
                     "both from one build",
                     argv[i] + 8);
            return false;
        } else if (strncmp(argv[i], "shared=", 7) == 0) {
            settings->shared_descriptor = (int)strtol(argv[i] + 7, NULL, 10);
        } else if (strncmp(argv[i], "qemu=", 5) == 0) {
            snprintf(settings->qemu_version, sizeof settings->qemu_version, "%s", argv[i] + 5);
        } else if (strncmp(argv[i], "guest=", 6) == 0) {
            snprintf(settings->guest_library, sizeof settings->guest_library, "%s", argv[i] + 6);
        } else {
            snprintf(message, message_size,
                     "unknown plugin argument '%.100s': is reuse-run of another version?", argv[i]);
            return false;
        }
    }
    return true;
}
