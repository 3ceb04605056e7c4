/* SPDX-License-Identifier: BSD-3-Clause */
/* What a profile says of the run as a whole: its name, RECORD_RUN and the machine's caches. */
#ifndef REUSE_EXACT_OUTPUT_RUN_H
#define REUSE_EXACT_OUTPUT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "profile/writer.h"

/* Path of the profile, absolute; false with one line in reason. */
bool output_run_path(const struct options *, char *path, size_t size, char *reason,
                     size_t reason_size);

/* Appends RECORD_RUN and RECORD_CACHE records. program_index: where the program's path stands in
 * QEMU's command line, 0 when unknown. */
void output_run_write(struct profile_writer *, const struct options *, unsigned program_index,
                      const char *qemu_version, uint64_t start_monotonic_ns);

/* Path of the guest's program. Set before either of the above. */
void output_run_set_program(const char *path);

#endif
