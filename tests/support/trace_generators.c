/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/trace_generators.h"

#include <math.h>

#include "sampling/random.h"

enum { LINE_WORDS = 8, WORDS = 32768, LINES = WORDS / LINE_WORDS };

static double uniform(struct random *random)
{
    return (double)(random_next(random) >> 11) / 9007199254740992.0;
}

/* Ranks 0 .. n-1 with probability proportional to (rank + 1)^-0.8. */
static double cumulative[WORDS];

static void zipf_prepare(uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        cumulative[i] = sum += pow(i + 1, -0.8);
}

static uint32_t zipf_draw(struct random *random, uint32_t n)
{
    double x = uniform(random) * cumulative[n - 1];
    uint32_t low = 0, high = n - 1;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (cumulative[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void trace_sweep(struct trace *trace, struct random *random)
{
    (void)random;
    for (int round = 0; round < 80; round++) {
        for (uint32_t i = 0; i < WORDS; i++)
            trace_add(trace, i, 1, 0, false, 0.5);
    }
}

void trace_zipf_words(struct trace *trace, struct random *random)
{
    static uint32_t place[WORDS];

    zipf_prepare(WORDS);
    for (uint32_t i = 0; i < WORDS; i++)
        place[i] = i;
    for (uint32_t i = WORDS - 1; i > 0; i--) {
        uint32_t other = random_below(random, i + 1), held = place[i];
        place[i] = place[other];
        place[other] = held;
    }
    for (int i = 0; i < 2500000; i++)
        trace_add(trace, place[zipf_draw(random, WORDS)], 1, 0, false, 1);
}

void trace_zipf_lines(struct trace *trace, struct random *random)
{
    zipf_prepare(LINES);
    for (int i = 0; i < 320000; i++) {
        uint32_t line = zipf_draw(random, LINES);
        for (uint16_t w = 0; w < LINE_WORDS; w++)
            trace_add(trace, line * LINE_WORDS + w, 1, w, false, 1);
    }
}

void trace_zipf_mixture(struct trace *trace, struct random *random)
{
    zipf_prepare(LINES);
    for (int i = 0; i < 600000; i++) {
        uint32_t line = zipf_draw(random, LINES), words = 1 + random_below(random, LINE_WORDS);
        uint32_t order[LINE_WORDS] = {0, 1, 2, 3, 4, 5, 6, 7};
        for (uint32_t w = 0; w < words; w++) {
            uint32_t other = w + random_below(random, LINE_WORDS - w), held = order[w];
            order[w] = order[other];
            order[other] = held;
            trace_add(trace, line * LINE_WORDS + order[w], 1, (uint16_t)w, false, 1);
        }
    }
}

void trace_uniform_words(struct trace *trace, struct random *random)
{
    for (int i = 0; i < 2500000; i++)
        trace_add(trace, random_below(random, WORDS), 1, 0, false, 1);
}

void trace_pairs(struct trace *trace, struct random *random)
{
    for (int i = 0; i < 1250000; i++)
        trace_add(trace, random_below(random, WORDS) & ~1u, 2, 0, false, 1);
}

void trace_hot_and_cold(struct trace *trace, struct random *random)
{
    uint32_t cold = 0;

    for (int i = 0; i < 2500000; i++) {
        if (uniform(random) < 0.9) {
            trace_add(trace, random_below(random, 512), 1, 0, false, 1);
        } else {
            trace_add(trace, 1024 + cold, 1, 1, false, 1);
            cold = (cold + LINE_WORDS) % 65536;
        }
    }
}

void trace_halves(struct trace *trace, struct random *random)
{
    (void)random;
    for (int round = 0; round < 320; round++) {
        for (uint32_t half = 0; half < 2; half++)
            for (uint32_t i = half * LINE_WORDS; i < WORDS; i += 2 * LINE_WORDS)
                trace_add(trace, i, 1, half, false, 0.5);
    }
}

void trace_stencil(struct trace *trace, struct random *random)
{
    enum { N = 256 };

    (void)random;
    for (int round = 0; round < 8; round++) {
        uint32_t from = round % 2 ? N * N : 0, to = N * N - from;
        for (uint32_t i = 1; i < N - 1; i++) {
            for (uint32_t j = 1; j < N - 1; j++) {
                uint32_t at = i * N + j;
                trace_add(trace, from + at, 1, 0, false, 0.2);
                trace_add(trace, from + at - N, 1, 1, false, 0.2);
                trace_add(trace, from + at + N, 1, 2, false, 0.2);
                trace_add(trace, from + at - 1, 1, 3, false, 0.2);
                trace_add(trace, from + at + 1, 1, 4, false, 0.2);
                trace_add(trace, to + at, 1, 5, true, 0.2);
            }
        }
    }
}

void trace_phases(struct trace *trace, struct random *random)
{
    for (int phase = 0; phase < 4; phase++) {
        for (int round = 0; round < 20; round++) {
            for (uint32_t i = 0; i < 16384; i++)
                trace_add(trace, i, 1, 0, false, 0.25);
        }
        for (int i = 0; i < 100000; i++)
            trace_add(trace, 100000 + LINE_WORDS * random_below(random, 4096), 1, 16, false, 8);
    }
}
