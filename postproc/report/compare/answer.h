/* SPDX-License-Identifier: BSD-3-Clause */
/* What changed, in a sentence or two that stand before the tables. */
#ifndef REUSE_POSTPROC_REPORT_COMPARE_ANSWER_H
#define REUSE_POSTPROC_REPORT_COMPARE_ANSWER_H

#include "report/compare/change.h"

/* Zeroed: nothing is known yet. */
struct answer {
    char *changed, *unchanged, *unknown;
};

/* what: "CPU time"; amount: "-87 % (-97 to -64)". What was measured in one run on a side has
 * changed if the interval that the other side gives shows it. */
void answer_add(struct answer *, const char *what, const struct change *, const char *amount);

/* "Changed: CPU time -87 % (-97 to -64). No difference that these runs can show: L2 misses. Not
 * known: L3 misses." The caller frees it; the answer is empty then. */
char *answer_text(struct answer *);

#endif
