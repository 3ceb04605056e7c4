/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that contradict each other, or the engine that was chosen. */
#ifndef REUSE_LAUNCHER_OPTION_CONFLICTS_H
#define REUSE_LAUNCHER_OPTION_CONFLICTS_H

#include "launcher/environment.h"
#include "options.h"

/*
 * options: what the environment says. NULL, or why they cannot be meant together: one line, static.
 */
const char *option_contradiction(const struct options *);

/* Says on stderr, a line each, which of the options that are set the engine leaves unused. The
 * engine `auto` may become any that samples the running program. */
void option_warn_unused(const struct options *, const struct environment *);

#endif
