/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signal-safe. Next uses and stack distances of all probes, in one pass over the touches: a bit is
 * set at the latest touch of each line so far, so the lines that were touched since touch i, each
 * once, are the bits set above i (after Bennett and Kruskal 1975).
 */
#include <string.h>

#include "sampling/burst_internal.h"

#include "signal_safe.h"

/* Not the builtin: without an instruction for it, that is a call of the compiler's library. */
static inline uint32_t bits_in(uint64_t word)
{
#if defined(__POPCNT__) || defined(__aarch64__)
    return (uint32_t)__builtin_popcountll(word);
#else
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(word * UINT64_C(0x0101010101010101) >> 56);
#endif
}

/* Adds the touches of accesses from..to-1. */
static void list_touches(const struct burst *burst, struct burst_touches *touches, uint32_t from,
                         uint32_t to)
{
    unsigned shift = (unsigned)__builtin_ctz(touches->line_size);
    uint32_t touch = touches->count;

    for (uint32_t i = from; i < to; i++) {
        const struct access *access = &burst->accesses[i];
        uint64_t line = access->address >> shift;
        uint64_t last = (access->address + access->width - 1) >> shift;

        touches->line[touch] = line;
        touches->access[touch++] = (uint16_t)i;
        while (__builtin_expect(line != last, 0)) {
            touches->line[touch] = ++line;
            touches->access[touch++] = (uint16_t)i;
        }
    }
    touches->count = touch;
}

/*
 * The pass. Bits of the 64 touches that are being made are kept apart: most lines are used again
 * soon, and a word of memory that each touch waits for would take most of the time.
 */
struct pass {
    uint64_t now;  /* bits of touches from 64 * word on */
    uint32_t word; /* those before are in burst.latest */
};

static inline uint64_t bit(uint32_t touch)
{
    return UINT64_C(1) << touch % 64;
}

static inline void end_word(struct burst *burst, struct pass *pass)
{
    burst->latest[pass->word] = pass->now;
    burst->latest_in[pass->word++] = (uint8_t)bits_in(pass->now);
    pass->now = 0;
}

/*
 * Bits set above touch i, which is in a word before. The sum over words runs over all of them,
 * eight at a time, and leaves out what is not asked for: distances are hard to predict, and so
 * would be where else to begin.
 */
static inline uint32_t latest_above(const struct burst *burst, const struct pass *pass, uint32_t i)
{
    const uint64_t even = UINT64_C(0x00ff00ff00ff00ff);
    uint32_t word = i / 64, from = word & ~7u, count = bits_in(pass->now);
    uint64_t sum = 0;

    for (uint32_t at = 0; at < pass->word; at += 8) {
        uint64_t counts, wanted = at < from ? 0 : ~UINT64_C(0);

        /* The lowest address is the lowest byte, on all machines that we run on. */
        memcpy(&counts, burst->latest_in + at, sizeof counts);
        counts &= at == from ? ~UINT64_C(0xff) << word % 8 * 8 : wanted;
        sum += (counts & even) + (counts >> 8 & even);
    }
    count += (uint32_t)(sum * UINT64_C(0x0001000100010001) >> 48);
    return count + bits_in(burst->latest[word] >> i % 64 >> 1);
}

/* The line of touch i is used again at `touch`. */
static inline void use_again(struct burst *burst, struct burst_touches *touches, struct pass *pass,
                             uint32_t i, uint32_t touch)
{
    bool probe = i < touches->probes;

    if (i / 64 == pass->word) {
        if (probe)
            touches->distance[i] = (uint16_t)bits_in(pass->now >> i % 64 >> 1);
        pass->now &= ~bit(i);
    } else {
        if (probe)
            touches->distance[i] = (uint16_t)latest_above(burst, pass, i);
        burst->latest[i / 64] &= ~bit(i);
        burst->latest_in[i / 64]--;
    }
    if (probe)
        touches->next[i] = (uint16_t)touch;
}

/* The place of the line's latest touch in the table, or a free one for it. */
static inline uint16_t *find(struct burst *burst, const struct burst_touches *touches,
                             uint64_t line, uint32_t mask)
{
    uint32_t place = burst_hash(line, mask);

    while (burst->table[place] != 0 && touches->line[burst->table[place] - 1u] != line)
        place = (place + 1) & mask;
    return &burst->table[place];
}

static void pass_through(struct burst *burst, struct burst_touches *touches, uint32_t mask)
{
    struct pass pass = {0};

    for (uint32_t touch = 0; touch < touches->count; touch++) {
        uint16_t *latest = find(burst, touches, touches->line[touch], mask);
        uint32_t last = *latest - 1u;

        touches->previous[touch] = (uint16_t)last; /* none wraps to BURST_TOUCH_NONE */
        *latest = (uint16_t)(touch + 1);
        if (touch / 64 != pass.word)
            end_word(burst, &pass);
        if (last != UINT32_MAX)
            use_again(burst, touches, &pass, last, touch);
        pass.now |= bit(touch);
    }
    end_word(burst, &pass);
}

/* What is still the latest touch of its line at the end has no next use. */
static void find_open(const struct burst *burst, struct burst_touches *touches)
{
    uint32_t after = 0;

    for (uint32_t word = 0; word <= touches->count / 64; word++)
        after += burst->latest_in[word];
    for (uint32_t word = 0; word <= touches->probes / 64; word++) {
        for (uint64_t left = burst->latest[word]; left; left &= left - 1) {
            uint32_t touch = word * 64 + (uint32_t)__builtin_ctzll(left);

            if (touch >= touches->probes)
                return;
            touches->next[touch] = BURST_TOUCH_NONE;
            touches->distance[touch] = (uint16_t)--after;
        }
    }
}

void burst_find_uses(struct burst *burst, struct burst_touches *touches, uint32_t line_size)
{
    uint32_t places = BURST_TABLE / 2;

    touches->line_size = line_size;
    touches->count = 0;
    list_touches(burst, touches, 0, burst->probes);
    touches->probes = touches->count;
    list_touches(burst, touches, burst->probes, burst->count);
    /* A table that is larger than need be costs cache. */
    if (touches->count > places / 4 * 3)
        places = BURST_TABLE;
    memset(burst->table, 0, places * sizeof *burst->table);
    memset(burst->latest, 0, sizeof burst->latest);
    memset(burst->latest_in, 0, sizeof burst->latest_in);
    pass_through(burst, touches, places - 1);
    find_open(burst, touches);
}
