/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command lines of the microbenchmarks: long options only, each listed once in a table that serves
 * parsing, checking and --help alike. Wrong usage ends the program with one line and status 2.
 */
#ifndef MICROBENCH_OPTIONS_H
#define MICROBENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,   /* --name             target: bool */
    OPTION_COUNT,  /* --name N           target: uint64_t */
    OPTION_SIZE,   /* --name N[K|M|G]    target: uint64_t, bytes (K = 1024) */
    OPTION_REAL,   /* --name X           target: double, > 0 */
    OPTION_TEXT,   /* --name TEXT        target: const char * */
    OPTION_CHOICE, /* --name A|B|..      target: const char *, one of the words in value_name */
};

struct option_spec {
    const char *name;       /* without the dashes */
    const char *value_name; /* as --help shows it */
    const char *help;
    enum option_kind kind;
    void *target;     /* holds the default before parsing */
    uint64_t minimum; /* of counts and sizes */
    uint64_t maximum;
};

/* How long to run, on how many threads, and where the truth goes: the same in every program. */
struct run_options {
    double seconds;      /* > 0, or 0 when iterations decides */
    uint64_t iterations; /* > 0, or 0 when seconds decides */
    uint64_t threads;    /* 1 .. THREADS_MAX */
    const char *truth;   /* file, "-" for standard output, or NULL */
};

enum { THREADS_MAX = 256 };

struct command {
    const char *name;
    const char *purpose; /* one sentence */
    const char *operand; /* name of the only operand, NULL when there is none */
    const struct option_spec *options;
    size_t option_count;
    struct run_options *run; /* NULL: the program has no --seconds and so on */
    bool threaded;           /* the program offers --threads */
};

/*
 * Fills the targets. The operand, if there is one, is returned, else NULL. run's fields other than
 * threads are reset first; threads keeps its value as the default. Does not return on --help
 * (status 0) or wrong usage (status 2, one line on stderr).
 */
const char *options_parse(const struct command *, int argc, char **argv);

/* One line on stderr, "NAME: ...", then exit 2 (wrong usage) or 1 (anything else). */
__attribute__((noreturn, format(printf, 1, 2))) void usage_error(const char *format, ...);
__attribute__((noreturn, format(printf, 1, 2))) void fatal(const char *format, ...);

/* Ends the program with one line when an allocation of `bytes` for `what` came back NULL. */
void check_allocation(void *memory, const char *what, size_t bytes);

/* Arrays are aligned so that no two share a line of either size that the truth is given for. */
enum { ARRAY_ALIGNMENT = 256 };

/* bytes, rounded up to a multiple of ARRAY_ALIGNMENT as aligned_alloc() wants it. */
static inline size_t array_size(size_t bytes)
{
    return (bytes + ARRAY_ALIGNMENT - 1) / ARRAY_ALIGNMENT * ARRAY_ALIGNMENT;
}

#endif
