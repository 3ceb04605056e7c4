/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/watch_plan.h"

#include <string.h>

#include "signal_safe.h"

static uint64_t line_of(uint64_t address, uint32_t line_size)
{
    return address & ~(uint64_t)(line_size - 1);
}

void watch_plan_make(struct record_sample *sample, struct random *random, uint32_t word,
                     uint32_t line_size)
{
    uint64_t line = line_of(sample->address, line_size);
    uint64_t last_byte = sample->address + sample->width - 1;
    uint32_t words = line_size / word, first, count;

    if (last_byte >= line + line_size)
        last_byte = line + line_size - 1;
    first = (uint32_t)((sample->address - line) / word);
    count = (uint32_t)((last_byte - line) / word) - first + 1;
    sample->watch_length = (uint8_t)word;
    sample->words_accessed = (uint8_t)count;
    if (count < words && random_next(random) >> 63) {
        uint32_t other = random_below(random, words - count);

        sample->watch_mode = WATCH_OTHER;
        sample->watch_address = line + word * (uint64_t)(other < first ? other : other + count);
    } else {
        sample->watch_mode = WATCH_ACCESSED;
        sample->watch_address = line + word * (uint64_t)(first + random_below(random, count));
    }
}

uint64_t watch_plan_any_word(uint64_t address, struct random *random, uint32_t line_size)
{
    return line_of(address, line_size) + WATCH_WORD * random_below(random, line_size / WATCH_WORD);
}

void visit_begin(struct visit *visit, uint64_t sampled_address, uint64_t trapped_address,
                 uint32_t word, uint32_t line_size)
{
    memset(visit, 0, sizeof *visit);
    visit->line = line_of(sampled_address, line_size);
    visit->line_size = line_size;
    visit->word_size = word;
    visit->trapped_word = trapped_address / word;
    visit->sampled_word = sampled_address / word;
    visit->ends_at_trapped = true;
}

void visit_feed(struct visit *visit, const struct access *accesses, size_t n)
{
    uint32_t size = visit->word_size;

    for (size_t i = 0; i < n; i++) {
        const struct access *access = &accesses[i];
        uint64_t first = access->address, last = access->address + access->width - 1;

        if (last < visit->line || first >= visit->line + visit->line_size)
            continue;
        if (first < visit->line)
            first = visit->line;
        if (last >= visit->line + visit->line_size)
            last = visit->line + visit->line_size - 1;
        visit->ends_at_trapped =
            visit->trapped_word >= first / size && visit->trapped_word <= last / size;
        for (uint64_t word = (first - visit->line) / size; word <= (last - visit->line) / size;
             word++)
            visit->words[word / 64] |= UINT64_C(1) << (word % 64);
    }
}

static bool touched(const struct visit *visit, uint64_t word)
{
    uint64_t index = word - visit->line / visit->word_size;

    return visit->words[index / 64] >> (index % 64) & 1;
}

unsigned visit_words_after(const struct visit *visit)
{
    unsigned count = 0;

    for (size_t i = 0; i < sizeof visit->words / sizeof *visit->words; i++)
        count += (unsigned)__builtin_popcountll(visit->words[i]);
    return count - touched(visit, visit->trapped_word);
}

bool visit_ends_at_trapped(const struct visit *visit)
{
    return visit->ends_at_trapped;
}

bool visit_touches_sampled(const struct visit *visit)
{
    return touched(visit, visit->sampled_word);
}

unsigned visit_flags(const struct visit *visit)
{
    return WATCH_END_VISIT_KNOWN |
           (visit_touches_sampled(visit) ? WATCH_END_VISIT_TOUCHES_ACCESSED : 0u) |
           (visit_ends_at_trapped(visit) ? WATCH_END_VISIT_ENDS_HERE : 0u);
}
