/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects what is known of a microbenchmark's locality; see truth.h. */
#include "truth.h"

#include <math.h>
#include <stdlib.h>

#include "stack_simulator.h"
#include "truth_data.h"

const uint32_t truth_line_sizes[TRUTH_LINE_SIZES] = {64, 256};

void distribution_add(struct distribution *d, struct atom atom)
{
    if (atom.count <= 0)
        return;
    if (d->count == d->capacity) {
        d->capacity = d->capacity ? 2 * d->capacity : 64;
        d->atoms = realloc(d->atoms, d->capacity * sizeof *d->atoms);
        check_allocation(d->atoms, "the truth", d->capacity * sizeof *d->atoms);
    }
    d->atoms[d->count++] = atom;
}

size_t log_bin(uint64_t value)
{
    if (value < 64)
        return (size_t)value;
    unsigned octave = 63 - (unsigned)__builtin_clzll(value);
    return 64 + (octave - 6) * 16 + ((value >> (octave - 4)) & 15);
}

void log_bin_bounds(size_t bin, uint64_t *first, uint64_t *last)
{
    if (bin < 64) {
        *first = *last = bin;
        return;
    }
    unsigned octave = 6 + (unsigned)(bin - 64) / 16;
    *first = (16 + (bin - 64) % 16) << (octave - 4);
    *last = *first + ((uint64_t)1 << (octave - 4)) - 1;
}

void truth_curve_sizes(double bytes[TRUTH_CURVE_SIZES])
{
    for (int i = 0; i < TRUTH_CURVE_SIZES; i++)
        bytes[i] = 1024 * pow(65536, i / 47.0);
}

struct truth *truth_create(const struct command *command)
{
    if (command->run->truth == NULL)
        return NULL;
    struct truth *t = calloc(1, sizeof *t);
    check_allocation(t, "the truth", sizeof *t);
    t->command = command;
    t->thread_count = command->run->threads;
    t->threads = calloc(t->thread_count, sizeof *t->threads);
    check_allocation(t->threads, "the truth", t->thread_count * sizeof *t->threads);
    for (size_t i = 0; i < TRUTH_LINE_SIZES; i++)
        t->method[i] = "closed form";
    return t;
}

size_t truth_object(struct truth *t, const char *name, const void *address, size_t bytes)
{
    if (t == NULL)
        return 0;
    if (t->object_count == TRUTH_OBJECTS_MAX)
        fatal("the truth knows at most %d objects", TRUTH_OBJECTS_MAX);
    t->objects[t->object_count] = (struct truth_object_data){name, address, bytes};
    return t->object_count++;
}

void truth_parameter(struct truth *t, const char *name, uint64_t value)
{
    if (t != NULL)
        truth_parameters_add(&t->parameters,
                             (struct truth_parameter_data){.name = name, .value = value});
}

void truth_parameter_text(struct truth *t, const char *name, const char *value)
{
    if (t != NULL)
        truth_parameters_add(&t->parameters,
                             (struct truth_parameter_data){.name = name, .text = value});
}

void truth_setup(struct truth *t, uint64_t accesses)
{
    if (t == NULL)
        return;
    t->setup_known = true;
    t->setup = accesses;
}

void truth_method(struct truth *t, size_t line_size_index, const char *method)
{
    if (t != NULL)
        t->method[line_size_index] = method;
}

void truth_footprint(struct truth *t, size_t line_size_index, uint64_t lines)
{
    if (t != NULL)
        t->footprint[line_size_index] += lines;
}

void truth_distance_range(struct truth *t, size_t thread, size_t line_size_index, size_t object,
                          uint64_t first, uint64_t last, double count)
{
    if (t != NULL)
        distribution_add(&t->threads[thread].distances[line_size_index],
                         (struct atom){first, last, count, (uint32_t)object});
}

void truth_time_range(struct truth *t, size_t thread, size_t line_size_index, uint64_t first,
                      uint64_t last, double count)
{
    if (t != NULL)
        distribution_add(&t->threads[thread].times[line_size_index],
                         (struct atom){first, last, count, 0});
}

void truth_reuse(struct truth *t, size_t thread, size_t line_size_index, size_t object,
                 uint64_t stack_distance, uint64_t reuse_time, double count)
{
    truth_distance_range(t, thread, line_size_index, object, stack_distance, stack_distance, count);
    truth_time_range(t, thread, line_size_index, reuse_time, reuse_time, count);
}

uint64_t sweep_lines(uint64_t accesses, uint64_t step_bytes, uint32_t line_size)
{
    if (step_bytes >= line_size || accesses == 0)
        return accesses;
    return (accesses - 1) * step_bytes / line_size + 1;
}

void truth_sweep(struct truth *t, size_t thread, size_t line_size_index, size_t object,
                 uint64_t accesses, uint64_t step_bytes, uint64_t outer_lines,
                 uint64_t outer_accesses, double count)
{
    uint32_t line_size = truth_line_sizes[line_size_index];
    uint64_t lines = sweep_lines(accesses, step_bytes, line_size);
    uint64_t done = 0;     /* accesses to the lines before this one */
    uint64_t previous = 0; /* accesses to the line before; runs of equal lines are told at once */
    double equal = 0;
    for (uint64_t line = 0; line <= lines; line++) {
        uint64_t in_line = 0;
        if (line < lines) {
            uint64_t next = done + 1;
            if (step_bytes < line_size)
                next = ((line + 1) * line_size + step_bytes - 1) / step_bytes;
            if (next > accesses)
                next = accesses;
            in_line = next - done;
            done = next;
        }
        if (in_line != previous && equal > 0) {
            truth_reuse(t, thread, line_size_index, object, lines - 1 + outer_lines,
                        accesses - previous + 1 + outer_accesses, equal * count);
            truth_reuse(t, thread, line_size_index, object, 0, 1,
                        equal * (double)(previous - 1) * count);
            equal = 0;
        }
        equal++;
        previous = in_line;
    }
}

struct truth_tracer {
    struct stack_simulator *simulator;
    uint32_t line_size;
    size_t first_line[TRUTH_OBJECTS_MAX]; /* number of an object's first line */
    bool counting;
    uint64_t *distances[TRUTH_OBJECTS_MAX]; /* accesses per stack distance */
    uint64_t times[LOG_BINS];
    uint64_t touched; /* lines that the first run touched */
};

void truth_access(struct truth_tracer *tracer, size_t object, size_t byte_offset)
{
    uint64_t time;
    uint64_t distance = stack_simulator_access(
        tracer->simulator, tracer->first_line[object] + byte_offset / tracer->line_size, &time);
    if (tracer->counting) {
        tracer->distances[object][distance]++;
        tracer->times[log_bin(time)]++;
    } else if (distance == STACK_COLD) {
        tracer->touched++;
    }
}

void truth_enumerate(struct truth *t, size_t thread, size_t line_size_index, truth_trace *trace,
                     const void *context)
{
    if (t == NULL)
        return;
    struct truth_tracer *tracer = calloc(1, sizeof *tracer);
    check_allocation(tracer, "the truth", sizeof *tracer);
    tracer->line_size = truth_line_sizes[line_size_index];
    size_t lines = 0;
    for (size_t i = 0; i < t->object_count; i++) {
        tracer->first_line[i] = lines;
        lines += lines_of(0, t->objects[i].bytes, tracer->line_size);
    }
    for (size_t i = 0; i < t->object_count; i++) {
        tracer->distances[i] = calloc(lines + 1, sizeof **tracer->distances);
        check_allocation(tracer->distances[i], "the truth", lines * sizeof **tracer->distances);
    }
    tracer->simulator = stack_simulator_create(lines);
    trace(context, thread, tracer);
    tracer->counting = true;
    trace(context, thread, tracer);

    t->method[line_size_index] = "enumeration";
    t->footprint[line_size_index] += tracer->touched;
    for (size_t i = 0; i < t->object_count; i++) {
        for (size_t distance = 0; distance <= lines; distance++)
            truth_distance_range(t, thread, line_size_index, i, distance, distance,
                                 (double)tracer->distances[i][distance]);
        free(tracer->distances[i]);
    }
    for (size_t bin = 0; bin < LOG_BINS; bin++) {
        uint64_t first, last;
        log_bin_bounds(bin, &first, &last);
        truth_time_range(t, thread, line_size_index, first, last, (double)tracer->times[bin]);
    }
    stack_simulator_free(tracer->simulator);
    free(tracer);
}

static void truth_free(struct truth *t)
{
    for (size_t thread = 0; thread < t->thread_count; thread++) {
        for (size_t i = 0; i < TRUTH_LINE_SIZES; i++) {
            free(t->threads[thread].distances[i].atoms);
            free(t->threads[thread].times[i].atoms);
        }
    }
    free(t->threads);
    free(t);
}

void truth_finish(struct truth *t, const struct run_options *options, const uint64_t *done,
                  const volatile void *const *markers, double checksum)
{
    if (t != NULL) {
        truth_file_write(options, truth_write_json,
                         &(struct truth_outcome){t, done, markers, checksum});
        truth_free(t);
    }
    print_result(options, done, checksum);
}
