/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of the CPU time by source line: where threads were when their bursts began. */
#ifndef REUSE_POSTPROC_CODE_TIME_H
#define REUSE_POSTPROC_CODE_TIME_H

#include "report/model/model.h"

/*
 * One per line of the model, which is labelled if needed; lines without an access at that moment
 * are 0 with what they may still be. The caller frees it. NULL of exact profiles, and where a part
 * of the run alone was asked for, whose bursts are not those of the whole time.
 */
struct estimate *code_time_of_lines(struct model *);

#endif
