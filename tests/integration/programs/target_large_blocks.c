/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large and small heap blocks from malloc(), calloc() and realloc(), each from one call in a
 * function of its own. Prints what they hold, which no trial may change, and on stderr of each
 * whether it begins at a multiple of 2 MiB and whether huge pages were asked for all of it (the
 * flag hg in /proc/self/smaps).
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HUGE = 2 << 20, LARGE = 5 * 1000 * 1000, LARGER = 9 * 1000 * 1000, SMALL = 100 * 1000 };

static __attribute__((noinline)) void *from_malloc(size_t size)
{
    void *volatile block = malloc(size);
    return block;
}

static __attribute__((noinline)) void *from_calloc(size_t count, size_t size)
{
    void *volatile block = calloc(count, size);
    return block;
}

static __attribute__((noinline)) void *from_realloc(void *old, size_t size)
{
    void *volatile block = realloc(old, size);
    return block;
}

/* Whether each mapping that the block lies in has the flag. */
static bool has_flag(uintptr_t start, uintptr_t end)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    uintptr_t low = 0, high = 0, known = start;
    char line[4096];

    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        uintptr_t a, b;

        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &a, &b) == 2)
            low = a, high = b;
        if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg") != NULL && low <= known &&
            known < high)
            known = high;
    }
    if (maps != NULL)
        fclose(maps);
    return known >= end;
}

static void tell(const char *name, void *block, size_t size)
{
    uintptr_t start = (uintptr_t)block;

    fprintf(stderr, "%s: %s, %s\n", name, start % HUGE == 0 ? "aligned" : "anywhere",
            has_flag(start, start + size) ? "huge" : "small");
}

static uint64_t sum_of(const unsigned char *block, size_t size)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < size; i++)
        sum += block[i] * (i % 7 + 1);
    return sum;
}

int main(void)
{
    unsigned char *first, *second, *third;

    first = from_malloc(LARGE);
    memset(first, 1, LARGE);
    tell("malloc", first, LARGE);
    printf("%" PRIu64 "\n", sum_of(first, LARGE));
    /* What is freed here may be given to calloc() with what it held. */
    free(first);
    second = from_calloc(LARGE / 8, 8);
    tell("calloc", second, LARGE);
    printf("%" PRIu64 "\n", sum_of(second, LARGE));
    third = from_realloc(NULL, LARGE);
    memset(third, 3, LARGE);
    third = from_realloc(third, LARGER);
    memset(third + LARGE, 4, LARGER - LARGE);
    tell("realloc", third, LARGER);
    printf("%" PRIu64 "\n", sum_of(third, LARGER));
    third = from_realloc(third, SMALL);
    printf("%" PRIu64 "\n", sum_of(third, SMALL));
    first = from_malloc(SMALL);
    memset(first, 5, SMALL);
    tell("small", first, SMALL);
    printf("%" PRIu64 " %d\n", sum_of(first, SMALL), from_calloc(SIZE_MAX / 2, 4) == NULL);
    free(first);
    free(second);
    free(third);
    return 0;
}
