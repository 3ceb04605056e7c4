/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --metrics: a file of figures of the run that others read while it goes on.
 *
 * The library in the program knows no estimator. So a process beside it, no child of the program's,
 * has reuse-report read the profile at each interval and once more at the end.
 */
#ifndef REUSE_LAUNCHER_METRICS_H
#define REUSE_LAUNCHER_METRICS_H

#include "launcher/environment.h"
#include "launcher/target.h"
#include "options.h"

/*
 * Before this process becomes the program: has the library write a snapshot at each interval,
 * unless the user has said when, and starts the process beside. Does nothing without the option.
 * Returns -1 to go on, or the status to exit with, after one line to the user.
 */
int metrics_prepare(const struct options *, const struct target *, struct environment *);

#endif
