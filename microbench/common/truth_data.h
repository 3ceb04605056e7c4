/* SPDX-License-Identifier: BSD-3-Clause */
/* What truth.c collects and truth_json.c writes; nobody else includes this. */
#ifndef MICROBENCH_TRUTH_DATA_H
#define MICROBENCH_TRUTH_DATA_H

#include "truth.h"
#include "truth_file.h"

enum { TRUTH_OBJECTS_MAX = 16 };

/* `count` accesses to an object, spread evenly over the distances (or times) first..last. */
struct atom {
    uint64_t first, last;
    double count;
    uint32_t object;
};

struct distribution {
    struct atom *atoms;
    size_t count, capacity;
};

struct truth_thread {
    struct distribution distances[TRUTH_LINE_SIZES];
    struct distribution times[TRUTH_LINE_SIZES];
};

struct truth_object_data {
    const char *name;
    const void *address;
    size_t bytes;
};

struct truth {
    const struct command *command;
    struct truth_object_data objects[TRUTH_OBJECTS_MAX];
    size_t object_count;
    struct truth_parameters parameters;
    const char *method[TRUTH_LINE_SIZES];
    uint64_t footprint[TRUTH_LINE_SIZES];
    bool setup_known;
    uint64_t setup;
    struct truth_thread *threads;
    size_t thread_count;
};

void distribution_add(struct distribution *, struct atom);

/* Bins of 1/16 octave above 64, single values below: index of a value, and a bin's bounds. */
enum { LOG_BINS = 64 + 16 * 58 };
size_t log_bin(uint64_t value);
void log_bin_bounds(size_t bin, uint64_t *first, uint64_t *last);

/* What truth_write_json() writes: all that is known, and what the run has done. */
struct truth_outcome {
    const struct truth *truth;
    const uint64_t *done;
    const volatile void *const *markers;
    double checksum;
};
/* A truth_writer of a struct truth_outcome. */
bool truth_write_json(const void *outcome, FILE *);

#endif
