/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See settings.h. The exact engine's own variables: REUSE_LINE_SIZES, line sizes to compute at
 * once, separated by commas; REUSE_LINE_SIZE, the run's, is always among them, and the default is
 * to add 256. REUSE_PARTITIONS, the number of data objects to follow in a part of the cache of
 * their own.
 */
#include "settings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "reuse/exact_rate.h"

extern char **environ;

static bool add_line_size(struct settings *settings, unsigned long size)
{
    if (!line_size_is_valid(size))
        return false;
    for (unsigned i = 0; i < settings->line_size_count; i++)
        if (settings->line_sizes[i] == size)
            return true;
    if (settings->line_size_count == EXACT_LINE_SIZES_MAX)
        return false;
    settings->line_sizes[settings->line_size_count++] = (uint32_t)size;
    return true;
}

static bool read_line_sizes(struct settings *settings)
{
    const char *text = getenv("REUSE_LINE_SIZES");
    add_line_size(settings, settings->options.line_size);
    if (text == NULL || *text == '\0')
        return add_line_size(settings, 256);
    for (;;) {
        char *end;
        if (!add_line_size(settings, strtoul(text, &end, 10)) || (*end != ',' && *end != '\0'))
            return false;
        if (*end == '\0')
            return true;
        text = end + 1;
    }
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
static bool read_rate(struct settings *settings)
{
    const char *text = getenv("REUSE_RATE");
    settings->rate_denominator = 1;
    if (text == NULL || *text == '\0')
        return true;
    char *end;
    double rate = strtod(text, &end);
    if (*end != '\0' || !(rate >= 1.0 / EXACT_RATE_MAX) || rate > 1)
        return false;
    settings->rate_denominator = (uint32_t)(1 / rate + 0.5);
    if (settings->rate_denominator > 1) {
        /* One hash decides for one line size; whoever writes a line must be seen always. */
        settings->line_size_count = 1;
        settings->options.sharing = false;
        settings->partitions = 0;
    }
    return true;
}

bool settings_read(struct settings *settings, int argc, char **argv, char *message,
                   size_t message_size)
{
    memset(settings, 0, sizeof *settings);
    snprintf(settings->qemu_version, sizeof settings->qemu_version, "unknown");
    if (options_parse((const char *const *)environ, &settings->options, message, message_size) != 0)
        return false;
    if (settings->options.engine != ENGINE_SIMULATE)
        settings->options.engine = ENGINE_EXACT;
    make_output_absolute(settings);
    if (!read_line_sizes(settings)) {
        snprintf(
            message, message_size,
            "REUSE_LINE_SIZES: '%.100s' is not a list of at most %d powers of two from %d to %d "
            "separated by commas",
            getenv("REUSE_LINE_SIZES"), EXACT_LINE_SIZES_MAX, LINE_SIZE_MIN, LINE_SIZE_MAX);
        return false;
    }
    const char *shared = getenv("REUSE_SHARED_CACHE");
    settings->shared_cache = shared == NULL || strcmp(shared, "0") != 0;
    const char *partitions = getenv("REUSE_PARTITIONS");
    if (partitions != NULL)
        settings->partitions = (unsigned)strtoul(partitions, NULL, 10);
    if (!read_rate(settings)) {
        snprintf(message, message_size, "REUSE_RATE: '%.100s' is not a number from %g to 1",
                 getenv("REUSE_RATE"), 1.0 / EXACT_RATE_MAX);
        return false;
    }
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
        } else if (strncmp(argv[i], "qemu=", 5) == 0) {
            snprintf(settings->qemu_version, sizeof settings->qemu_version, "%s", argv[i] + 5);
        } else if (strncmp(argv[i], "guest=", 6) == 0) {
            snprintf(settings->guest_library, sizeof settings->guest_library, "%s", argv[i] + 6);
        } else {
            snprintf(message, message_size, "unknown plugin argument '%.100s'", argv[i]);
            return false;
        }
    }
    return true;
}
