/* SPDX-License-Identifier: BSD-3-Clause */
/* The help screen of reuse-run, made from the table of options so that the two cannot differ. */
#ifndef REUSE_LAUNCHER_USAGE_H
#define REUSE_LAUNCHER_USAGE_H

#include <stdio.h>

/* At most 24 lines of 80 columns. */
void usage_print(FILE *);

#endif
