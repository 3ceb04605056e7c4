/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/window.h"

#include <string.h>

#include "profile/format.h"

#include "signal_safe.h"

static void begin(struct window *window, uint32_t skip, uint32_t length, uint32_t line_size)
{
    window->skip = skip;
    window->length = length;
    window->seen = 0;
    window->sampled = 0;
    window->chosen = false;
    window->executed = false;
    window->short_skip = false;
    window->done = false;
    window->examined = 0;
    window->unresolved = LINE_SIZE_MAX;
    window->line_size = line_size;
    window->reuse_ip = 0;
    for (int i = 0; i < LINE_SIZE_COUNT; i++)
        window->reuse[i] = REUSE_TIME_NONE;
}

void window_begin(struct window *window, struct random *random, uint32_t length, uint32_t line_size)
{
    begin(window, random_below(random, WINDOW_SKIP_MAX), length, line_size);
}

void window_begin_after(struct window *window, const struct access *sample, uint32_t length,
                        uint32_t line_size)
{
    begin(window, 0, length, line_size);
    window_feed(window, sample, 1);
    window->executed = true;
}

void window_begin_for_record(struct window *window, struct random *random,
                             const struct access *recorded, uint64_t gap, uint32_t length,
                             uint32_t line_size)
{
    if (gap == 0)
        window_begin_after(window, recorded, length, line_size);
    else
        window_begin(window, random, length, line_size);
}

/*
 * Smallest block size (power of two, at least LINE_SIZE_MIN) whose aligned block holds a byte of
 * both accesses; more than LINE_SIZE_MAX when only larger blocks do.
 */
static uint64_t common_block(const struct access *a, const struct access *b)
{
    uint64_t a_last = a->address + a->width - 1, b_last = b->address + b->width - 1;
    /* The nearest pair of bytes decides: overlapping operands share even the smallest block. */
    uint64_t difference;

    if (a->address <= b_last && b->address <= a_last)
        return LINE_SIZE_MIN;
    if (a_last < b->address)
        difference = a_last ^ b->address;
    else
        difference = b_last ^ a->address;
    if (difference < LINE_SIZE_MIN)
        return LINE_SIZE_MIN;
    if (difference >= LINE_SIZE_MAX)
        return 2 * (uint64_t)LINE_SIZE_MAX;
    return 2ull << (63 - __builtin_clzll(difference));
}

/* Examines one access after the sampled one; returns true when nothing is left to find. */
static inline bool examine(struct window *window, const struct access *access)
{
    const struct access *sample = window_sample(window);
    uint64_t block;

    window->examined++;
    /* Cheap rejection: most accesses are far away. 64 covers the operands' widths. */
    if (access->address - sample->address + window->unresolved + 64 > 2 * (window->unresolved + 64))
        return window->examined >= window->length;
    block = common_block(sample, access);
    if (block <= window->unresolved) {
        for (uint64_t size = window->unresolved; size >= block; size /= 2)
            window->reuse[line_size_index((uint32_t)size)] = window->examined;
        if (window->unresolved >= window->line_size && block <= window->line_size)
            window->reuse_ip = access->ip;
        window->unresolved = block / 2;
        if (window->unresolved < LINE_SIZE_MIN)
            return true;
    }
    return window->examined >= window->length;
}

bool window_feed(struct window *window, const struct access *accesses, size_t n)
{
    size_t i = 0;

    while (!window->chosen && i < n) {
        window->history[window->seen] = accesses[i++];
        if (window->seen == window->skip) {
            window->sampled = window->seen;
            window->chosen = true;
        }
        window->seen++;
    }
    for (; i < n && !window->done; i++) {
        window->seen++;
        window->done = examine(window, &accesses[i]);
    }
    return window->done;
}

bool window_end(struct window *window, struct random *random)
{
    if (window->seen == 0)
        return false;
    if (!window->chosen) {
        uint32_t count = window->seen;

        window->sampled = random_below(random, count);
        window->chosen = true;
        window->short_skip = true;
        for (uint32_t i = window->sampled + 1; i < count && !window->done; i++)
            window->done = examine(window, &window->history[i]);
    }
    return true;
}
