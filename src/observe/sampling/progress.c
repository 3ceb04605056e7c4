/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/progress.h"

#include <string.h>

#include "signal_safe.h"

double progress_change(uint8_t width, uint64_t from, uint64_t to)
{
    return width == 4 ? (double)(int32_t)(uint32_t)(to - from) : (double)(int64_t)(to - from);
}

void progress_begin(struct progress_words *words)
{
    words->count = 0;
    memset(words->slots, 0, sizeof words->slots);
}

/* Its place among the slots, or the free one where it would be. */
static uint16_t *slot_of(struct progress_words *words, uint64_t address)
{
    unsigned slot = (unsigned)(address * UINT64_C(0x9e3779b97f4a7c15) >> 55) % PROGRESS_SLOTS;

    while (words->slots[slot] && words->words[words->slots[slot] - 1].address != address)
        slot = (slot + 1) % PROGRESS_SLOTS;
    return &words->slots[slot];
}

static struct progress_word *add(struct progress_words *words, uint64_t address, uint8_t width)
{
    uint16_t *slot = slot_of(words, address);

    if (*slot)
        return &words->words[*slot - 1];
    if (words->count == PROGRESS_WORDS)
        return NULL;
    words->words[words->count] = (struct progress_word){.address = address, .width = width};
    *slot = (uint16_t)++words->count;
    return &words->words[words->count - 1];
}

bool progress_keep(struct progress_words *words, uint64_t address, uint8_t width)
{
    struct progress_word *word = add(words, address, width);

    if (word)
        word->kept = true;
    return word;
}

void progress_find(struct progress_words *words, const struct access *accesses, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct access *access = &accesses[i];

        if (access->kind == ACCESS_STORE && (access->width == 4 || access->width == 8) &&
            access->address % access->width == 0)
            add(words, access->address, access->width);
    }
}

void progress_look(struct progress_word *word, bool known, uint64_t value, uint64_t accesses)
{
    struct progress *progress = &word->progress;
    double change;

    if (word->void_)
        return;
    if (!known) {
        word->void_ = true;
        return;
    }
    if (word->begun) {
        change = progress_change(word->width, word->value, value);
        if (change * progress->moved < 0) {
            word->void_ = true;
            return;
        }
        word->changes += change != 0;
        progress->moved += change;
        progress->squares += change * change;
        progress->parts++;
        progress->accesses += accesses - word->accesses;
    }
    word->begun = true;
    word->value = value;
    word->accesses = accesses;
}

bool progress_is_steady(const struct progress_word *word)
{
    enum { PARTS_LEAST = 3 };

    return !word->void_ && word->progress.parts >= PARTS_LEAST &&
           2 * word->changes > word->progress.parts;
}

double progress_evenness(const struct progress *progress)
{
    return progress->squares > 0
               ? progress->moved * progress->moved / (progress->squares * progress->parts)
               : 0;
}
