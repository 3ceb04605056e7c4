/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random accesses of all widths, for a comparison of the exact engine with the definition.
 *
 *     exact_random run            makes them, in three threads, each in its part of `memory`
 *     exact_random expect SIZE    prints the stack distances that they must have with lines of SIZE
 *                                 bytes: smallest distance of a bin, count; "cold" for first uses
 *
 * The loop keeps everything else in registers, so that nothing but these accesses lies between two
 * of them. Bins are those of reuse/exact_counts.h.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reuse/exact_counts.h"

enum { THREADS = 3, BYTES = 40000, STEPS = 20000, LINES_MAX = BYTES / 32 + 2 };

unsigned char memory[THREADS][BYTES] __attribute__((aligned(4096)));

typedef uint8_t vector __attribute__((vector_size(16), aligned(1)));

/* Where the next access goes. */
static inline __attribute__((always_inline)) uint64_t next_place(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (*random >> 20) % (BYTES - 64);
}

static void *run(void *argument)
{
    unsigned char *part = argument;
    uint64_t random = 88172645463325252u + (uint64_t)(part - memory[0]), at;
    for (int i = 0; i < STEPS; i++) {
        uint64_t eight;
        vector sixteen;
        at = next_place(&random);
        __asm__ volatile("movb (%1), %b0" : "=q"(eight) : "r"(part + at) : "memory");
        at = next_place(&random);
        __asm__ volatile("movq (%1), %0" : "=r"(eight) : "r"(part + at) : "memory");
        at = next_place(&random);
        __asm__ volatile("movups (%1), %0" : "=x"(sixteen) : "r"(part + at) : "memory");
        at = next_place(&random);
        __asm__ volatile("movl %k0, (%1)" : : "r"(eight), "r"(part + at) : "memory");
        at = next_place(&random);
        __asm__ volatile("addw $1, (%0)" : : "r"(part + at) : "memory", "cc");
    }
    return NULL;
}

/* The definition: a list of lines, most recent first. */
struct model {
    uint64_t lines[LINES_MAX];
    unsigned count;
    uint64_t cold, bins[EXACT_BIN_COLD];
};

static void use_line(struct model *model, uint64_t line)
{
    unsigned place = 0;
    while (place < model->count && model->lines[place] != line)
        place++;
    if (place == model->count) {
        model->cold++;
        model->count++;
    } else {
        model->bins[exact_bin_of(place)]++;
    }
    memmove(&model->lines[1], &model->lines[0], place * sizeof model->lines[0]);
    model->lines[0] = line;
}

static void use(struct model *model, uint64_t at, uint64_t width, uint64_t size)
{
    for (uint64_t line = at / size; line <= (at + width - 1) / size; line++)
        use_line(model, line);
}

static void expect(struct model *model, uint64_t offset, uint64_t size)
{
    static const uint64_t widths[] = {1, 8, 16, 4, 2};
    uint64_t random = 88172645463325252u + offset, at;
    model->count = 0;
    for (int i = 0; i < STEPS; i++)
        for (int kind = 0; kind < 5; kind++) {
            at = next_place(&random);
            use(model, offset + at, widths[kind], size);
            if (kind == 4) /* a read-modify-write is a load and a store */
                use(model, offset + at, widths[kind], size);
        }
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "expect") == 0) {
        static struct model model;
        for (unsigned i = 0; i < THREADS; i++)
            expect(&model, (uint64_t)i * BYTES, strtoul(argv[2], NULL, 10));
        (void)printf("cold %llu\n", (unsigned long long)model.cold);
        for (uint32_t bin = 0; bin < EXACT_BIN_COLD; bin++)
            if (model.bins[bin] > 0)
                (void)printf("%llu %llu\n", (unsigned long long)exact_bin_low(bin),
                             (unsigned long long)model.bins[bin]);
        return 0;
    }
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run, memory[i]) != 0)
            return 1;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
