/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random bytes as a perf.data file, read as reuse-report reads it: either accesses that keep to
 * their ranges, or one line that says why not.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/driver.h"
#include "perfdata/stacks.h"

const char fuzz_target[] = "random bytes as a perf.data file";

static void look_up(const struct recording *recording)
{
    for (size_t i = 0; i < recording->accesses.count; i++) {
        const struct access_record *access = &recording->accesses.items[i];

        fuzz_require(access->level < LEVEL_COUNT && access->kinds != 0);
        recording_map(recording, access->pid, access->address, access->time);
        recording_thread_name(recording, access->tid);
    }
    for (size_t i = 0; i < recording->maps.count; i++)
        fuzz_require(strlen(recording->maps.items[i].path) < FUZZ_INPUT_MAX);
}

/* Contexts of call chains, and of registers with a stack whose files are not there. */
static void follow_stacks(const struct recording *recording)
{
    const struct file_search search = {.sysroot = "/nowhere"};
    struct intern_table *strings = intern_table_create();
    struct symbols *symbols = symbols_create(&search, strings);
    struct loaded_files *files = loaded_files_create(recording, &search, symbols, strings);
    struct stacks *stacks = stacks_create(recording, files);

    for (size_t i = 0; i < recording->samples.count; i++)
        fuzz_require(stacks->context[i] == UINT32_MAX ||
                     stacks->context[i] < stacks->contexts.count);
    for (size_t i = 0; i < stacks->contexts.count; i++)
        fuzz_require(stacks->contexts.items[i].count > 0);
    stacks_free(stacks);
    loaded_files_free(files);
    symbols_free(symbols);
    intern_table_free(strings);
}

void fuzz_check(const uint8_t *input, size_t size)
{
    char path[32], message[512] = "";
    struct recording *recording;
    int file = memfd_create("perf.data", 0);

    fuzz_require(file >= 0 && write(file, input, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    recording_is_perf_data(path);
    recording = recording_load(path, message, sizeof message);
    if (recording) {
        look_up(recording);
        follow_stacks(recording);
    } else {
        fuzz_require(message[0] && !strchr(message, '\n'));
    }
    recording_free(recording);
    close(file);
}

/* ---- random inputs ---- */

struct output {
    uint8_t *bytes;
    size_t size;
};

static void put(struct output *out, const void *bytes, size_t size)
{
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void put_word(struct output *out, uint64_t word)
{
    put(out, &word, sizeof word);
}

/* A record of perf_event.h; what it holds is random, small numbers more often. */
static void put_record(struct output *out, struct random *random)
{
    static const uint16_t types[] = {1, 2, 3, 4, 7, 9, 9, 9, 9, 10, 11, 65, 68, 70, 71, 81};
    uint64_t type = types[random_below(random, sizeof types / sizeof types[0])];
    uint64_t words = random_below(random, 20), size = 8 * (words + 1);

    if (random_below(random, 100) == 0)
        size = random_next(random) & 0xffff;
    put_word(out, type | (uint64_t)(random_below(random, 4) ? 2 : 1) << 32 | size << 48);
    for (; words > 0; words--)
        put_word(out, random_next(random) >> random_below(random, 64));
}

/* A file with one event whose layout is random, and random records. */
size_t fuzz_make(struct random *random, uint8_t *input)
{
    enum { ATTRIBUTES = 136, HEADER = 104, AT_DATA = HEADER + ATTRIBUTES + 16 };
    struct output out = {input, 0};
    uint64_t attributes[ATTRIBUTES / 8] = {0}, size;

    /* type and size of the structure, config, period, sample_type, ... */
    attributes[0] = random_below(random, 12) | (uint64_t)120 << 32;
    attributes[3] =
        random_next(random) >> (random_below(random, 4) ? 39 + random_below(random, 20) : 0);
    attributes[5] = (uint64_t)random_below(random, 2) << 18;
    put(&out, "PERFILE2", 8);
    put_word(&out, HEADER);
    put_word(&out, ATTRIBUTES);
    put_word(&out, HEADER);
    put_word(&out, ATTRIBUTES);
    put_word(&out, AT_DATA);
    put_word(&out, 0); /* size of the data */
    for (int i = 0; i < 6; i++)
        put_word(&out, 0); /* event types, features */
    put(&out, attributes, sizeof attributes);
    for (int i = 0; i < 2; i++)
        put_word(&out, 0);
    for (unsigned records = random_below(random, 60); records > 0; records--)
        put_record(&out, random);
    size = out.size - AT_DATA;
    memcpy(input + 48, &size, sizeof size);
    for (unsigned damages = random_below(random, 4); damages > 0; damages--)
        input[random_below(random, (uint32_t)out.size)] ^= (uint8_t)(1 << random_below(random, 8));
    return out.size;
}
