/* SPDX-License-Identifier: BSD-3-Clause */
/* See placement.h. */
#define _GNU_SOURCE
#include "launcher/placement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/library.h"
#include "placement_file.h"

enum { STATUS_FAILURE = 125, FILE_MAX = 64 << 20 };

static int fail(const char *path, const char *cause)
{
    fprintf(stderr, "reuse-run: --place %s: %s\n", path, cause);
    return STATUS_FAILURE;
}

/* Whether the file is a mapping; else the line is written. The CPUs are looked at in the target. */
static int check_file(const char *path)
{
    struct placement_file mapping = {0};
    char message[256];
    FILE *stream = fopen(path, "re");
    char *text = stream ? malloc(FILE_MAX) : NULL;
    size_t size = text ? fread(text, 1, FILE_MAX, stream) : 0;
    int status = -1;

    if (!stream || !text || ferror(stream)) {
        status = fail(path, strerror(errno));
    } else {
        /* An entry takes at least two bytes of text. */
        mapping.capacity = size / 2 + 1;
        mapping.entries = calloc(mapping.capacity, sizeof *mapping.entries);
        if (!mapping.entries)
            status = fail(path, strerror(errno));
        else if (placement_file_read(text, size, &mapping, message, sizeof message) != 0)
            status = fail(path, message);
    }
    free(mapping.entries);
    free(text);
    if (stream)
        fclose(stream);
    return status;
}

/* Runtimes that bind threads themselves do so after us. */
static void warn_of_rivals(const struct environment *environment)
{
    static const char *const rivals[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY",
                                         "KMP_AFFINITY"};

    for (size_t i = 0; i < sizeof rivals / sizeof *rivals; i++)
        if (environment_get(environment, rivals[i])) {
            fprintf(stderr,
                    "reuse-run: %s is set: the OpenMP runtime binds threads after --place; unset "
                    "it\n",
                    rivals[i]);
            return;
        }
}

int placement_prepare(const struct options *options, const struct target *target,
                      struct environment *environment)
{
    char library[PATH_MAX], file[PATH_MAX];
    int status;

    if (!options->place[0])
        return -1;
    status = check_file(options->place);
    if (status >= 0)
        return status;
    if (options->engine == ENGINE_EXACT || options->engine == ENGINE_SIMULATE) {
        fprintf(stderr,
                "reuse-run: --place changes nothing in what the engine %s counts: threads "
                "are not bound\n",
                engine_names[options->engine]);
        return -1;
    }
    if (target->reason[0]) {
        fprintf(stderr, "reuse-run: %s %s: its threads are not bound\n", target->binary,
                target->reason);
        return -1;
    }
    if (library_find_placement(library) != 0) {
        fprintf(stderr,
                "reuse-run: libreuse-place.so is neither in this build tree nor beside "
                "reuse-run nor in " REUSE_PLUGIN_FOLDER "; install libreuse, or run make\n");
        return STATUS_FAILURE;
    }
    /* The target may change its folder before it starts another program. */
    if (!realpath(options->place, file))
        return fail(options->place, strerror(errno));
    warn_of_rivals(environment);
    if (environment_set(environment, option_table[OPTION_PLACE].variable, file) != 0 ||
        environment_preload(environment, library) != 0) {
        fprintf(stderr, "reuse-run: out of memory\n");
        return STATUS_FAILURE;
    }
    return -1;
}
