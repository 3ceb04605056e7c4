/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz driver of the profile reader. With clang it is a libFuzzer target; without (FUZZ_STANDALONE)
 * it is a program of its own:
 *     fuzz_profile SECONDS FILE...     reads each file, then random changes of them
 * A crash, a sanitizer's report, or a broken guarantee of reader.h ends it with a non-zero status.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "support/profile_mutator.h"

#ifdef FUZZ_STANDALONE

/* What it was doing when it failed can be repeated with the seed that it prints. */
static void change_until(time_t deadline, const unsigned char *data, size_t size, uint64_t seed)
{
    struct random random;
    unsigned long runs = 0;
    unsigned long long bytes = 0;
    random_seed(&random, seed);
    while (time(NULL) < deadline) {
        for (int i = 0; i < 100; i++, runs++) {
            size_t changed_size;
            unsigned char *changed = mutate_profile(&random, data, size, &changed_size);
            profile_mutator_check(changed, changed_size);
            bytes += changed_size;
            free(changed);
        }
    }
    (void)printf("# FUZZ_SEED=%llu\n# changed profiles: %lu inputs, %llu bytes\n",
                 (unsigned long long)seed, runs, bytes);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        (void)fprintf(stderr, "usage: fuzz_profile SECONDS FILE...\n");
        return 2;
    }
    time_t seconds = strtol(argv[1], NULL, 10) / (argc - 2) + 1;
    for (int i = 2; i < argc; i++) {
        size_t size;
        unsigned char *data = read_whole_file(argv[i], &size);
        if (!data) {
            (void)fprintf(stderr, "fuzz_profile: cannot read '%s'\n", argv[i]);
            return 1;
        }
        profile_mutator_check(data, size);
        change_until(time(NULL) + seconds, data, size, (uint64_t)time(NULL));
        free(data);
    }
    return 0;
}

#else

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static unsigned long inputs;
static unsigned long long input_bytes;

static void print_count(void)
{
    (void)fprintf(stderr, "# changed profiles: %lu inputs, %llu bytes\n", inputs, input_bytes);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return atexit(print_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    inputs++;
    input_bytes += size;
    profile_mutator_check(data, size);
    return 0;
}

/* Without right checksums the reader would stop at the first changed record. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed % 4)
        repair_checksums(data, size);
    return size;
}

#endif
