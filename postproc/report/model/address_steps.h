/* SPDX-License-Identifier: BSD-3-Clause */
/* What bursts say of how the addresses of an instruction follow each other
 * (profile/format_bursts.h, record_steps). */
#ifndef REUSE_POSTPROC_ADDRESS_STEPS_H
#define REUSE_POSTPROC_ADDRESS_STEPS_H

#include "report/model/model.h"

/* Of the observation's burst; NULL: it says nothing. Records live as long as the profile. */
const struct record_steps *address_steps_record(const struct model *, size_t observation);

/* Of an instruction; record NULL, or not in it: NULL. */
const struct address_steps *address_steps_find(const struct record_steps *, uint64_t ip);

/* Of the observation's instruction in its burst; NULL: nothing. */
const struct address_steps *address_steps_of(const struct model *, size_t observation);

/* Of its accesses, the part that misses for want of ways in their sets; steps NULL: 0. */
double address_steps_crowded(const struct address_steps *);

#endif
