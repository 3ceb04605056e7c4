/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REUSE_RUNTIME_PROGRAM_PATH_H
#define REUSE_RUNTIME_PROGRAM_PATH_H

/* The program's file, found out once: it stays the same until exec(2). Without /proc, as it was
 * called. "" if neither is known. First called at start-up; from then on signal-safe. */
const char *program_path(void);

#endif
