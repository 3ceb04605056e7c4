/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/kept.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/memory.h"

/* A host's name as part of a file's: nothing in it leads elsewhere. */
static char *file_name_of(const char *host)
{
    char *name = copy_string(host[0] != '\0' ? host : "host");

    for (char *at = name; *at != '\0'; at++)
        if (*at == '/' || (at == name && *at == '.'))
            *at = '_';
    return name;
}

static char *folder(void)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (config != NULL && config[0] == '/')
        return format_string("%s/libreuse", config);
    return home != NULL && home[0] == '/' ? format_string("%s/.config/libreuse", home) : NULL;
}

char *machine_kept_path(const char *host)
{
    char *where = folder(), *name, *path;

    if (where == NULL)
        return NULL;
    name = file_name_of(host);
    path = format_string("%s/%s.conf", where, name);
    free(name);
    free(where);
    return path;
}

/* The folder of the path and those above it. */
static void make_folders(const char *path)
{
    char *copy = copy_string(path);

    for (char *slash = strchr(copy + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(copy, 0777);
        *slash = '/';
    }
    free(copy);
}

static void write_description(FILE *file, const struct machine *machine)
{
    (void)fprintf(file, "# Latencies measured by reuse-doctor --latencies.\nname = %s\n",
                  machine->name);
    for (size_t i = 0; i < machine->levels; i++) {
        const struct machine_cache *cache = &machine->caches[i];

        (void)fprintf(file, "cache = %u %" PRIu64 " %u %u %u\n", cache->level, cache->bytes,
                      cache->line_size, cache->ways, cache->sharing_cpus);
    }
    for (size_t i = 0; i < machine->levels; i++)
        if (machine->caches[i].latency_ns > 0)
            (void)fprintf(file, "latency = %u %.3g\n", machine->caches[i].level,
                          machine->caches[i].latency_ns);
    if (machine->memory_latency_ns > 0)
        (void)fprintf(file, "latency = memory %.3g\n", machine->memory_latency_ns);
    if (machine->core_latency_ns > 0)
        (void)fprintf(file, "latency = core %.3g\n", machine->core_latency_ns);
}

bool machine_keep(const char *host, const struct machine *machine, char *message, size_t size)
{
    char *path = machine_kept_path(host);
    bool done = false;
    FILE *file;

    if (path == NULL) {
        snprintf(message, size,
                 "nowhere to keep the latencies: set HOME or XDG_CONFIG_HOME to a folder");
        return false;
    }
    make_folders(path);
    file = fopen(path, "we");
    if (file != NULL) {
        write_description(file, machine);
        done = ferror(file) == 0;
        done = fclose(file) == 0 && done;
    }
    if (!done)
        snprintf(message, size, "%s: the latencies cannot be kept: %s", path, strerror(errno));
    free(path);
    return done;
}

static bool same_caches(const struct machine *a, const struct machine *b)
{
    if (a->levels != b->levels)
        return false;
    for (size_t i = 0; i < a->levels; i++)
        if (a->caches[i].level != b->caches[i].level || a->caches[i].bytes != b->caches[i].bytes)
            return false;
    return true;
}

bool machine_take_kept_latencies(const char *host, struct machine *machine)
{
    char *path = machine_kept_path(host), message[256];
    struct machine kept;
    struct stat status;
    bool taken;

    taken = path != NULL && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
            machine_read(path, &kept, message, sizeof(message)) && same_caches(&kept, machine);
    free(path);
    if (!taken)
        return false;
    for (size_t i = 0; i < kept.levels; i++)
        machine->caches[i].latency_ns = kept.caches[i].latency_ns;
    machine->memory_latency_ns = kept.memory_latency_ns;
    machine->core_latency_ns = kept.core_latency_ns;
    machine->latencies_measured = true;
    return true;
}
