/* SPDX-License-Identifier: BSD-3-Clause */
/* See engine_qemu.h. This build has no engine for QEMU: it says so. */
#include "launcher/engine_qemu.h"

#include <stdio.h>

bool qemu_engines_present(void)
{
    return false;
}

int run_under_qemu(const struct options *options, const struct target *target,
                   char *const *arguments, struct environment *environment)
{
    (void)target;
    (void)arguments;
    (void)environment;
    fprintf(stderr, "reuse-run: the engine %s is not part of this build; use --engine clock\n",
            engine_names[options->engine]);
    return 125;
}
