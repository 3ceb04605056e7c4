/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings and conclusions, for people and as JSON. */
#ifndef REUSE_DOCTOR_OUTPUT_H
#define REUSE_DOCTOR_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "doctor/finding.h"

/* Whether an engine can be used here, as concluded from the findings. */
struct verdict {
    const char *engine;
    enum finding_state state; /* WORKS, LIMITED or MISSING */
    const char *reason;
};

/* `count` findings from the first id on are shown: FINDING_COUNT, or without the program's. */
void output_text(FILE *, const struct finding *, int count, const struct verdict *, int verdicts);

/* One object: schema "reuse-doctor/1", findings, engines. Returns false when it cannot be written.
 */
bool output_json(FILE *, const struct finding *, int count, const struct verdict *, int verdicts);

#endif
