/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement/binding.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/memory.h"

/* Each CPU between `before` and `after`, with a separator. */
static char *each(const unsigned *cpus, size_t count, const char *before, const char *after,
                  const char *separator)
{
    char *text;
    size_t size;
    FILE *stream = open_text(&text, &size);

    for (size_t i = 0; i < count; i++)
        fprintf(stream, "%s%s%u%s", i > 0 ? separator : "", before, cpus[i], after);
    fclose(stream);
    return text;
}

/* "pu:0-3 pu:8" of "0-3,8". */
static char *units(const char *ranges)
{
    char *text;
    size_t size;
    FILE *stream = open_text(&text, &size);

    fputs("pu:", stream);
    for (const char *c = ranges; *c != '\0'; c++)
        if (*c == ',')
            fputs(" pu:", stream);
        else
            fputc(*c, stream);
    fclose(stream);
    return text;
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
    hwloc_bitmap_t set;
    char *ranges = NULL, *mask = NULL;
    size_t made = 0;

    if (count == 0)
        return 0;
    set = or_out_of_memory(hwloc_bitmap_alloc());
    for (size_t i = 0; i < count; i++)
        hwloc_bitmap_set(set, cpus[i]);
    hwloc_bitmap_list_asprintf(&ranges, set);
    hwloc_bitmap_taskset_asprintf(&mask, set);
    or_out_of_memory(ranges);
    or_out_of_memory(mask);
    hwloc_bitmap_free(set);
    if (openmp)
        made = add(list, made, "OMP_PLACES", threads, "OMP_PROC_BIND=close OMP_PLACES='",
                   each(cpus, count, "{", "}", ","), "'");
    if (openmp && runtime == OPENMP_GNU)
        made = add(list, made, "GOMP_CPU_AFFINITY", threads,
                   "GOMP_CPU_AFFINITY=", each(cpus, count, "", "", ","), "");
    made = add(list, made, "taskset", process, "taskset -c ", copy_string(ranges), "");
    made = add(list, made, "hwloc-bind", process, "hwloc-bind --physical ", units(ranges), "");
    made = add(list, made, "numactl", process, "numactl --localalloc --physcpubind=", ranges, "");
    made = add(list, made, "srun mask_cpu", process, "srun --cpu-bind=mask_cpu:", mask, "");
    made = add(list, made, "srun map_cpu", "each task, where tasks are what threads are here",
               "srun --cpu-bind=map_cpu:", each(cpus, count, "", "", ","), "");
    return made;
}

void binding_list_free(struct binding *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i].text);
}
