/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes in which a simulated PMU hands its records over: those of Intel's PEBS, AMD's IBS or
 * Arm's SPE, read again by the decoders of src/observe/pmu that read the real ones.
 */
#ifndef REUSE_EXACT_SIMULATE_LAYOUT_H
#define REUSE_EXACT_SIMULATE_LAYOUT_H

#include <stdbool.h>

#include "access.h"
#include "options.h"

/*
 * Writes a record of the access and reads it. What the layout does not tell, such as the width in
 * PEBS and SPE, is what the instruction's decoding would: taken from the access itself. False if
 * the record could not be read as a memory access.
 */
bool layout_pass(enum simulated_layout, const struct access *made, uint64_t time_ns,
                 struct access *told);

#endif
