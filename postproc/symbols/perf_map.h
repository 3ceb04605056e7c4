/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of code made at run time: /tmp/perf-PID.map, lines "START SIZE NAME" with hexadecimal
 * numbers, as Linux's tools/perf/Documentation/jit-interface.txt defines it.
 */
#ifndef REUSE_POSTPROC_PERF_MAP_H
#define REUSE_POSTPROC_PERF_MAP_H

#include <stdint.h>

#include "symbols/elf_image.h"

struct perf_map {
    char *text;
    elf_symbols symbols; /* names point into text */
};

/* Reads a map; an absent or unreadable file gives an empty one. */
void perf_map_load(struct perf_map *, const char *path);
void perf_map_free(struct perf_map *);

/* The name that covers an address, or NULL; later lines of the file win. */
const char *perf_map_name(const struct perf_map *, uint64_t address);

#endif
