/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/export/export.h"

#include <string.h>
#include <unistd.h>

static const char *const names[] = {
    [FORMAT_TEXT] = "text",
    [FORMAT_JSON] = "json",
    [FORMAT_CSV] = "csv",
    [FORMAT_HTML] = "html",
    [FORMAT_CALLGRIND] = "callgrind",
    [FORMAT_COLLAPSED] = "collapsed",
    [FORMAT_SPEEDSCOPE] = "speedscope",
    [FORMAT_PPROF] = "pprof",
    [FORMAT_OPENMETRICS] = "openmetrics",
};

bool format_parse(const char *name, struct report_options *options)
{
    size_t length = strcspn(name, ":");

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strlen(names[i]) != length || strncmp(name, names[i], length) != 0 ||
            (name[length] == ':' && i != FORMAT_COLLAPSED))
            continue;
        options->format = (enum report_format)i;
        options->event = name[length] == ':' ? name + length + 1 : NULL;
        return true;
    }
    return false;
}

bool format_is_export(enum report_format format)
{
    return format == FORMAT_CALLGRIND || format == FORMAT_COLLAPSED ||
           format == FORMAT_SPEEDSCOPE || format == FORMAT_PPROF || format == FORMAT_OPENMETRICS;
}

/* The number of the event that was asked for; the number of events if there is none. */
static size_t wanted_event(const struct export_stacks *stacks)
{
    const char *wanted = stacks->model->options->event;
    size_t i = 0;

    if (wanted == NULL)
        return stacks->focus;
    while (i < stacks->event_count && strcmp(stacks->events[i].name, wanted) != 0)
        i++;
    return i;
}

static bool write_collapsed(const struct export_stacks *stacks, FILE *stream, char *message,
                            size_t message_size)
{
    size_t event = wanted_event(stacks), used;

    if (event < stacks->event_count) {
        export_collapsed(stacks, event, stream);
        return true;
    }
    used = (size_t)snprintf(message, message_size, "--format collapsed: no event '%s'; there are",
                            stacks->model->options->event);
    for (size_t i = 0; i < stacks->event_count && used < message_size; i++)
        used += (size_t)snprintf(message + used, message_size - used, "%s %s", i > 0 ? "," : "",
                                 stacks->events[i].name);
    return false;
}

bool export_write(struct model *model, FILE *stream, char *message, size_t message_size)
{
    struct export_stacks stacks;
    bool written = true;

    if (model->options->format == FORMAT_PPROF && model->options->output == NULL &&
        isatty(STDOUT_FILENO)) {
        snprintf(message, message_size,
                 "--format pprof is binary and not for a terminal: name a file with -o FILE");
        return false;
    }
    if (model->options->format == FORMAT_OPENMETRICS) {
        export_openmetrics(model, stream);
        return true;
    }
    stacks = export_stacks_of(model);

    switch (model->options->format) {
    case FORMAT_CALLGRIND:
        export_callgrind(&stacks, stream);
        break;
    case FORMAT_SPEEDSCOPE:
        export_speedscope(&stacks, stream);
        break;
    case FORMAT_COLLAPSED:
        written = write_collapsed(&stacks, stream, message, message_size);
        break;
    default:
        written = export_pprof(&stacks, stream);
        if (!written)
            snprintf(message, message_size, "--format pprof: zlib could not compress the profile");
        break;
    }
    export_stacks_free(&stacks);
    return written;
}
