/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pointer chase round one cycle that visits all nodes in random order: each load waits for the one
 * before, and no prefetcher helps.
 */
#include <stdlib.h>

#include "common/cycle.h"
#include "common/options.h"
#include "common/timing.h"
#include "common/truth.h"

static uint64_t bytes = 8 << 20, node_size = 64, seed = 1;
static struct run_options run_options = {.threads = 1};

struct chase {
    struct node *nodes;
    size_t count; /* nodes of each thread's own cycle */
    struct node *reached[THREADS_MAX];
};

/* Thread t's cycle lies behind those of the threads before it. */
static struct node *cycle_of(const struct chase *c, size_t thread)
{
    return node_at(c->nodes, node_size, thread * c->count);
}

static void work(void *context, size_t thread, struct run *run)
{
    struct chase *c = context;
    struct node *node = cycle_of(c, thread);
    while (run_continues(run))
        node = cycle_walk(node, c->count);
    c->reached[thread] = node;
}

static void trace(const void *context, size_t thread, struct truth_tracer *tracer)
{
    const struct chase *c = context;
    const struct node *node = cycle_of(c, thread);
    for (size_t i = 0; i < c->count; i++, node = node->next)
        truth_access(tracer, 0, (size_t)((const char *)node - (const char *)c->nodes));
}

static void tell_truth(struct truth *t, const struct chase *c)
{
    for (size_t thread = 0; thread < run_options.threads; thread++) {
        for (size_t i = 0; i < TRUTH_LINE_SIZES; i++) {
            if (node_size % truth_line_sizes[i] == 0) {
                truth_reuse(t, thread, i, 0, c->count - 1, c->count, (double)c->count);
                truth_footprint(t, i, c->count);
            } else {
                truth_enumerate(t, thread, i, trace, c);
            }
        }
    }
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        {"bytes", "N[K|M|G]", "size of all nodes together", OPTION_SIZE, &bytes, 512,
         (uint64_t)1 << 36},
        {"node", "N", "size of a node, a multiple of 8", OPTION_SIZE, &node_size, 8, 1 << 20},
        {"seed", "N", "of the random order", OPTION_COUNT, &seed, 0, UINT64_MAX},
    };
    const struct command command = {.name = "chase",
                                    .purpose = "Follows pointers round a random cycle.",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0],
                                    .run = &run_options,
                                    .threaded = true};
    options_parse(&command, argc, argv);
    if (node_size % sizeof(struct node) != 0)
        usage_error("--node: %llu is not a multiple of %zu", (unsigned long long)node_size,
                    sizeof(struct node));
    static struct chase c;
    c.count = bytes / node_size / run_options.threads;
    if (c.count * node_size % ARRAY_ALIGNMENT != 0 && run_options.threads > 1)
        usage_error("--bytes: each thread's share must be a multiple of %d", ARRAY_ALIGNMENT);
    if (c.count < 2)
        usage_error("--bytes: each thread needs two nodes");

    size_t total = c.count * node_size * run_options.threads;
    struct node *nodes = aligned_alloc(ARRAY_ALIGNMENT, array_size(total));
    check_allocation(nodes, "nodes", total);
    c.nodes = nodes;
    uint64_t setup = 0;
    for (size_t i = 0; i < run_options.threads; i++)
        setup += cycle_build(cycle_of(&c, i), node_size, c.count, seed + i);

    struct truth *t = truth_create(&command);
    if (t != NULL) {
        truth_parameter(t, "bytes", bytes);
        truth_parameter(t, "node", node_size);
        truth_parameter(t, "seed", seed);
        truth_object(t, "nodes", nodes, total);
        truth_setup(t, setup);
        tell_truth(t, &c);
    }
    uint64_t done[THREADS_MAX];
    const volatile void *markers[THREADS_MAX];
    run_threads(&run_options, work, &c, done, markers);
    for (size_t i = 0; i < run_options.threads; i++) {
        if (c.reached[i] != cycle_of(&c, i))
            fatal("wrong result: thread %zu did not come back to its first node", i);
    }
    truth_finish(t, &run_options, done, markers, (double)(c.count * run_options.threads));
    free(nodes);
    return 0;
}
