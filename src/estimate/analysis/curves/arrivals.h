/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which access comes back to a line, and misses there.
 *
 * Bursts look forward: a group of probes says who used a line, and who used it next, unless its
 * lines are open at the end of the burst. A miss belongs to the access that comes back, as
 * hardware and exact counts have it. Of lines used again in the burst that is told. Of open ones it
 * follows from a balance: an instruction makes so many accesses, and is the next user of so many
 * lines of the burst; all others come to lines that were not used in the burst. In the mean of the
 * run there are as many of those as of lines that are left open, so each data object's open lines
 * are dealt out by them.
 *
 * Pure; allocates.
 */
#ifndef REUSE_ANALYSIS_ARRIVALS_H
#define REUSE_ANALYSIS_ARRIVALS_H

#include <stddef.h>
#include <stdint.h>

/* Probes of one burst, alike. */
struct arrival_group {
    uint64_t ip;      /* the access */
    uint64_t next_ip; /* that uses the line next, in the burst; 0: open */
    uint64_t path;    /* calling path of the access */
    uint64_t object;  /* that it touches */
    uint32_t count;   /* probes */
};

/* So many probes of a group are of lines that an access like those of another one comes back to. */
struct arrival_piece {
    uint32_t left_by;    /* the group */
    uint32_t arrives_at; /* a group; left_by itself, where it cannot be told */
    uint32_t count;      /* >= 1 */
};

/*
 * Fills pieces, of which at most 3 * count come, by ascending left_by; their counts add up to each
 * group's, and those of one instruction, path and object (as what arrives) to its accesses but for
 * what arrived in accesses that are not probes. Returns how many.
 */
size_t arrivals_find(const struct arrival_group *, size_t count, struct arrival_piece *pieces);

#endif
