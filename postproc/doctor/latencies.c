/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor/latencies.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "doctor/line_transfer.h"
#include "doctor/perf.h"
#include "host_caches.h"
#include "machine/kept.h"
#include "machine/machine.h"
#include "sampling/random.h"

enum {
    LINE = 64,
    /* Of memory: not so much that the machine would begin to swap. */
    MEMORY_BYTES_MAX = 256 << 20,
    MEMORY_BYTES_MIN = 64 << 20,
    LOADS = 1 << 20,
    ROUNDS = 5,
};

struct chained {
    struct chained *next;
    char rest[LINE - sizeof(struct chained *)];
};

size_t latencies_chain_bytes(const size_t *sizes, size_t count, size_t level)
{
    size_t inner = level > 0 ? sizes[level - 1] : 0;
    size_t bytes;

    if (level == count) {
        bytes = 8 * inner;
        return bytes < MEMORY_BYTES_MIN   ? MEMORY_BYTES_MIN
               : bytes > MEMORY_BYTES_MAX ? MEMORY_BYTES_MAX
                                          : bytes;
    }
    /* Others may use the outer ones: not all of it. */
    bytes = sizes[level] / 2;
    return bytes > 8 * inner && inner > 0 ? 8 * inner : bytes;
}

/* One ring through all of them (Sattolo, 1986). */
static void link_ring(struct chained *chain, uint32_t *order, size_t count)
{
    struct random draws;

    random_seed(&draws, count);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count - 1; i > 0; i--) {
        size_t k = random_below(&draws, (uint32_t)i);
        uint32_t other = order[k];

        order[k] = order[i];
        order[i] = other;
    }
    for (size_t i = 0; i < count; i++)
        chain[order[i]].next = &chain[order[(i + 1) % count]];
}

/* The fastest of some rounds: what is slower was interrupted. */
static double follow(struct chained *chain)
{
    struct chained *volatile end;
    double least = INFINITY;

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct chained *at = chain;
        uint64_t begin = perf_wall_ns();

        for (unsigned i = 0; i < LOADS; i++)
            at = at->next;
        end = at;
        least = fmin(least, (double)(perf_wall_ns() - begin) / LOADS);
    }
    (void)end;
    return least;
}

double latencies_of_chain(size_t bytes)
{
    size_t count = bytes / LINE;
    uint32_t *order = malloc(count * sizeof *order);
    struct chained *chain;
    double ns = 0;

    chain = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (order != NULL && chain != MAP_FAILED) {
        (void)madvise(chain, bytes, MADV_HUGEPAGE);
        link_ring(chain, order, count);
        ns = follow(chain);
    }
    if (chain != MAP_FAILED)
        munmap(chain, bytes);
    free(order);
    return ns;
}

static void add_cache(void *user, const struct record_cache *record)
{
    struct machine *machine = user;

    if (machine->levels == MACHINE_LEVELS_MAX)
        return;
    machine->caches[machine->levels++] =
        (struct machine_cache){.level = record->level,
                               .bytes = record->bytes,
                               .line_size = record->line_size,
                               .ways = record->ways,
                               .sharing_cpus = record->sharing_cpus ? record->sharing_cpus : 1};
}

static bool measure(struct machine *machine)
{
    size_t sizes[MACHINE_LEVELS_MAX];

    for (size_t i = 0; i < machine->levels; i++)
        sizes[i] = machine->caches[i].bytes;
    for (size_t i = 0; i <= machine->levels; i++) {
        size_t bytes = latencies_chain_bytes(sizes, machine->levels, i);
        double ns = latencies_of_chain(bytes);

        if (ns <= 0) {
            fprintf(stderr,
                    "reuse-doctor: no memory for a chain of %zu MiB: nothing is measured; free "
                    "some, or raise ulimit -v\n",
                    bytes >> 20);
            return false;
        }
        if (i < machine->levels) {
            machine->caches[i].latency_ns = ns;
            printf("L%u      %7.2f ns  (measured, a chain through %zu KiB)\n",
                   machine->caches[i].level, ns, bytes >> 10);
        } else {
            machine->memory_latency_ns = ns;
            printf("memory  %7.2f ns  (measured, a chain through %zu MiB)\n", ns, bytes >> 20);
        }
    }
    machine->core_latency_ns = line_transfer_measure();
    if (machine->core_latency_ns > 0)
        printf("core    %7.2f ns  (measured, two threads take turns at a line)\n",
               machine->core_latency_ns);
    return true;
}

int latencies_measure(void)
{
    struct machine machine = {.levels = 0};
    char message[512], host[sizeof(machine.name)] = "", *path;

    (void)gethostname(host, sizeof(host) - 1);
    memcpy(machine.name, host, sizeof(host));
    host_caches_each(add_cache, &machine);
    if (machine.levels == 0 || !machine_check(&machine, NULL, message, sizeof(message))) {
        fprintf(stderr, "reuse-doctor: the caches of this machine are not known: describe it in a "
                        "file instead (docs/machines.md)\n");
        return 1;
    }
    if (!measure(&machine))
        return 1;
    if (!machine_keep(host, &machine, message, sizeof(message))) {
        fprintf(stderr, "reuse-doctor: %s\n", message);
        return 1;
    }
    path = machine_kept_path(host);
    printf("kept in %s for reports on this host\n", path);
    free(path);
    return 0;
}
