/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/window.h"

#include <string.h>

#include "profile/format.h"

#include "signal_safe.h"

enum { GENERATION_BITS = 12, LINE_BITS = 64 - GENERATION_BITS };

enum {
    WINDOW_US_ENOUGH = 40,
    WINDOW_US_MAX = 200,
    WINDOW_EXAMINED_MIN = 200,
    /* So long after the sample, the time of a trap tells the time of the next use well enough. */
    TRAPS_TELL_NS = 5 * 1000,
};

static void forget_lines(struct window *window)
{
    window->distance = 0;
    window->generation = (window->generation + 1) % (1 << GENERATION_BITS);
    if (window->generation > 0)
        return;
    /* Entries of 4095 windows ago would pass for this one's. */
    memset(window->lines, 0, sizeof window->lines);
    window->generation = 1;
}

static void begin(struct window *window, struct random *random, uint32_t skip, uint32_t length,
                  uint32_t line_size)
{
    /* A bit of the state will do, and costs no draw. */
    window->coin = random->state >> 40 & 1;
    window->straddles = false;
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
    forget_lines(window);
    window->line_size = line_size;
    window->reuse_ip = 0;
    for (int i = 0; i < LINE_SIZE_COUNT; i++)
        window->reuse[i] = REUSE_TIME_NONE;
}

void window_begin(struct window *window, struct random *random, uint32_t length, uint32_t line_size)
{
    begin(window, random, random_below(random, WINDOW_SKIP_MAX), length, line_size);
}

void window_begin_keeping(struct window *window, struct random *random, uint32_t length,
                          uint32_t line_size)
{
    begin(window, random, WINDOW_SKIP_MAX - 1, length, line_size);
}

void window_begin_after(struct window *window, struct random *random, const struct access *sample,
                        uint32_t length, uint32_t line_size)
{
    begin(window, random, 0, length, line_size);
    window_feed(window, sample, 1);
    window->executed = true;
}

void window_begin_for_record(struct window *window, struct random *random,
                             const struct access *recorded, uint64_t gap, uint32_t length,
                             uint32_t line_size)
{
    if (gap == 0)
        window_begin_after(window, random, recorded, length, line_size);
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

/* Counts the line if the window has not touched it before. */
static inline void count_line(struct window *window, uint64_t line)
{
    uint64_t key = line << GENERATION_BITS | window->generation;
    uint64_t place = (line * 0x9e3779b97f4a7c15u) >> LINE_BITS;
    _Static_assert(WINDOW_LINES == 1 << GENERATION_BITS, "the hash gives as many bits");

    while (window->lines[place] != key) {
        /* An entry of an earlier window is as good as none. */
        if ((window->lines[place] & ((1 << GENERATION_BITS) - 1)) != window->generation) {
            window->lines[place] = key;
            window->distance++;
            return;
        }
        place = (place + 1) % WINDOW_LINES;
    }
}

static inline void count_lines(struct window *window, const struct access *access)
{
    unsigned shift = (unsigned)__builtin_ctz(window->line_size);
    uint64_t line = access->address >> shift;
    uint64_t last = (access->address + access->width - 1) >> shift;

    for (; line <= last && window->distance < WINDOW_DISTANCE_MAX; line++)
        count_line(window, line);
}

/* Examines one access after the sampled one; returns true when nothing is left to find. */
static inline bool examine(struct window *window, const struct access *access)
{
    const struct access *sample = window_sample(window);
    uint64_t block;

    window->examined++;
    /* Cheap rejection: most accesses are far away. 64 covers the operands' widths. */
    if (access->address - sample->address + window->unresolved + 64 >
        2 * (window->unresolved + 64)) {
        if (window->unresolved >= window->line_size)
            count_lines(window, access);
        return window->examined >= window->length;
    }
    block = common_block(sample, access);
    if (window->unresolved >= window->line_size && block > window->line_size)
        count_lines(window, access);
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

/* The access at that index is the sample: or the part of it in one line. */
static void choose(struct window *window, uint32_t index)
{
    struct access *access = &window->history[index];
    uint64_t line = window->line_size;
    uint64_t boundary = (access->address / line + 1) * line;
    uint64_t end = access->address + access->width;

    window->sampled = index;
    window->chosen = true;
    window->straddles = end > boundary;
    if (!window->straddles)
        return;
    if (window->coin)
        access->address = boundary;
    else
        end = boundary;
    access->width = (uint8_t)(end - access->address);
}

bool window_feed(struct window *window, const struct access *accesses, size_t n)
{
    size_t i = 0;

    while (!window->chosen && i < n) {
        window->history[window->seen] = accesses[i++];
        if (window->seen == window->skip)
            choose(window, window->seen);
        window->seen++;
    }
    for (; i < n && !window->done; i++) {
        window->seen++;
        window->done = examine(window, &accesses[i]);
    }
    return window->done;
}

bool window_may_end(const struct window *window, uint64_t us, double per_ns)
{
    if (window->examined < WINDOW_EXAMINED_MIN || us < WINDOW_US_ENOUGH)
        return false;
    return us > WINDOW_US_MAX || window->examined > per_ns * TRAPS_TELL_NS;
}

void window_end_at(struct window *window, uint32_t index)
{
    uint32_t count = window->seen;

    choose(window, index);
    for (uint32_t i = index + 1; i < count && !window->done; i++)
        window->done = examine(window, &window->history[i]);
}

bool window_end(struct window *window, struct random *random)
{
    if (window->seen == 0)
        return false;
    if (!window->chosen) {
        window_end_at(window, random_below(random, window->seen));
        window->short_skip = true;
    }
    return true;
}
