/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/provenance.h"

#include <stddef.h>
#include <string.h>

#include "signal_safe.h"

/* Variables of four bytes lie beside each other on a stack. */
enum { WORD_SHIFT = 2 };

static const struct provenance_maker nobody;

void provenance_begin(struct provenance *p)
{
    memset(p, 0, sizeof *p);
}

static uint32_t place_of(uint64_t key, uint32_t places)
{
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (places - 1);
}

/* The one that loaded last: what was loaded before is more likely the base of an array. */
static struct provenance_maker maker_of(const struct provenance *p, uint64_t registers)
{
    struct provenance_maker latest = nobody;

    for (; registers; registers &= registers - 1) {
        const struct provenance_maker *one = &p->makers[__builtin_ctzll(registers)];

        if (one->when > latest.when)
            latest = *one;
    }
    return latest;
}

static void give(struct provenance *p, uint64_t registers, struct provenance_maker maker)
{
    for (; registers; registers &= registers - 1)
        p->makers[__builtin_ctzll(registers)] = maker;
}

void provenance_compute(struct provenance *p, uint64_t reads, uint64_t writes)
{
    give(p, writes, maker_of(p, reads));
}

/* The access of an instruction, of which the place is taken by the first that comes; *before: its
 * last address, or 0. NULL: the place is another's. */
static void note(struct provenance *p, uint64_t ip, uint64_t base, uint64_t address,
                 uint64_t *before)
{
    struct address_source *source = &p->sources[place_of(ip, PROVENANCE_INSTRUCTIONS)];
    struct provenance_maker maker = maker_of(p, base);

    *before = 0;
    if (source->ip != 0 && source->ip != ip)
        return;
    *before = source->address;
    source->ip = ip;
    source->address = address;
    source->traced++;
    if (maker.when == 0)
        return;
    source->loaded++;
    if (source->votes == 0)
        source->loaded_by = maker.ip;
    if (source->loaded_by == maker.ip)
        source->votes++;
    else
        source->votes--;
}

void provenance_load(struct provenance *p, uint64_t ip, uint64_t base, uint64_t writes,
                     uint64_t address)
{
    uint64_t word = address >> WORD_SHIFT, before;
    uint32_t place = place_of(word, PROVENANCE_WORDS);

    note(p, ip, base, address, &before);
    p->loads++;
    if (p->stored[place].word == word + 1)
        give(p, writes, p->stored[place].maker);
    else if (before == address)
        give(p, writes, nobody);
    else
        give(p, writes, (struct provenance_maker){ip, p->loads});
}

void provenance_store(struct provenance *p, uint64_t ip, uint64_t base, uint64_t data,
                      uint64_t address)
{
    uint64_t word = address >> WORD_SHIFT, before;
    uint32_t place = place_of(word, PROVENANCE_WORDS);

    note(p, ip, base, address, &before);
    p->stored[place].word = word + 1;
    p->stored[place].maker = maker_of(p, data);
}

const struct address_source *provenance_of(const struct provenance *p, uint64_t ip)
{
    const struct address_source *source = &p->sources[place_of(ip, PROVENANCE_INSTRUCTIONS)];

    return source->ip == ip ? source : NULL;
}
