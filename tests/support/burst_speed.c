/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the bookkeeping of a burst costs: feeding, next uses and distances, grouping, encoding; for
 * accesses of several kinds, with ordinary and wide bursts. Prints microseconds of CPU time per
 * burst, the groups in it and the bytes of its tail.
 * burst_speed [SECONDS] (default 0.3 for each).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "profile/format.h"
#include "sampling/burst.h"

enum { VARIANTS = 16, FED_AT_ONCE = 512 };

static struct access trace[VARIANTS][BURST_ACCESSES];
static unsigned char tail[PROFILE_RECORD_MAX];

/* c[i] = a[i] + k * b[i], in doubles. */
static struct access triad(struct random *random, unsigned variant, unsigned i)
{
    static const uint8_t kinds[] = {ACCESS_LOAD, ACCESS_LOAD, ACCESS_STORE};
    (void)random;
    return (struct access){.ip = 0x401000 + 5 * (i % 3),
                           .address = 0x7f0000000000 + ((uint64_t)(i % 3) << 28) +
                                      8 * (uint64_t)(variant * BURST_ACCESSES + i / 3),
                           .width = 8,
                           .kind = kinds[i % 3]};
}

/* The same in vectors that are not aligned. */
static struct access vectors(struct random *random, unsigned variant, unsigned i)
{
    struct access access = triad(random, variant, i);

    access.address = (access.address & ~UINT64_C(0xfffffff)) + 16 + 32 * (uint64_t)(i / 3);
    access.width = 32;
    return access;
}

/* A row of a sparse matrix times a vector, with a spilled register. */
static struct access sparse(struct random *random, unsigned variant, unsigned i)
{
    uint64_t element = variant * BURST_ACCESSES + i / 4;
    struct access access = {.ip = 0x402000 + 6 * (i % 4), .width = 8, .kind = ACCESS_LOAD};

    access.address = i % 4 == 0   ? 0x7f1000000000 + 8 * element
                     : i % 4 == 1 ? 0x7f2000000000 + 4 * element
                     : i % 4 == 2 ? 0x7f3000000000 + 8 * (element / 27 + 900 * (element % 27) / 9 +
                                                          random_below(random, 40))
                                  : 0x7ffc00001000;
    return access;
}

/* Many instructions on many small blocks: what an interpreter of a script does. */
static struct access scattered(struct random *random, unsigned variant, unsigned i)
{
    uint64_t near = random_below(random, random_below(random, 200) + 1);
    (void)variant;
    (void)i;
    return (struct access){.ip = 0x403000 + 7 * near * random_below(random, 4),
                           .address = 0x7f4000000000 + 48 * near * random_below(random, 60) +
                                      8 * (uint64_t)random_below(random, 6),
                           .width = 8,
                           .kind = (uint8_t)(ACCESS_LOAD + random_below(random, 2))};
}

/* Reuse at any distance. */
static struct access uniform(struct random *random, unsigned variant, unsigned i)
{
    (void)variant;
    return (struct access){.ip = 0x404000 + 4 * (i % 60),
                           .address = 0x7f5000000000 + 64 * (uint64_t)random_below(random, 1500),
                           .width = 8,
                           .kind = ACCESS_LOAD};
}

static const struct {
    const char *name;
    struct access (*access)(struct random *, unsigned variant, unsigned i);
} kinds[] = {{"triad", triad},
             {"vectors", vectors},
             {"sparse", sparse},
             {"scattered", scattered},
             {"uniform", uniform}};

static void identify(void *user, uint64_t address, struct burst_object *object)
{
    (void)user;
    *object = (struct burst_object){.low = address >> 28 << 28,
                                    .high = ((address >> 28) + 1) << 28,
                                    .base = address >> 28 << 28,
                                    .size = 1 << 28,
                                    .reference = (uint32_t)(address >> 28),
                                    .kind = OBJECT_HEAP};
}

static uint32_t path(void *user, uint32_t index)
{
    (void)user;
    return index / 1000;
}

static const struct burst_host host = {.identify = identify, .path = path};

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct record_burst make(struct burst *burst, unsigned variant, bool wide)
{
    struct record_burst record = {0};

    burst_begin(burst, LINE_SIZE_DEFAULT, wide);
    for (uint32_t at = 0; burst_wants(burst) > 0; at += FED_AT_ONCE)
        burst_feed(burst, trace[variant] + at, FED_AT_ONCE);
    burst_close(burst, &host);
    if (!burst_encode(burst, &record, tail, sizeof tail))
        exit(1);
    return record;
}

static void measure(const char *name, struct burst *burst, bool wide, double seconds)
{
    double start = cpu_seconds(), now;
    uint64_t bursts = 0, groups = 0, bytes = 0;

    do {
        for (unsigned variant = 0; variant < VARIANTS; variant++, bursts++) {
            struct record_burst record = make(burst, variant, wide);

            groups += record.groups;
            bytes += record.probe_size;
        }
        now = cpu_seconds();
    } while (now - start < seconds);
    printf("%-10s %-8s %6.1f us  %5.0f groups  %6.0f bytes\n", name, wide ? "wide" : "ordinary",
           1e6 * (now - start) / (double)bursts, (double)groups / (double)bursts,
           (double)bytes / (double)bursts);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0.3;
    struct burst *burst = calloc(1, burst_memory_size());
    struct random random;

    if (burst == NULL)
        return 1;
    random_seed(&random, 1);
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        for (unsigned variant = 0; variant < VARIANTS; variant++)
            for (unsigned i = 0; i < BURST_ACCESSES; i++)
                trace[variant][i] = kinds[kind].access(&random, variant, i);
        measure(kinds[kind].name, burst, false, seconds);
        measure(kinds[kind].name, burst, true, seconds);
    }
    free(burst);
    return 0;
}
