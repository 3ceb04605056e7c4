/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random bytes as a tape (docs/replay.md): each item lies within the bytes, reading comes to an
 * end, and once something else was wanted than the tape has, nothing is read any more. What
 * replaying makes of damaged tapes is fuzzed by the target `replay` of tests/fuzz/run.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/driver.h"
#include "recording/tape_format.h"

const char fuzz_target[] = "random bytes as a tape";

static void check_item(const struct tape_reader *reader, const struct tape_item *item)
{
    fuzz_require(item->bytes > reader->bytes && item->bytes <= reader->bytes + reader->size);
    fuzz_require(item->size <= reader->size - (size_t)(item->bytes - reader->bytes));
}

/* Asks for what the bytes say, mostly: for what else, chance decides. */
static void read_through(const uint8_t *bytes, size_t size, uint64_t seed)
{
    struct tape_reader reader;
    struct tape_item item;
    struct random random;

    random_seed(&random, seed);
    if (tape_reader_begin(&reader, bytes, size))
        return;
    while (tape_reader_peek(&reader, &item)) {
        enum tape_tag wanted = random_below(&random, 64) ? item.tag : (enum tape_tag)(seed & 127);
        size_t before = reader.at;

        check_item(&reader, &item);
        if (!tape_reader_expect(&reader, random_below(&random, 8) ? wanted : 0, &item)) {
            fuzz_require(reader.diverged && reader.at == before);
            fuzz_require(!tape_reader_peek(&reader, &item));
            return;
        }
        fuzz_require(reader.at > before && reader.at <= size);
    }
}

void fuzz_check(const uint8_t *input, size_t size)
{
    /* Of the very size, so that a sanitizer sees one byte too many. */
    uint8_t *exact = malloc(size ? size : 1);

    memcpy(exact, input, size);
    read_through(exact, size, size ? input[size - 1] : 0);
    free(exact);
}

size_t fuzz_make(struct random *random, uint8_t *input)
{
    static const uint8_t tags[] = {1, 2, 4, 32, 33, 35, 48, 49, 50, 64, 65, 66};
    const struct tape_head head = tape_head();
    size_t size = sizeof head + random_below(random, 2000), at = sizeof head;

    memcpy(input, &head, sizeof head);
    if (random_below(random, 16) == 0)
        input[random_below(random, sizeof head)] = (uint8_t)random_next(random);
    while (at < size) {
        uint8_t tag = tags[random_below(random, sizeof tags)];
        uint32_t length =
            random_below(random, 20) ? random_below(random, 40) : (uint32_t)random_next(random);

        input[at++] = random_below(random, 50) ? tag : (uint8_t)random_next(random);
        if (size - at >= sizeof length && (tag < 32 || tag == 48 || tag == 49)) {
            memcpy(input + at, &length, sizeof length);
            at += sizeof length;
        }
        for (unsigned i = random_below(random, 70); i > 0 && at < size; i--)
            input[at++] = (uint8_t)random_next(random);
    }
    return size;
}
