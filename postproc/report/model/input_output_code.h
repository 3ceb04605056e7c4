/* SPDX-License-Identifier: BSD-3-Clause */
/* Which functions ask the kernel to read or write, recognised by module and name. */
#ifndef REUSE_POSTPROC_INPUT_OUTPUT_CODE_H
#define REUSE_POSTPROC_INPUT_OUTPUT_CODE_H

#include <stdbool.h>

#include "report/model/model.h"

/* read(2), write(2) and their kin of the C library: what the kernel counts as such calls. The frame
 * has a function. */
bool input_output_code_is(const struct code_line *frame);

#endif
