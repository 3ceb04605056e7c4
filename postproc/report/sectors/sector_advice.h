/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a division of the sector cache to what a programmer types: directives for Fujitsu's
 * compilers, environment, calls of the a64fx_hpc library, and how to see on the machine that it
 * works. Sources: Fujitsu, C User's Guide J2UL-2560; A64FX specification, HPC Extension;
 * github.com/breiters/a64fx_hpc_extension.
 */
#ifndef REUSE_POSTPROC_SECTOR_ADVICE_H
#define REUSE_POSTPROC_SECTOR_ADVICE_H

#include "report/sectors/sector_hints.h"

/* What to do in one function: one set of structures for all levels, as the directives have it. */
struct sector_advice {
    size_t region;                     /* where the directives go */
    uint64_t isolated;                 /* structures */
    unsigned ways[MACHINE_LEVELS_MAX]; /* by level of the machine; 0: leave it undivided */
    double loss[MACHINE_LEVELS_MAX];   /* part of the misses that a level loses by it, if any */
    const char *file;                  /* of the function; NULL: unknown */
    uint32_t line; /* of its outermost loop around the accesses, else of the first
                      access; 0: unknown */
    bool is_loop, is_fortran;
};

/* The advice that a row leads to; for a region that only calls others, in the one that makes most
 * of the accesses. */
struct sector_advice sector_advise(const struct sector_hints *, const struct sector_row *);

/* Text of several lines; the caller frees it. */
char *sector_directives(const struct sector_hints *, const struct sector_advice *);
char *sector_environment(const struct sector_hints *, const struct sector_advice *);
char *sector_library_calls(const struct sector_hints *, const struct sector_advice *);

/* "at dmtvm.c:62, around the loop", "in dmtvm". The caller frees it. */
char *sector_place(const struct sector_hints *, const struct sector_advice *);

/* Names that do not stand in the function's source, or are none of a variable; NULL: all do. */
char *sector_unknown_names(const struct sector_hints *, const struct sector_advice *);

extern const char sector_verification[];         /* commands */
extern const char *const sector_preconditions[]; /* sentences; NULL after the last */

#endif
