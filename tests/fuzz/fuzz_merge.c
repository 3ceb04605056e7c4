/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changed profiles as the inputs of a merge: the output can be read and merged again, whatever went
 * in. An input is two profiles, one after the other; a byte in front says where the first ends, as
 * a part of 256.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/driver.h"
#include "profile/merge.h"
#include "support/profile_mutator.h"

const char fuzz_target[] = "changed profiles, merged";

static char folder[] = "/tmp/fuzz-merge-XXXXXX";
static char first_output[sizeof folder + 8], second_output[sizeof folder + 8];
static char seed_file[sizeof folder + 8];

static void remove_files(void)
{
    (void)unlink(first_output);
    (void)unlink(second_output);
    (void)unlink(seed_file);
    (void)rmdir(folder);
}

static void prepare(void)
{
    static bool prepared;

    if (prepared)
        return;
    prepared = true;
    fuzz_require(mkdtemp(folder) != NULL);
    (void)snprintf(first_output, sizeof first_output, "%s/first", folder);
    (void)snprintf(second_output, sizeof second_output, "%s/second", folder);
    (void)snprintf(seed_file, sizeof seed_file, "%s/seed", folder);
    fuzz_require(atexit(remove_files) == 0);
}

/* What merging has written is a profile, complete. */
static struct profile *load(const char *path)
{
    char message[512];
    struct profile *profile = profile_load(path, message, sizeof message);

    fuzz_require(profile != NULL && profile->complete && profile->dropped_bytes == 0);
    return profile;
}

static bool merge(const struct profile *const *in, size_t n, const char *path)
{
    char message[512] = "";
    bool merged = profile_merge(in, n, path, message, sizeof message);

    fuzz_require(merged || (message[0] != '\0' && !strchr(message, '\n')));
    return merged;
}

static void merge_again(void)
{
    struct profile *once = load(first_output), *twice;
    const struct profile *const in[] = {once, once};

    fuzz_require(merge(in, 2, second_output));
    twice = load(second_output);
    fuzz_require(twice->bursts.count == 2 * once->bursts.count);
    profile_free(twice);
    profile_free(once);
}

void fuzz_check(const uint8_t *input, size_t size)
{
    size_t cut = size ? 1 + (size - 1) * input[0] / 256 : 0, n = 0;
    const struct profile *in[2];
    struct profile *parsed[2];
    char message[512];

    prepare();
    if (size == 0)
        return;
    parsed[0] = profile_parse(input + 1, cut - 1, "first", message, sizeof message);
    parsed[1] = profile_parse(input + cut, size - cut, "second", message, sizeof message);
    for (int i = 0; i < 2; i++)
        if (parsed[i])
            in[n++] = parsed[i];
    if (n > 0 && merge(in, n, first_output))
        merge_again();
    profile_free(parsed[0]);
    profile_free(parsed[1]);
}

size_t fuzz_make(struct random *random, uint8_t *input)
{
    static unsigned char *seed;
    static size_t seed_size;
    unsigned char *changed[2];
    size_t sizes[2], size = 1;

    prepare();
    if (!seed) {
        write_every_record(seed_file);
        seed = read_whole_file(seed_file, &seed_size);
        fuzz_require(seed != NULL);
    }
    for (int i = 0; i < 2; i++) {
        changed[i] = mutate_profile(random, seed, seed_size, &sizes[i]);
        if (sizes[i] <= (FUZZ_INPUT_MAX - 1) / 2) {
            memcpy(input + size, changed[i], sizes[i]);
            size += sizes[i];
        }
        free(changed[i]);
        if (i == 0) {
            /* So that the first may be cut, or run into the second, but by 1/256 mostly. */
            input[0] = 0;
            sizes[0] = size - 1;
        }
    }
    if (size > 1)
        input[0] = (uint8_t)((sizes[0] * 256 + size - 2) / (size - 1));
    return size;
}
