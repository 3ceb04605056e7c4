/* SPDX-License-Identifier: BSD-3-Clause */
/* From code addresses of profiles to places in source, each looked up once. */
#ifndef REUSE_POSTPROC_RESOLVER_H
#define REUSE_POSTPROC_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/reader.h"
#include "symbols/symbols.h"

/* What one code address is. */
struct location {
    struct symbol_module *module; /* NULL: in no module */
    uint64_t address;             /* link-time; run-time if module is NULL */
    source_frames frames;         /* innermost first; at least one */
};

struct resolver;

/* Everything given must outlive the resolver. */
struct resolver *resolver_create(const struct profile *const *profiles, size_t profile_count,
                                 const struct file_search *, struct intern_table *strings);
void resolver_free(struct resolver *);

struct symbols *resolver_symbols(struct resolver *);

/*
 * Number of the location of an address. after: the address is that of the next instruction (return
 * addresses, ends of watches), so the one before it is meant.
 */
uint32_t resolver_code(struct resolver *, size_t profile, uint64_t ip, uint64_t monotonic_ns,
                       bool after);
const struct location *resolver_location(const struct resolver *, uint32_t number);

/* The module of an identifier, as the symboliser knows it; NULL if the profile has none. */
struct symbol_module *resolver_module(struct resolver *, size_t profile, uint32_t module_id,
                                      uint64_t *load_bias);

/*
 * The innermost frame that is not in a header of the language: v[i] belongs to the line that says
 * so, not to operator[]. The number of frames if all are.
 */
size_t location_own_frame(const struct location *);

/* "function"; else "module+0x12a0", where the function begins, or the address itself where that is
 * not known; lives as long as the strings. */
const char *location_function(struct resolver *, const struct location *, size_t frame);

/* "dir/file.c:12" shortened to the last two parts of the path, or NULL; lives as the strings. */
const char *place_text(struct intern_table *strings, const char *file, uint32_t line);

#endif
