/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. What is drawn from a burst: samples, and the word that marks its progress. */
#include <string.h>

#include "sampling/burst_internal.h"

#include "signal_safe.h"

struct burst_probe burst_probe_at(const struct burst *burst, uint32_t touch)
{
    const struct access *access = &burst->accesses[burst->run.access[touch]];
    uint64_t line = burst->run.line[touch] * burst->line_size;
    uint64_t address = access->address > line ? access->address : line;
    uint64_t end = access->address + access->width;

    if (end > line + burst->line_size)
        end = line + burst->line_size;
    return (struct burst_probe){
        .index = burst->run.access[touch],
        .address = address,
        .width = (uint8_t)(end - address),
        .straddles = end - address < access->width,
    };
}

static uint32_t touch_of(const struct burst *burst, const struct burst_probe *probe)
{
    return burst->first_touch[probe->index] +
           (uint32_t)(probe->address / burst->line_size -
                      burst->accesses[probe->index].address / burst->line_size);
}

struct burst_probe burst_draw(const struct burst *burst, struct random *random)
{
    return burst_probe_at(burst, random_below(random, burst->run.probes));
}

struct burst_probe burst_draw_of(const struct burst *burst, struct random *random, uint32_t index)
{
    uint32_t first = burst->first_touch[index], end = first;

    while (end < burst->run.probes && burst->run.access[end] == index)
        end++;
    return burst_probe_at(burst, first + (end - first > 1 ? random_below(random, end - first) : 0));
}

static bool has(const uint32_t *numbers, unsigned n, uint32_t number)
{
    while (n-- > 0)
        if (numbers[n] == number)
            return true;
    return false;
}

unsigned burst_draw_open(const struct burst *burst, struct random *random, unsigned n,
                         struct burst_probe *out)
{
    uint32_t drawn[BURST_DRAW_MAX];

    if (n > BURST_DRAW_MAX)
        n = BURST_DRAW_MAX;
    if (n > burst->open)
        n = burst->open;
    /* Floyd's algorithm: a uniform set in n steps (Bentley and Floyd 1987). */
    for (unsigned i = 0; i < n; i++) {
        uint32_t last = burst->open - n + i, number = random_below(random, last + 1);
        unsigned place = random_below(random, i + 1);

        if (has(drawn, i, number))
            number = last;
        /* Inserted anywhere: the order is uniform, too. */
        memmove(drawn + place + 1, drawn + place, (i - place) * sizeof *drawn);
        drawn[place] = number;
    }
    for (unsigned i = 0; i < n; i++)
        out[i] = burst_probe_at(burst, burst->open_touches[drawn[i]]);
    return n;
}

void burst_sort_probes(struct burst_probe *probes, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = i; j > 0 && probes[j - 1].index > probes[j].index; j--) {
            struct burst_probe swap = probes[j];

            probes[j] = probes[j - 1];
            probes[j - 1] = swap;
        }
}

struct access_run burst_run(const struct burst *burst, const struct burst_probe *probe)
{
    struct access_run run = {
        .accesses = burst->accesses,
        .count = burst->count,
        .sampled = probe->index,
        .sample = burst->accesses[probe->index],
        .straddles = probe->straddles,
        .line_size = burst->line_size,
    };

    run.sample.address = probe->address;
    run.sample.width = probe->width;
    return run;
}

void burst_describe(const struct burst *burst, const struct burst_probe *probe,
                    struct record_sample *sample)
{
    struct access_run run = burst_run(burst, probe);

    access_run_describe(&run, sample);
    sample->lines_ahead = burst->run.distance[touch_of(burst, probe)] + 1u;
}

/* ---- the marker ---- */

static bool touches_word(const struct access *access, uint64_t word, uint32_t bytes)
{
    return access->address < word + bytes && word < access->address + access->width;
}

/* Whether accesses from `from` on touch the word before that touch of its line. */
static bool was_touched(const struct burst *burst, uint32_t touch, uint32_t from, uint64_t word,
                        uint32_t bytes)
{
    for (;;) {
        const struct access *access;

        touch = burst->run.previous[touch];
        if (touch == BURST_TOUCH_NONE || burst->run.access[touch] < from)
            return false;
        access = &burst->accesses[burst->run.access[touch]];
        if (touches_word(access, word, bytes))
            return true;
    }
}

/* A word of the touch's line that its access touches for the first time; false: there is none. */
static bool find_new_word(const struct burst *burst, uint32_t touch, uint32_t from, uint32_t bytes,
                          uint64_t *word)
{
    struct burst_probe part = burst_probe_at(burst, touch);

    for (*word = part.address & ~(uint64_t)(bytes - 1); *word < part.address + part.width;
         *word += bytes)
        if (!was_touched(burst, touch, from, *word, bytes))
            return true;
    return false;
}

/* The first touch of the access of that index, or of later ones. */
static uint32_t touch_from(const struct burst *burst, uint32_t index)
{
    uint32_t low = 0, high = burst->run.count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (burst->run.access[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool burst_marker_find(const struct burst *burst, uint32_t after, uint32_t from,
                       uint32_t word_bytes, struct burst_marker *marker)
{
    uint32_t touch = touch_from(burst, after + 1 > from ? after + 1 : from);

    for (; touch < burst->run.count; touch++) {
        const struct access *access = &burst->accesses[burst->run.access[touch]];
        uint64_t word;

        if (access->exclusive || !find_new_word(burst, touch, from, word_bytes, &word))
            continue;
        *marker = (struct burst_marker){
            .index = burst->run.access[touch], .address = word, .ip = access->ip};
        return true;
    }
    return false;
}
