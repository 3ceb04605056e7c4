/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two phases that alternate: sweeps over an array, fast and regular, and laps of a pointer chase,
 * slow and irregular. Equal times in them are very unequal numbers of accesses.
 */
#include <stdlib.h>

#include "common/cycle.h"
#include "common/options.h"
#include "common/timing.h"
#include "common/truth.h"

static uint64_t sweep_bytes = 1 << 20, sweeps = 1000, chase_bytes = 8 << 20, laps = 4;
static uint64_t node_size = 64, seed = 1;
static struct run_options run_options = {.threads = 1};

enum { SWEPT, NODES }; /* numbers of the objects in the truth */

struct phases {
    uint64_t *swept;
    struct node *nodes;
    size_t elements, count; /* of swept, of nodes */
    uint64_t sum;
    struct node *reached;
};

__attribute__((noinline)) static uint64_t sweep(const uint64_t *restrict swept, size_t elements)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < elements; i++)
        sum += swept[i];
    return sum;
}

static void work(void *context, size_t thread, struct run *run)
{
    (void)thread;
    struct phases *p = context;
    struct node *node = p->nodes;
    uint64_t sum = 0;
    while (run_continues(run)) {
        for (uint64_t i = 0; i < sweeps; i++) {
            sum += sweep(p->swept, p->elements);
            /* Nothing changes between two sweeps: do not let the compiler see that. */
            __asm__ volatile("" ::: "memory");
        }
        node = cycle_walk(node, p->count * laps);
    }
    p->sum = sum;
    p->reached = node;
}

static void trace(const void *context, size_t thread, struct truth_tracer *tracer)
{
    (void)thread;
    const struct phases *p = context;
    for (uint64_t pass = 0; pass < sweeps; pass++) {
        for (size_t i = 0; i < p->elements; i++)
            truth_access(tracer, SWEPT, i * sizeof *p->swept);
    }
    const struct node *node = p->nodes;
    for (size_t i = 0; i < p->count * laps; i++, node = node->next)
        truth_access(tracer, NODES, (size_t)((const char *)node - (const char *)p->nodes));
}

static void tell_truth(struct truth *t, const struct phases *p)
{
    for (size_t i = 0; i < TRUTH_LINE_SIZES; i++) {
        if (node_size % truth_line_sizes[i] != 0) {
            truth_enumerate(t, 0, i, trace, p);
            continue;
        }
        uint64_t swept_lines = sweep_lines(p->elements, sizeof *p->swept, truth_line_sizes[i]);
        truth_footprint(t, i, swept_lines + p->count);
        truth_sweep(t, 0, i, SWEPT, p->elements, sizeof *p->swept, p->count, laps * p->count, 1);
        truth_sweep(t, 0, i, SWEPT, p->elements, sizeof *p->swept, 0, 0, (double)(sweeps - 1));
        truth_reuse(t, 0, i, NODES, p->count - 1 + swept_lines, p->count + sweeps * p->elements,
                    (double)p->count);
        truth_reuse(t, 0, i, NODES, p->count - 1, p->count, (double)(p->count * (laps - 1)));
    }
}

static void verify(const struct phases *p, uint64_t done)
{
    uint64_t expected = p->elements * (p->elements - 1) / 2 * sweeps * done;
    if (p->sum != expected)
        fatal("wrong result: the sweeps add up to %llu instead of %llu", (unsigned long long)p->sum,
              (unsigned long long)expected);
    if (p->reached != p->nodes)
        fatal("wrong result: the chase did not come back to its first node");
}

int main(int argc, char **argv)
{
    const uint64_t largest = (uint64_t)1 << 34;
    const struct option_spec options[] = {
        {"sweep-bytes", "N[K|M|G]", "size of the swept array", OPTION_SIZE, &sweep_bytes, 256,
         largest},
        {"sweeps", "N", "sweeps of a phase", OPTION_COUNT, &sweeps, 1, 1u << 30},
        {"chase-bytes", "N[K|M|G]", "size of all nodes together", OPTION_SIZE, &chase_bytes, 512,
         largest},
        {"laps", "N", "laps of a phase", OPTION_COUNT, &laps, 1, 1u << 30},
        {"node", "N", "size of a node, a multiple of 8", OPTION_SIZE, &node_size, 8, 1 << 20},
        {"seed", "N", "of the random order", OPTION_COUNT, &seed, 0, UINT64_MAX},
    };
    const struct command command = {.name = "phases",
                                    .purpose = "Alternates sweeps with a pointer chase.",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0],
                                    .run = &run_options};
    options_parse(&command, argc, argv);
    if (node_size % sizeof(struct node) != 0)
        usage_error("--node: %llu is not a multiple of %zu", (unsigned long long)node_size,
                    sizeof(struct node));
    if (chase_bytes / node_size < 2)
        usage_error("--chase-bytes: less than two nodes");
    struct phases p = {.elements = sweep_bytes / sizeof *p.swept, .count = chase_bytes / node_size};
    uint64_t *swept = aligned_alloc(ARRAY_ALIGNMENT, array_size(sweep_bytes));
    struct node *nodes = aligned_alloc(ARRAY_ALIGNMENT, array_size(p.count * node_size));
    check_allocation(swept, "swept", sweep_bytes);
    check_allocation(nodes, "nodes", p.count * node_size);
    for (size_t i = 0; i < p.elements; i++)
        swept[i] = i;
    p.swept = swept;
    p.nodes = nodes;
    uint64_t setup = p.elements + cycle_build(nodes, node_size, p.count, seed);

    struct truth *t = truth_create(&command);
    if (t != NULL) {
        truth_parameter(t, "sweep_bytes", sweep_bytes);
        truth_parameter(t, "sweeps", sweeps);
        truth_parameter(t, "chase_bytes", chase_bytes);
        truth_parameter(t, "laps", laps);
        truth_parameter(t, "node", node_size);
        truth_object(t, "swept", swept, p.elements * sizeof *swept);
        truth_object(t, "nodes", nodes, p.count * node_size);
        truth_setup(t, setup);
        tell_truth(t, &p);
    }
    uint64_t done;
    const volatile void *marker;
    run_threads(&run_options, work, &p, &done, &marker);
    verify(&p, done);
    truth_finish(t, &run_options, &done, &marker, (double)p.sum);
    free(nodes);
    free(swept);
    return 0;
}
