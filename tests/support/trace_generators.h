/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of known kinds of locality, as traces (support/locality_simulator.h). */
#ifndef REUSE_TESTS_TRACE_GENERATORS_H
#define REUSE_TESTS_TRACE_GENERATORS_H

#include "support/locality_simulator.h"

struct random;

typedef void (*trace_generator)(struct trace *, struct random *);

void trace_sweep(struct trace *, struct random *); /* an array, word by word, again and again */
void trace_zipf_words(struct trace *,
                      struct random *); /* independent words of unequal popularity */
void trace_zipf_lines(struct trace *, struct random *);    /* whole lines: words fully correlated */
void trace_zipf_mixture(struct trace *, struct random *);  /* 1 to 8 words of a line in any order */
void trace_uniform_words(struct trace *, struct random *); /* independent words, alike */
void trace_pairs(struct trace *, struct random *);         /* 16-byte operands at random places */
void trace_hot_and_cold(struct trace *,
                        struct random *);            /* 90 % in 4 KiB, 10 % sweep a line a time */
void trace_stencil(struct trace *, struct random *); /* five points, two grids */
void trace_halves(struct trace *, struct random *); /* 128-byte records: a word of all first halves,
                                                       then one of all second halves */
void trace_phases(struct trace *, struct random *); /* fast sweeps and slow probes in turn */

#endif
