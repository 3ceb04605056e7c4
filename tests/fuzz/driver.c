/* SPDX-License-Identifier: BSD-3-Clause */
/* See driver.h. */
#include "fuzz/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned long inputs;
static uint64_t bytes;

void fuzz_require(bool condition)
{
    if (!condition)
        abort();
}

bool fuzz_points_inside(const uint8_t *pointer, uint64_t length, const uint8_t *input, size_t size)
{
    return !pointer || (pointer >= input && length <= size &&
                        (size_t)(pointer - input) <= size - (size_t)length);
}

static void print_count(void)
{
    fprintf(stderr, "# %s: %lu inputs, %llu bytes\n", fuzz_target, inputs,
            (unsigned long long)bytes);
}

static void run(const uint8_t *input, size_t size)
{
    inputs++;
    bytes += size;
    fuzz_check(input, size);
}

#ifdef REUSE_LIBFUZZER
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return atexit(print_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    if (size <= FUZZ_INPUT_MAX)
        run(input, size);
    return 0;
}
#else
static uint8_t buffer[FUZZ_INPUT_MAX];

static void run_file(const char *name)
{
    FILE *file = fopen(name, "rb");

    if (!file) {
        perror(name);
        exit(1);
    }
    run(buffer, fread(buffer, 1, sizeof buffer, file));
    fclose(file);
}

static unsigned long number(const char *variable, unsigned long otherwise)
{
    const char *text = getenv(variable);

    return text ? strtoul(text, NULL, 0) : otherwise;
}

static void run_random_inputs(void)
{
    unsigned long seed = number("FUZZ_SEED", (unsigned long)time(NULL));
    unsigned long seconds = number("FUZZ_SECONDS", 0), count = number("FUZZ_COUNT", 20000);
    time_t end = time(NULL) + (time_t)seconds;
    struct random random;

    fprintf(stderr, "# FUZZ_SEED=%lu\n", seed);
    random_seed(&random, seed);
    while (seconds ? time(NULL) < end : inputs < count)
        run(buffer, fuzz_make(&random, buffer));
}

int main(int argc, char **argv)
{
    printf("1..1\n");
    for (int i = 1; i < argc; i++)
        run_file(argv[i]);
    if (argc == 1)
        run_random_inputs();
    print_count();
    printf("ok 1 - %s\n", fuzz_target);
    return 0;
}
#endif
