/* SPDX-License-Identifier: BSD-3-Clause */
/* What was lost on the way to the report, in words: a line of the summary for each kind. */
#ifndef REUSE_POSTPROC_SUMMARY_LOSSES_H
#define REUSE_POSTPROC_SUMMARY_LOSSES_H

#include <stdint.h>

#include "document/document.h"
#include "profile/format.h"

/* Sums over the threads and profiles that are looked at. */
struct lost_counts {
    uint64_t in_run[LOSS_COUNT];
    uint64_t records;                          /* that never reached the file */
    uint64_t dropped_bytes;                    /* at the end of the file */
    uint64_t invalid_records, unknown_records; /* in it */
};

/* Kinds of which nothing was lost are facts without a heading: exports have them, the text not. */
void summary_losses(struct document *, struct section *, const struct lost_counts *);

#endif
