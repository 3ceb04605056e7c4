/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of a microbenchmark's locality before anything is measured: for every thread and
 * line size the distribution of stack distances and reuse times of one iteration in the steady
 * state, and what follows from it. The JSON that truth_finish() writes is described in
 * docs/microbench.md.
 */
#ifndef MICROBENCH_TRUTH_H
#define MICROBENCH_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

enum { TRUTH_LINE_SIZES = 2 };
extern const uint32_t truth_line_sizes[TRUTH_LINE_SIZES]; /* bytes: 64, 256 */

struct truth;

/* NULL when no truth is wanted (options->truth is NULL): all functions below then do nothing. */
struct truth *truth_create(const struct command *command);

/* An array, ARRAY_ALIGNMENT-aligned. Returns its number, from 0. name is kept, not copied. */
size_t truth_object(struct truth *, const char *name, const void *address, size_t bytes);

/* A size or choice to show under "parameters". Names and texts are kept, not copied. */
void truth_parameter(struct truth *, const char *name, uint64_t value);
void truth_parameter_text(struct truth *, const char *name, const char *value);

/* Explicit array accesses outside the iterations; unless called they are shown as null. */
void truth_setup(struct truth *, uint64_t accesses);

/* How one line size's distribution was found; the default is "closed form". */
void truth_method(struct truth *, size_t line_size_index, const char *method);

/* Distinct lines that a thread touches in the long run; threads add up. */
void truth_footprint(struct truth *, size_t line_size_index, uint64_t lines);

/*
 * Says that in each iteration of `thread`, `count` accesses to `object` have this stack distance
 * and reuse time. The _range forms spread the count evenly over first..last, both included.
 * One thread's counts must add up to its accesses per iteration, for distances and times alike.
 */
void truth_reuse(struct truth *, size_t thread, size_t line_size_index, size_t object,
                 uint64_t stack_distance, uint64_t reuse_time, double count);
void truth_distance_range(struct truth *, size_t thread, size_t line_size_index, size_t object,
                          uint64_t first, uint64_t last, double count);
void truth_time_range(struct truth *, size_t thread, size_t line_size_index, uint64_t first,
                      uint64_t last, double count);

/*
 * Exact enumeration instead of a formula: trace() replays one iteration of a thread, calling
 * truth_access() for every access in program order; it is run twice, and the second run counts.
 */
struct truth_tracer;
typedef void truth_trace(const void *context, size_t thread, struct truth_tracer *);
void truth_enumerate(struct truth *, size_t thread, size_t line_size_index, truth_trace *trace,
                     const void *context);
void truth_access(struct truth_tracer *, size_t object, size_t byte_offset);

/*
 * One sweep over `accesses` elements that lie step_bytes apart, from the beginning of an object:
 * a line's first access finds all other lines of the sweep and outer_lines more between itself and
 * the line's last access in the sweep before, and outer_accesses besides the sweep's own; its
 * others follow at once. The sweep is done `count` times in an iteration.
 */
void truth_sweep(struct truth *, size_t thread, size_t line_size_index, size_t object,
                 uint64_t accesses, uint64_t step_bytes, uint64_t outer_lines,
                 uint64_t outer_accesses, double count);

/* Distinct lines of such a sweep. */
uint64_t sweep_lines(uint64_t accesses, uint64_t step_bytes, uint32_t line_size);

/* Lines that hold bytes first .. first+length-1. */
static inline uint64_t lines_of(uint64_t first, uint64_t length, uint32_t line_size)
{
    return length == 0 ? 0 : (first + length - 1) / line_size - first / line_size + 1;
}

/* The 48 cache sizes, bytes: 1 KiB * 65536^(i/47). */
enum { TRUTH_CURVE_SIZES = 48 };
void truth_curve_sizes(double bytes[TRUTH_CURVE_SIZES]);

/*
 * Writes the JSON and frees the truth; done[thread] and markers[thread] come from run_threads().
 * Then prints the program's result, one line "iterations=N checksum=C": on standard output, or on
 * stderr when the JSON went to standard output. truth may be NULL. Ends the program when the file
 * cannot be written.
 */
void truth_finish(struct truth *, const struct run_options *, const uint64_t *done,
                  const volatile void *const *markers, double checksum);

#endif
