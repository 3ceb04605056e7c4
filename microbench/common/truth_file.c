/* SPDX-License-Identifier: BSD-3-Clause */
#include "truth_file.h"

#include <errno.h>
#include <string.h>

void truth_parameters_add(struct truth_parameters *parameters,
                          struct truth_parameter_data parameter)
{
    if (parameters->count == TRUTH_PARAMETERS_MAX)
        fatal("the truth knows at most %d parameters", TRUTH_PARAMETERS_MAX);
    parameters->items[parameters->count++] = parameter;
}

void truth_parameters_write(const struct truth_parameters *parameters, FILE *out)
{
    fprintf(out, "\"parameters\": {");
    for (size_t i = 0; i < parameters->count; i++) {
        const struct truth_parameter_data *p = &parameters->items[i];
        fprintf(out, "%s\"%s\": ", i ? ", " : "", p->name);
        if (p->text != NULL)
            fprintf(out, "\"%s\"", p->text);
        else
            fprintf(out, "%llu", (unsigned long long)p->value);
    }
    fprintf(out, "}");
}

static bool to_standard_output(const struct run_options *options)
{
    return options->truth != NULL && strcmp(options->truth, "-") == 0;
}

void truth_file_write(const struct run_options *options, truth_writer *write, const void *context)
{
    bool on_stdout = to_standard_output(options);
    FILE *stream = on_stdout ? stdout : fopen(options->truth, "w");
    if (stream == NULL)
        fatal("cannot write %s: %s", options->truth, strerror(errno));
    bool written = write(context, stream);
    if ((on_stdout ? fflush(stream) : fclose(stream)) != 0 || !written)
        fatal("cannot write %s: %s", on_stdout ? "standard output" : options->truth,
              strerror(errno));
}

void print_result(const struct run_options *options, const uint64_t *done, double checksum)
{
    uint64_t total = 0;
    for (size_t i = 0; i < options->threads; i++)
        total += done[i];
    fprintf(to_standard_output(options) ? stderr : stdout, "iterations=%llu checksum=%.17g\n",
            (unsigned long long)total, checksum);
}
