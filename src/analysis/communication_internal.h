/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the estimate of communication share. */
#ifndef REUSE_ANALYSIS_COMMUNICATION_INTERNAL_H
#define REUSE_ANALYSIS_COMMUNICATION_INTERNAL_H

#include "analysis/communication.h"
#include "analysis/internal.h"

struct communication {
    const struct analysis *analysis;
    uint32_t line_size;
    struct flow *flows;
    size_t count, capacity;
};

/* A new flow at the end, zeroed; NULL without memory. Valid until the next call. */
struct flow *communication_add(struct communication *);

/* communication_exact.c: flows from counted transfers. False with a message. */
bool communication_from_counts(struct communication *, char *message, size_t message_size);

#endif
