/* SPDX-License-Identifier: BSD-3-Clause */
/* --place: has libreuse-place.so bind the program's threads. */
#ifndef REUSE_LAUNCHER_PLACEMENT_H
#define REUSE_LAUNCHER_PLACEMENT_H

#include "launcher/environment.h"
#include "launcher/target.h"
#include "options.h"

/*
 * Checks the mapping file and puts the library into the environment's LD_PRELOAD. Returns -1 to go
 * on, also where the program must run with its threads free, which a line on stderr says; or the
 * status to exit with, after a line on stderr.
 */
int placement_prepare(const struct options *, const struct target *, struct environment *);

#endif
