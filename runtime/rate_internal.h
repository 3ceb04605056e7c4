/* SPDX-License-Identifier: BSD-3-Clause */
/* What following a burst (rate_follow.c) and readings after it (rate.c) share. Signal-safe. */
#ifndef REUSE_RUNTIME_RATE_INTERNAL_H
#define REUSE_RUNTIME_RATE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

/* What is known of a loop; NULL: nothing, and not to be made. */
struct known_loop *rate_known_loop(struct thread *, uint64_t loop, bool make);

/* The next burst begins at app_now: where the words of the last reading stand. */
void rate_rest_of_words(struct thread *, uint64_t app_now);

/* It has been interpreted, or up to its first stop: where the registers stood when it began, if it
 * has met their heads. Ends the reading. */
void rate_rest_of_registers(struct thread *);

#endif
