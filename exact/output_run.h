/* SPDX-License-Identifier: BSD-3-Clause */
/* What a profile says of the run as a whole: its name, RECORD_RUN and the machine's caches. */
#ifndef REUSE_EXACT_OUTPUT_RUN_H
#define REUSE_EXACT_OUTPUT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/writer.h"
#include "settings.h"

/* Path of the profile, absolute; false with one line in reason. */
bool output_run_path(const struct options *, char *path, size_t size, char *reason,
                     size_t reason_size);

/* Appends RECORD_RUN and RECORD_CACHE records. */
void output_run_write(struct profile_writer *, const struct settings *,
                      uint64_t start_monotonic_ns);

/* Path of the guest's program. Set before either of the above. */
void output_run_set_program(const char *path);
const char *output_run_program(void);

#endif
