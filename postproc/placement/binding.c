/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement/binding.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory.h"

static int compare_cpus(const void *left, const void *right)
{
    unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;

    return (a > b) - (a < b);
}

/* Puts what a stream collected into a string of its own. */
struct text {
    char *start;
    size_t size;
    FILE *stream;
};

static void begin(struct text *text)
{
    text->stream = open_memstream(&text->start, &text->size);
    if (text->stream == NULL) {
        fputs("reuse-report: out of memory\n", stderr);
        exit(1);
    }
}

static char *end(struct text *text)
{
    fclose(text->stream);
    return text->start;
}

/* Each CPU between `before` and `after`, with a separator. */
static char *each(const unsigned *cpus, size_t count, const char *before, const char *after,
                  const char *separator)
{
    struct text text = {0};

    begin(&text);
    for (size_t i = 0; i < count; i++)
        fprintf(text.stream, "%s%s%u%s", i > 0 ? separator : "", before, cpus[i], after);
    return end(&text);
}

/* The set of CPUs as "0-3,8", with `before` before each range. */
static char *ranges(const unsigned *cpus, size_t count, const char *before, const char *separator)
{
    unsigned *sorted = allocate_zeroed(count, sizeof(*sorted));
    struct text text = {0};
    size_t kept = 0;

    memcpy(sorted, cpus, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_cpus);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || sorted[kept - 1] != sorted[i])
            sorted[kept++] = sorted[i];
    begin(&text);
    for (size_t i = 0; i < kept;) {
        size_t last = i;

        while (last + 1 < kept && sorted[last + 1] == sorted[last] + 1)
            last++;
        fprintf(text.stream, last > i ? "%s%s%u-%u" : "%s%s%u", i > 0 ? separator : "", before,
                sorted[i], sorted[last]);
        i = last + 1;
    }
    free(sorted);
    return end(&text);
}

/* The set as a number in hexadecimal, for masks. */
static char *mask(const unsigned *cpus, size_t count)
{
    unsigned most = 0;
    unsigned char *digits;
    struct text text = {0};

    for (size_t i = 0; i < count; i++)
        most = cpus[i] > most ? cpus[i] : most;
    digits = allocate_zeroed(most / 4 + 1, 1);
    for (size_t i = 0; i < count; i++)
        digits[cpus[i] / 4] |= (unsigned char)(1 << cpus[i] % 4);
    begin(&text);
    fputs("0x", text.stream);
    for (size_t i = most / 4 + 1; i-- > 0;)
        fprintf(text.stream, "%x", digits[i]);
    free(digits);
    return end(&text);
}

static size_t add(struct binding *list, size_t count, const char *tool, const char *binds,
                  const char *before, char *value, const char *after)
{
    list[count].text = format_string("%s%s%s", before, value, after);
    list[count].tool = tool;
    list[count].binds = binds;
    free(value);
    return count + 1;
}

size_t binding_list(const unsigned *cpus, size_t count, enum openmp_runtime runtime,
                    bool all_placed, struct binding list[BINDINGS_MAX])
{
    static const char threads[] = "each thread", process[] = "the process";
    bool openmp = runtime != OPENMP_NONE && all_placed;
    size_t made = 0;

    if (count == 0)
        return 0;
    if (openmp)
        made = add(list, made, "OMP_PLACES", threads, "OMP_PROC_BIND=close OMP_PLACES='",
                   each(cpus, count, "{", "}", ","), "'");
    if (openmp && runtime == OPENMP_GNU)
        made = add(list, made, "GOMP_CPU_AFFINITY", threads,
                   "GOMP_CPU_AFFINITY=", each(cpus, count, "", "", ","), "");
    made = add(list, made, "taskset", process, "taskset -c ", ranges(cpus, count, "", ","), "");
    made = add(list, made, "hwloc-bind", process, "hwloc-bind --physical ",
               ranges(cpus, count, "pu:", " "), "");
    made = add(list, made, "numactl", process,
               "numactl --localalloc --physcpubind=", ranges(cpus, count, "", ","), "");
    made = add(list, made, "srun mask_cpu", process, "srun --cpu-bind=mask_cpu:", mask(cpus, count),
               "");
    made = add(list, made, "srun map_cpu", "each task, where tasks are what threads are here",
               "srun --cpu-bind=map_cpu:", each(cpus, count, "", "", ","), "");
    return made;
}

void binding_list_free(struct binding *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i].text);
}
