/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several profiles as one: what a report on them together rests on. They are merged as --merge
 * merges them, so that both say the same: code that several processes ran is one code, whose
 * bursts and access rates they share, and each process stays visible as an origin.
 */
#ifndef REUSE_REPORT_TOGETHER_H
#define REUSE_REPORT_TOGETHER_H

#include <stddef.h>

#include "profile/reader.h"

/* For profile_free(). NULL on failure, with a line for the user in message. The merge is written to
 * a file below TMPDIR or /tmp, which is gone afterwards. One name: that profile as it is. */
struct profile *load_together(const char *const *names, size_t count, char *message,
                              size_t message_size);

#endif
