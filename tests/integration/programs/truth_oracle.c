/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Judges a microbenchmark's --truth by its own memory accesses, as valgrind's lackey saw them: a
 * plain LRU list, sharing no code with the microbenchmarks, is fed with what the compiled program
 * really did.
 *
 *     valgrind --tool=lackey -q PROGRAM ... --truth T
 *     valgrind --tool=lackey --trace-mem=yes PROGRAM ... | truth_oracle T TOLERANCE
 * WARMUP
 *
 * TOLERANCE: percentage points by which a curve or a cumulative share may differ. WARMUP:
 * iterations before the ones that are compared. Prints every difference; exit status 0 when there
 * is none.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS_MAX = 16, SIZES = 48 };

struct reference {
    uint64_t address;
    uint32_t size;
    bool store; /* a modification is a load and a store */
};

static struct reference *references;
static size_t reference_count;
static unsigned differences;
static uint64_t smallest;

static void *need(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "truth_oracle: out of memory\n");
        exit(3);
    }
    return memory;
}

__attribute__((format(printf, 1, 2))) static void differ(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("# ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    differences++;
}

static void add_reference(uint64_t address, uint32_t size, bool store)
{
    static size_t capacity;
    if (reference_count == capacity) {
        capacity = capacity ? 2 * capacity : 1 << 20;
        references = need(realloc(references, capacity * sizeof *references));
    }
    references[reference_count++] = (struct reference){address, size, store};
}

/* Lines like " L 1fff0005a8,8"; instruction lines begin with "I". */
static void read_trace(FILE *stream)
{
    char line[256];
    while (fgets(line, sizeof line, stream) != NULL) {
        uint64_t address;
        uint32_t size;
        char kind = line[1];
        if (line[0] != ' ' || strchr("LSM", kind) == NULL ||
            sscanf(line + 2, "%" SCNx64 ",%" SCNu32, &address, &size) != 2)
            continue;
        if (kind == 'L' || kind == 'M')
            add_reference(address, size, false);
        if (kind == 'S' || kind == 'M')
            add_reference(address, size, true);
    }
}

struct object {
    const char *name;
    uint64_t address, bytes;
};

struct trace {
    struct object objects[OBJECTS_MAX];
    size_t object_count;
    uint64_t iterations, per_iteration;
    size_t *marks; /* iterations + 1 positions in references */
};

static int object_of(const struct trace *t, uint64_t address)
{
    for (size_t i = 0; i < t->object_count; i++) {
        if (address - t->objects[i].address < t->objects[i].bytes)
            return (int)i;
    }
    return -1;
}

/* The last iterations + 1 stores to the marker delimit the iterations. */
static bool find_marks(struct trace *t, uint64_t marker)
{
    t->marks = need(calloc(t->iterations + 1, sizeof *t->marks));
    uint64_t left = t->iterations + 1;
    for (size_t i = reference_count; i-- > 0 && left > 0;) {
        if (references[i].store && references[i].address == marker && references[i].size == 8)
            t->marks[--left] = i;
    }
    return left == 0;
}

static void check_counts(const struct trace *t, const json_t *setup)
{
    enum { FREED_MAX = 16 };
    uint64_t outside = 0, others = 0;
    for (size_t i = 0; i < reference_count; i++) {
        if ((i < t->marks[0] || i > t->marks[t->iterations]) &&
            object_of(t, references[i].address) >= 0)
            outside++;
    }
    /* free() writes into arrays that are given back. */
    uint64_t expected = (uint64_t)json_integer_value(setup);
    if (json_is_integer(setup) && (outside < expected || outside > expected + FREED_MAX))
        differ("setup: %" PRIu64 " accesses in the trace, %lld in the truth", outside,
               (long long)json_integer_value(setup));
    for (uint64_t k = 0; k < t->iterations; k++) {
        uint64_t inside = 0;
        for (size_t i = t->marks[k] + 1; i < t->marks[k + 1]; i++) {
            if (object_of(t, references[i].address) >= 0)
                inside++;
            else
                others++;
        }
        if (inside != t->per_iteration)
            differ("iteration %" PRIu64 ": %" PRIu64 " accesses in the trace, %" PRIu64
                   " in the truth",
                   k + 1, inside, t->per_iteration);
    }
    double extra = 100.0 * (double)others / (double)(t->iterations * t->per_iteration);
    printf("# %" PRIu64 " accesses per iteration, %.2f %% more outside the arrays\n",
           t->per_iteration, extra);
}

/* The LRU list: lines, most recent first. */
struct list {
    uint64_t *lines;
    size_t count, capacity;
};

/* Stack distance of an access, SIZE_MAX when the line is new; moves the line to the front. */
static size_t touch(struct list *l, uint64_t line)
{
    size_t depth = 0;
    while (depth < l->count && l->lines[depth] != line)
        depth++;
    bool is_new = depth == l->count;
    if (is_new && l->count == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 1024;
        l->lines = need(realloc(l->lines, l->capacity * sizeof *l->lines));
    }
    l->count += is_new;
    memmove(l->lines + 1, l->lines, depth * sizeof *l->lines);
    l->lines[0] = line;
    return is_new ? SIZE_MAX : depth;
}

/* One counted access. */
struct observation {
    int object;
    uint64_t distance, time;
};

struct observations {
    struct observation *all;
    size_t count;
};

/* Runs the accesses to the objects through the list; those after the warm-up are kept. */
static struct observations observe(const struct trace *t, uint32_t line_size, uint64_t warmup)
{
    struct observations o = {0};
    struct list list = {0};
    uint64_t low = UINT64_MAX, high = 0, now = 0;
    for (size_t i = 0; i < t->object_count; i++) {
        if (t->objects[i].address < low)
            low = t->objects[i].address;
        if (t->objects[i].address + t->objects[i].bytes > high)
            high = t->objects[i].address + t->objects[i].bytes;
    }
    uint64_t *last = need(calloc((high - low) / line_size + 2, sizeof *last));
    o.all = need(calloc(t->iterations * t->per_iteration + 1, sizeof *o.all));
    for (size_t i = t->marks[0]; i < t->marks[t->iterations]; i++) {
        int object = object_of(t, references[i].address);
        if (object < 0)
            continue;
        uint64_t line = references[i].address / line_size, index = line - low / line_size;
        now++;
        size_t distance = touch(&list, line);
        if (i > t->marks[warmup] && o.count < t->iterations * t->per_iteration)
            o.all[o.count++] = (struct observation){object, distance, now - last[index]};
        last[index] = now;
    }
    free(last);
    free(list.lines);
    return o;
}

static void check_curve(const struct observations *o, int object, const char *what,
                        uint32_t line_size, const double truth[SIZES], double tolerance)
{
    double previous = 1;
    for (int k = 0; k < SIZES; k++) {
        double bytes = 1024 * exp(k / 47.0 * log(65536));
        uint64_t lines = (uint64_t)(bytes / line_size + 1e-6);
        uint64_t misses = 0, accesses = 0;
        for (size_t i = 0; i < o->count; i++) {
            if (object < 0 || o->all[i].object == object) {
                accesses++;
                misses += o->all[i].distance >= lines;
            }
        }
        double ratio = accesses ? (double)misses / (double)accesses : 0;
        if (lines >= smallest && !(fabs(ratio - truth[k]) * 100 <= tolerance))
            differ("%s, lines of %u: miss ratio at %.0f bytes is %.6f in the trace, %.6f in the "
                   "truth",
                   what, line_size, bytes, ratio, truth[k]);
        if (truth[k] > previous + 1e-12)
            differ("%s, lines of %u: the miss ratio rises at %.0f bytes", what, line_size, bytes);
        previous = truth[k];
    }
}

/* Compares cumulative shares at the end of every entry of a list of distances or times. */
static void check_list(const struct observations *o, const json_t *list, const char *key,
                       bool times, uint32_t line_size, double tolerance)
{
    double cumulative = 0;
    size_t index;
    json_t *entry;
    json_array_foreach(list, index, entry)
    {
        const json_t *end = json_object_get(entry, "through");
        if (end == NULL)
            end = json_object_get(entry, key);
        uint64_t through = (uint64_t)json_integer_value(end), seen = 0;
        cumulative += json_number_value(json_object_get(entry, "share"));
        for (size_t i = 0; i < o->count; i++)
            seen += (times ? o->all[i].time : o->all[i].distance) <= through;
        double share = (double)seen / (double)o->count;
        if (through >= smallest && !(fabs(share - cumulative) * 100 <= tolerance))
            differ("%s, lines of %u: share up to %" PRIu64 " is %.6f in the trace, %.6f in the "
                   "truth",
                   key, line_size, through, share, cumulative);
    }
    if (fabs(cumulative - 1) > 1e-6)
        differ("%s, lines of %u: the shares add up to %.9f", key, line_size, cumulative);
}

static void check_line_size(const struct trace *t, const json_t *truth, double tolerance,
                            uint64_t warmup)
{
    uint32_t line_size = (uint32_t)json_integer_value(json_object_get(truth, "line_size"));
    struct observations o = observe(t, line_size, warmup);
    double curve[SIZES];
    const json_t *points = json_object_get(truth, "mrc");
    for (size_t k = 0; k < SIZES; k++)
        curve[k] = json_number_value(json_object_get(json_array_get(points, k), "miss_ratio"));
    check_curve(&o, -1, "all objects", line_size, curve, tolerance);
    check_list(&o, json_object_get(truth, "stack_distance"), "stack_distance_lines", false,
               line_size, tolerance);
    check_list(&o, json_object_get(truth, "reuse_time"), "reuse_time", true, line_size, tolerance);

    const json_t *objects = json_object_get(truth, "objects");
    for (size_t i = 0; i < t->object_count; i++) {
        const json_t *object = json_array_get(objects, i),
                     *ratios = json_object_get(object, "miss_ratio");
        for (size_t k = 0; k < SIZES; k++)
            curve[k] = json_number_value(json_array_get(ratios, k));
        check_curve(&o, (int)i, t->objects[i].name, line_size, curve, tolerance);
        size_t own = 0;
        for (size_t k = 0; k < o.count; k++)
            own += o.all[k].object == (int)i;
        double share = json_number_value(json_object_get(object, "accesses_share"));
        if (fabs((double)own / (double)o.count - share) * 100 > tolerance)
            differ("%s: share of accesses %.6f in the trace, %.6f in the truth", t->objects[i].name,
                   (double)own / (double)o.count, share);
    }
    free(o.all);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: truth_oracle TRUTH.json TOLERANCE WARMUP SMALLEST < TRACE\n");
        return 2;
    }
    double tolerance = atof(argv[2]);
    uint64_t warmup = strtoull(argv[3], NULL, 10);
    smallest = strtoull(argv[4], NULL, 10);
    read_trace(stdin);
    json_error_t error;
    json_t *truth = json_load_file(argv[1], 0, &error);
    if (truth == NULL) {
        differ("%s: line %d: %s", argv[1], error.line, error.text);
        return 1;
    }
    struct trace t = {0};
    size_t index;
    json_t *object;
    json_array_foreach(json_object_get(truth, "objects"), index, object)
    {
        if (index < OBJECTS_MAX)
            t.objects[t.object_count++] =
                (struct object){json_string_value(json_object_get(object, "name")),
                                (uint64_t)json_integer_value(json_object_get(object, "address")),
                                (uint64_t)json_integer_value(json_object_get(object, "bytes"))};
    }
    const json_t *thread = json_array_get(json_object_get(truth, "threads"), 0);
    t.iterations = (uint64_t)json_integer_value(json_object_get(thread, "iterations"));
    t.per_iteration = (uint64_t)json_number_value(json_object_get(thread, "per_iteration"));
    if (!find_marks(&t, (uint64_t)json_integer_value(json_object_get(thread, "marker"))) ||
        t.iterations <= warmup) {
        differ("the trace does not show %" PRIu64 " iterations (warm-up %" PRIu64 ")", t.iterations,
               warmup);
        return 1;
    }
    check_counts(&t, json_object_get(json_object_get(truth, "accesses"), "setup"));
    json_array_foreach(json_object_get(truth, "line_sizes"), index, object)
        check_line_size(&t, object, tolerance, warmup);
    free(t.marks);
    free(references);
    json_decref(truth);
    return differences > 0;
}
