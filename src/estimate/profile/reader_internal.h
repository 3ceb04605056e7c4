/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the reader share. Nobody else includes it. */
#ifndef REUSE_PROFILE_READER_INTERNAL_H
#define REUSE_PROFILE_READER_INTERNAL_H

#include <string.h>

#include "profile/reader.h"

/* Any of the PROFILE_ARRAYs, seen without its type. */
struct __attribute__((may_alias)) record_array {
    void *items;
    size_t count;
};

enum tail_kind {
    TAIL_NONE,
    TAIL_TEXT,
    TAIL_PAIRS,
    TAIL_BINS,
    TAIL_PROBES,
    TAIL_VARIABLES,
    TAIL_STEPS,
    TAIL_TIMED_LOADS
};

/* Which of the records with one key a profile keeps. */
enum keep_policy { KEEP_ALL, KEEP_FIRST, KEEP_LAST };

/* How a record type is stored in struct profile. */
struct record_layout {
    uint16_t type;
    uint8_t tail; /* with a tail the array holds pointers into the arena */
    uint8_t keep;
    uint8_t id_size;     /* 4 or 8: the record begins with its identifier; 0: it has none */
    uint16_t fixed_size; /* bytes before the tail */
    uint16_t array;      /* offset of the array in struct profile */
    /* Orders records without an identifier by what makes them one and the same; or NULL. */
    int (*compare)(const void *, const void *);
};

extern const struct record_layout record_layouts[];
extern const size_t record_layout_count;

struct record_array *layout_array(struct profile *, const struct record_layout *);

/* The record at a position of its array. */
const void *layout_record(const struct record_layout *, const struct record_array *, size_t i);

/* What a record takes of the memory. */
struct extent {
    uint64_t start, end;
    uint64_t highest_end; /* of this extent and all before it */
    size_t number;        /* the record's position in the profile's array */
};

/* As many as the array has records; ordered by start, then number. */
struct extents {
    struct extent *items;
    size_t count;
};

/* A context by what it is made of. */
struct framed_context {
    uint64_t ip;
    uint32_t path_id, context_id;
};

struct profile_index {
    unsigned char *arena; /* the records with tails */
    struct extents modules, mappings;
    uint64_t *unloaded_ns; /* by position of a module; UINT64_MAX: never */
    uint32_t *watch_ends;  /* sample_id -> position + 1, or 0; NULL when identifiers are sparse */
    uint64_t watch_end_limit;
    struct framed_context *frames; /* of the file and of groups; by path, then instruction */
    size_t frame_count;
};

/* Makes the contexts of the groups' instructions, when those of the file are in order. */
void add_instruction_contexts(struct profile *);

/* NULL: none of these. */
const struct record_context *find_instruction_context(const struct profile *, uint32_t context_id);

static const size_t NOT_FOUND = SIZE_MAX;

/*
 * Position of an identifier in an array that is sorted by it, or NOT_FOUND. The identifier is the
 * first member, of id_size bytes; stride is 0 for arrays of pointers.
 *
 * Identifiers are unique and start at 1. So at most id-1 of them lie before id, and if `gaps` are
 * missing up to the last one, at least id-1-gaps: without gaps there is nothing to search.
 */
static inline size_t find_position(const struct record_array *array, size_t stride, size_t id_size,
                                   uint64_t id)
{
    const char *items = array->items;
#define ID_AT(i)                                                                                   \
    (memcpy(&at, stride ? items + (i)*stride : ((const char *const *)array->items)[i], id_size), at)
    uint64_t at = 0;
    if (array->count == 0 || id == 0 || id > ID_AT(array->count - 1))
        return NOT_FOUND;
    uint64_t gaps = at - array->count;
    size_t high = id < array->count ? (size_t)id - 1 : array->count - 1;
    size_t low = id - 1 > gaps ? (size_t)(id - 1 - gaps) : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ID_AT(middle) < id)
            low = middle + 1;
        else
            high = middle;
    }
    return ID_AT(low) == id ? low : NOT_FOUND;
#undef ID_AT
}

/*
 * Sorts the arrays that have a key, drops what the policy does not keep, breaks cycles, and builds
 * the index.
 */
void profile_build_index(struct profile *);

#endif
