/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes of a table whose elements are as unequally popular as words of a language (Zipf): few
 * lines take most accesses, the rest form a long tail. Two ways to draw an element: alias  integer
 * arithmetic and one access to an alias table (Walker 1977), any exponent float  floating-point
 * arithmetic in registers, P(rank < r) ~ r^(1/power): exponent 1 - 1/power
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/random.h"
#include "common/reference_model.h"
#include "common/timing.h"
#include "common/truth.h"

static uint64_t elements = 1 << 20, probes = 1 << 16, power = 8, seed = 1;
static double exponent = 0.9;
static const char *variant = "alias";
static bool scatter;
static struct run_options run_options = {.threads = 1};

/* An alias table's entry: the upper half is the probability, of 2^32, to keep the drawn place; the
 * lower half the place to take otherwise. One word, so that it is one access. */
typedef uint64_t alias_entry;

struct zipf {
    const uint64_t *table;
    const alias_entry *alias; /* NULL: float */
    uint64_t multiplier;      /* odd: scatters the ranks over the table; 1: not */
    uint64_t mask;            /* elements - 1 when they are scattered, else all ones */
    double range;             /* float: (elements + 1)^(1/power) - 1 */
    uint64_t first_sums[THREADS_MAX];
};

/* Where the element of a rank lies; not to scatter takes the same instructions. */
static inline size_t place_of(size_t rank, uint64_t multiplier, uint64_t mask)
{
    return (rank * multiplier) & mask;
}

static inline size_t draw_alias(const alias_entry *restrict alias, size_t count, uint64_t *state)
{
    unsigned __int128 product = (unsigned __int128)random_next(state) * count;
    size_t place = (size_t)(product >> 64);
    uint32_t fraction = (uint32_t)((uint64_t)product >> 32);
    alias_entry entry = alias[place];
    return fraction < entry >> 32 ? place : (uint32_t)entry;
}

/* Draws a rank. */
static inline size_t draw_float(double range, uint64_t exponent_inverse, size_t count,
                                uint64_t *state)
{
    double root = 1 + random_unit(state) * range, value = root;
    for (uint64_t i = 1; i < exponent_inverse; i++)
        value *= root;
    size_t rank = (size_t)value - 1;
    return rank < count ? rank : count - 1;
}

__attribute__((noinline)) static uint64_t probe_alias(const uint64_t *restrict table,
                                                      const alias_entry *restrict alias,
                                                      size_t count, uint64_t *state, size_t steps)
{
    uint64_t sum = 0, random = *state;
    for (size_t i = 0; i < steps; i++)
        sum += table[draw_alias(alias, count, &random)];
    *state = random;
    return sum;
}

__attribute__((noinline)) static uint64_t probe_float(const uint64_t *restrict table, double range,
                                                      uint64_t exponent_inverse,
                                                      uint64_t multiplier, uint64_t mask,
                                                      size_t count, uint64_t *state, size_t steps)
{
    uint64_t sum = 0, random = *state;
    for (size_t i = 0; i < steps; i++)
        sum +=
            table[place_of(draw_float(range, exponent_inverse, count, &random), multiplier, mask)];
    *state = random;
    return sum;
}

static uint64_t probe(const struct zipf *z, uint64_t *state)
{
    if (z->alias != NULL)
        return probe_alias(z->table, z->alias, elements, state, probes);
    return probe_float(z->table, z->range, power, z->multiplier, z->mask, elements, state, probes);
}

static void work(void *context, size_t thread, struct run *run)
{
    struct zipf *z = context;
    uint64_t state = random_start(seed + thread);
    while (run_continues(run)) {
        uint64_t sum = probe(z, &state);
        if (run->iteration == 1)
            z->first_sums[thread] = sum;
    }
}

/* Probability of each place. */
static double *probabilities(const struct zipf *z)
{
    double *p = malloc(elements * sizeof *p), sum = 0;
    check_allocation(p, "the probabilities", elements * sizeof *p);
    for (size_t r = 0; r < elements; r++) {
        double rank = (double)r + 1, popularity;
        if (strcmp(variant, "alias") == 0)
            popularity = pow(rank, -exponent);
        else
            popularity = pow(rank + 1, 1 / (double)power) - pow(rank, 1 / (double)power);
        p[place_of(r, z->multiplier, z->mask)] = popularity;
        sum += popularity;
    }
    for (size_t i = 0; i < elements; i++)
        p[i] /= sum;
    return p;
}

/* Vose's construction (1991) of Walker's alias table from the places' probabilities. */
static void fill_alias(alias_entry *alias, const double *p)
{
    double *scaled = malloc(elements * sizeof *scaled);
    uint32_t *stack = malloc(elements * sizeof *stack);
    check_allocation(scaled, "the alias table", elements * sizeof *scaled);
    check_allocation(stack, "the alias table", elements * sizeof *stack);
    size_t small = 0, large = elements; /* small places grow from the front, large from the back */
    for (size_t i = 0; i < elements; i++) {
        scaled[i] = p[i] * (double)elements;
        if (scaled[i] < 1)
            stack[small++] = (uint32_t)i;
        else
            stack[--large] = (uint32_t)i;
    }
    while (small > 0 && large < elements) {
        uint32_t poor = stack[--small], rich = stack[large++];
        alias[poor] = (alias_entry)(scaled[poor] * 0x1p32) << 32 | rich;
        scaled[rich] -= 1 - scaled[poor];
        if (scaled[rich] < 1)
            stack[small++] = rich;
        else
            stack[--large] = rich;
    }
    while (small > 0 || large < elements) { /* what rounding left over keeps its place */
        uint32_t place = small > 0 ? stack[--small] : stack[large++];
        alias[place] = (alias_entry)UINT32_MAX << 32 | place;
    }
    free(stack);
    free(scaled);
}

static void tell_truth(struct truth *t, const struct zipf *z, const double *p, size_t table_object,
                       size_t alias_object)
{
    for (size_t i = 0; i < TRUTH_LINE_SIZES; i++) {
        size_t lines = elements * sizeof *z->table / truth_line_sizes[i], count = 0;
        double *of_line = calloc(lines, sizeof *of_line);
        check_allocation(of_line, "the probabilities", lines * sizeof *of_line);
        for (size_t k = 0; k < elements; k++)
            of_line[k * lines / elements] += p[k];
        struct reference_object objects[2];
        objects[count++] = reference_object_create(table_object, of_line, lines);
        if (z->alias != NULL)
            objects[count++] = reference_object_uniform(alias_object, lines);
        for (size_t thread = 0; thread < run_options.threads; thread++)
            reference_model_truth(t, thread, i, objects, count, (double)probes);
        for (size_t k = 0; k < count; k++)
            free(objects[k].groups);
        free(of_line);
    }
}

/* Each thread's first iteration, drawn again but not looked up. */
static double verify(const struct zipf *z)
{
    double checksum = 0;
    for (size_t thread = 0; thread < run_options.threads; thread++) {
        uint64_t state = random_start(seed + thread), expected = 0;
        for (size_t i = 0; i < probes; i++) {
            size_t place = z->alias != NULL
                               ? draw_alias(z->alias, elements, &state)
                               : place_of(draw_float(z->range, power, elements, &state),
                                          z->multiplier, z->mask);
            expected += 3 * place;
        }
        if (z->first_sums[thread] != expected)
            fatal("wrong result on thread %zu: %llu instead of %llu", thread,
                  (unsigned long long)z->first_sums[thread], (unsigned long long)expected);
        checksum += (double)expected;
    }
    return checksum;
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        {"elements", "N", "of the table, 8 bytes each, a multiple of 32", OPTION_COUNT, &elements,
         32, (uint64_t)1 << 30},
        {"index", "alias|float", "how an element is drawn", OPTION_CHOICE, &variant, 0, 0},
        {"exponent", "X", "popularity falls as rank^-X (alias)", OPTION_REAL, &exponent, 0, 0},
        {"power", "K", "... as rank^-(1-1/K) (float)", OPTION_COUNT, &power, 2, 64},
        {"scatter", NULL, "neighbours in rank lie far apart", OPTION_FLAG, &scatter, 0, 0},
        {"probes", "N", "probes of one iteration", OPTION_COUNT, &probes, 1, (uint64_t)1 << 40},
        {"seed", "N", "of the random numbers", OPTION_COUNT, &seed, 0, UINT64_MAX},
    };
    const struct command command = {.name = "zipf",
                                    .purpose = "Loads from Zipf-distributed places of a table.",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0],
                                    .run = &run_options,
                                    .threaded = true};
    options_parse(&command, argc, argv);
    if (elements % 32 != 0)
        usage_error("--elements: %llu is not a multiple of 32", (unsigned long long)elements);
    if (scatter && (elements & (elements - 1)) != 0)
        usage_error("--scatter: needs a power of two as --elements");

    static struct zipf z;
    z.multiplier = scatter ? 0x9e3779b1u : 1;
    z.mask = scatter ? elements - 1 : UINT64_MAX;
    z.range = pow((double)elements + 1, 1 / (double)power) - 1;
    size_t bytes = elements * sizeof *z.table;
    uint64_t *table = aligned_alloc(ARRAY_ALIGNMENT, bytes);
    check_allocation(table, "table", bytes);
    for (size_t i = 0; i < elements; i++)
        table[i] = 3 * i;
    z.table = table;
    double *p = probabilities(&z);
    alias_entry *alias = NULL;
    if (strcmp(variant, "alias") == 0) {
        alias = aligned_alloc(ARRAY_ALIGNMENT, bytes);
        check_allocation(alias, "alias", bytes);
        fill_alias(alias, p);
        z.alias = alias;
    }

    struct truth *t = truth_create(&command);
    if (t != NULL) {
        truth_parameter(t, "elements", elements);
        truth_parameter_text(t, "index", variant);
        truth_parameter(t, "scatter", scatter);
        truth_parameter(t, "probes", probes);
        size_t table_object = truth_object(t, "table", table, bytes), alias_object = 0;
        if (alias != NULL)
            alias_object = truth_object(t, "alias", alias, bytes);
        truth_setup(t, elements + (alias != NULL ? elements + run_options.threads * probes : 0));
        tell_truth(t, &z, p, table_object, alias_object);
    }
    free(p);
    uint64_t done[THREADS_MAX];
    const volatile void *markers[THREADS_MAX];
    run_threads(&run_options, work, &z, done, markers);
    double checksum = verify(&z);
    truth_finish(t, &run_options, done, markers, checksum);
    free(alias);
    free(table);
    return 0;
}
