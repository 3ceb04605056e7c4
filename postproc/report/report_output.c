/* SPDX-License-Identifier: BSD-3-Clause */
/* See report_output.h. */
#include "report/report_output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "document/render.h"
#include "report/html/page.h"
#include "report/model/progress.h"
#include "report/output_style.h"
#include "support/memory.h"
#include "symbols/crash_retry.h"

int report_fail(const char *message)
{
    progress_end();
    fprintf(stderr, "reuse-report: %s\n", message);
    return STATUS_FAILURE;
}

/* Replaces a file as a whole: who reads it meanwhile sees the old one or the new. */
static int replace_file(const char *name, const char *text, size_t size)
{
    char *partial = format_string("%s.%ld.tmp", name, (long)getpid()), *message;
    FILE *stream = fopen(partial, "we");
    bool written = stream != NULL && fwrite(text, 1, size, stream) == size;
    int status = 0;

    if (stream != NULL && fclose(stream) != 0)
        written = false;
    if (!written || rename(partial, name) != 0) {
        message = format_string("cannot write %s: %s", name, strerror(errno));
        status = report_fail(message);
        free(message);
        unlink(partial);
    }
    free(partial);
    return status;
}

int report_write(const struct report_options *options, const char *text, size_t size)
{
    const char *name = options->output != NULL ? options->output : "standard output";
    FILE *stream;
    bool written;
    char *message;

    progress_end();
    crash_retry_end();
    if (options->format == FORMAT_OPENMETRICS && options->output != NULL)
        return replace_file(options->output, text, size);
    stream = options->output != NULL ? fopen(options->output, "we") : stdout;
    if (stream == NULL) {
        message = format_string("cannot write %s: %s", name, strerror(errno));
        report_fail(message);
        free(message);
        return STATUS_FAILURE;
    }
    written = fwrite(text, 1, size, stream) == size && fflush(stream) == 0;
    /* A reader that has seen enough (head, a pager) is no failure of ours. */
    if (!written && errno == EPIPE && options->output == NULL)
        return 0;
    if (stream != stdout && fclose(stream) != 0)
        written = false;
    if (written)
        return 0;
    message = format_string("cannot write %s: %s", name, strerror(errno));
    report_fail(message);
    free(message);
    return STATUS_FAILURE;
}

/* The report as a comment before what a program is to read. */
static void put_script(const char *script, const char *report, FILE *stream)
{
    while (*report != '\0') {
        size_t length = strcspn(report, "\n");

        fprintf(stream, length > 0 ? "# %.*s\n" : "#\n", (int)length, report);
        report += length + (report[length] == '\n');
    }
    fputs(script, stream);
}

static void render_form(const struct report_options *options, const struct document *document,
                        const struct model *model, FILE *stream)
{
    switch (options->format) {
    case FORMAT_TEXT:
        render_text(document, output_style(options), stream);
        break;
    case FORMAT_JSON:
        render_json(document, stream);
        break;
    case FORMAT_CSV:
        render_csv(document, stream);
        break;
    default:
        progress_stage("page");
        render_html(document, options, model, stream);
    }
}

static void render_document(const struct report_options *options, const struct document *document,
                            const struct model *model, FILE *stream)
{
    char *text;
    size_t size;
    FILE *memory;

    if (options->format != FORMAT_TEXT || options->output == NULL || document->script == NULL) {
        render_form(options, document, model, stream);
        return;
    }
    memory = open_text(&text, &size);
    render_form(options, document, model, memory);
    fclose(memory);
    put_script(document->script, text, stream);
    free(text);
}

int report_put(const struct report_options *options, const struct document *document,
               const struct model *model)
{
    char *text;
    size_t size;
    FILE *memory = open_text(&text, &size);
    int status;

    render_document(options, document, model, memory);
    fclose(memory);
    status = report_write(options, text, size);
    free(text);
    return status;
}
