/* SPDX-License-Identifier: BSD-3-Clause */
/* --try: has libreuse-try.so align heap blocks, or ask for huge pages for them. */
#ifndef REUSE_LAUNCHER_REMEDY_H
#define REUSE_LAUNCHER_REMEDY_H

#include "launcher/environment.h"
#include "launcher/target.h"
#include "options.h"

/* Whether --try can be done to this program in this kind of run. Returns -1 to go on, or the status
 * to exit with, after a line on stderr: a run with nothing changed would be timed for nothing. */
int remedy_check(const struct options *, const struct target *);

/* Puts the library at the head of LD_PRELOAD: before libreuse.so, which is there already. Returns
 * as remedy_check(). */
int remedy_prepare(const struct options *, struct environment *);

#endif
