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

bool settings_read(struct settings *settings, int argc, char **argv, char *message,
                   size_t message_size)
{
    memset(settings, 0, sizeof *settings);
    snprintf(settings->qemu_version, sizeof settings->qemu_version, "unknown");
    if (options_parse((const char *const *)environ, &settings->options, message, message_size) != 0)
        return false;
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
    const char *partitions = getenv("REUSE_PARTITIONS");
    if (partitions != NULL)
        settings->partitions = (unsigned)strtoul(partitions, NULL, 10);
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "program=", 8) == 0) {
            settings->program_index = (unsigned)strtoul(argv[i] + 8, NULL, 10);
        } else if (strncmp(argv[i], "generation=", 11) == 0) {
            settings->generation = (unsigned)strtoul(argv[i] + 11, NULL, 10);
        } else if (strncmp(argv[i], "qemu=", 5) == 0) {
            snprintf(settings->qemu_version, sizeof settings->qemu_version, "%s", argv[i] + 5);
        } else {
            snprintf(message, message_size, "unknown plugin argument '%.100s'", argv[i]);
            return false;
        }
    }
    return true;
}
