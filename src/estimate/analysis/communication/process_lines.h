/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of memory that several processes of a merged profile share: which bursts of whom touched
 * them. A line is the same one where host, device, inode and offset agree.
 */
#ifndef REUSE_ANALYSIS_PROCESS_LINES_H
#define REUSE_ANALYSIS_PROCESS_LINES_H

#include "analysis/communication/burst_contention.h"

struct shared_file {
    uint32_t profile;
    uint32_t mapping_id; /* of one of its mappings */
    uint64_t bytes;      /* up to the end of what is mapped of it */
};

struct shared_place; /* a mapping and its file */

struct process_lines {
    struct burst_use *items; /* by profile, file, line, then time */
    size_t count;
    struct shared_file *files;
    size_t file_count;
    struct shared_place *places; /* by profile, mapping_id */
    size_t place_count;
};

/* line_size: at least the run's. */
void process_lines_create(const struct analysis *, uint32_t line_size, struct process_lines *);
void process_lines_free(struct process_lines *);

/* The file of a mapping: an index; NO_FILE: the mapping is not there. */
#define NO_FILE UINT32_MAX
uint32_t process_lines_file(const struct process_lines *, uint32_t profile, uint32_t mapping_id);

/*
 * Where a file lies among the addresses of flows: processes have it at different ones, and no
 * address of a program is so high. A file takes 2^40 bytes; of longer ones the rest comes again.
 */
static inline uint64_t shared_file_address(uint32_t file, uint64_t offset)
{
    const uint64_t begin = UINT64_C(1) << 62, size = UINT64_C(1) << 40;

    return begin + file * size + (offset & (size - 1));
}

/* One past the last use of the line that begins at `first`; *several: of more than one process. */
size_t process_lines_end(const struct process_lines *, size_t first, bool *several);

#endif
