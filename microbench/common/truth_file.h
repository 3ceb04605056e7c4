/* SPDX-License-Identifier: BSD-3-Clause */
/* What truths of locality and of communication have in common: parameters, the file, the result. */
#ifndef MICROBENCH_TRUTH_FILE_H
#define MICROBENCH_TRUTH_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "options.h"

enum { TRUTH_PARAMETERS_MAX = 24 };

struct truth_parameter_data {
    const char *name;
    const char *text; /* NULL: the value counts */
    uint64_t value;
};

struct truth_parameters {
    struct truth_parameter_data items[TRUTH_PARAMETERS_MAX];
    size_t count;
};

/* Ends the program when there are too many. */
void truth_parameters_add(struct truth_parameters *, struct truth_parameter_data);

/* As a member of a JSON object: "parameters": {...} */
void truth_parameters_write(const struct truth_parameters *, FILE *);

/* Returns false when the stream reports an error. */
typedef bool truth_writer(const void *context, FILE *);

/* Writes the file that --truth names ("-": standard output), or ends the program. */
void truth_file_write(const struct run_options *, truth_writer *, const void *context);

/* The line "iterations=N checksum=C": on standard output, or on stderr if the truth went there. */
void print_result(const struct run_options *, const uint64_t *done, double checksum);

#endif
