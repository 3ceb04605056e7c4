/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --traffic, worked out: bytes that each level of a machine serves, for regions of the program.
 *
 * Names and formulas: LS, L2, L3 and Mem Bytes and their ratios as in Gravelle's portable locality
 * metrics; memory share and memory impact as in Marques et al. (Future Generation Computer Systems
 * 107, 2020). docs/traffic.md has them in full.
 */
#ifndef REUSE_POSTPROC_TRAFFIC_H
#define REUSE_POSTPROC_TRAFFIC_H

#include "report/model/measured.h"
#include "report/sectors/sector_hints.h"

/* One level of a machine, or, after the last one, its memory. NAN: not known. */
struct traffic_level {
    struct estimate bytes; /* asked for here: LS Bytes; lines that the level inside fetches */
    double per_ls;         /* bytes / LS Bytes */
    double hit_ratio;      /* of what is asked for here */
    double misses_most;    /* of what is asked for here: 1 - hit_ratio, at the interval's end */
    double share;          /* of the bytes that the program asks for, served from here */
    double impact;         /* part of the time that serving them takes */
    double line_use;       /* bytes used of those fetched from outside it; an upper bound */
    double conflicts;      /* misses over those of a fully associative cache; 1: no conflicts */
    /* Of the first level: the same by lines that crowd in sets within bursts
     * (sampling/set_conflicts.h); 1: none that matters. */
    double crowding;
    bool beyond; /* larger than what was watched */
    bool vague;  /* lines per access are: traffic_is_vague(), or beyond */
    /* Bytes that the level inside writes back to this one. Of sampled profiles bounds, value NAN.
     */
    struct estimate written_back;
    /* By hardware events, of the whole run on its own machine: lines that the level inside fetched,
     * as `bytes`; dirty lines that it wrote back. */
    struct measured measured, measured_back;
};

/* The interval reaches so far above the value that the value tells nothing: its upper end is a
 * bound, and all that is known. */
bool traffic_is_vague(struct estimate);

struct traffic {
    const struct machine *machine;
    uint32_t line_size, granule; /* granule: what line_use is seen in; the line size: not known */
    const char *region;
    struct estimate accesses;
    size_t bursts;   /* that tell of it; 0: exact */
    double width;    /* bytes per access; NAN: not known */
    double threads;  /* that share a cache of several cores */
    size_t levels;   /* without memory */
    bool counted;    /* the profile has hardware counts to compare with */
    bool comparable; /* of accesses, a machine and a line size to which they refer */
    struct traffic_level level[MACHINE_LEVELS_MAX + 1];
};

/* A machine to evaluate for, with the analysis at its line size. */
struct traffic_machine {
    struct machine machine;
    struct analysis *analysis;
    bool owned; /* the analysis was made for this */
};

/* The model's machine, and that of the run if it is another one. Returns how many. */
size_t traffic_machines(struct model *, struct traffic_machine out[2]);
void traffic_machines_free(struct traffic_machine *, size_t n);

void traffic_of_region(struct model *, const struct traffic_machine *,
                       const struct sector_regions *, size_t region, struct traffic *out);

#endif
