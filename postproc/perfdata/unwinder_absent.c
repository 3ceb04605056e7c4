/* SPDX-License-Identifier: BSD-3-Clause */
/* In the place of unwinder.c where libunwind is not installed. */
#include "perfdata/unwinder.h"

bool unwinder_is_built_in(void)
{
    return false;
}

struct unwinder *unwinder_create(const struct recording *recording, struct loaded_files *files)
{
    (void)recording, (void)files;
    return NULL;
}

void unwinder_free(struct unwinder *unwinder)
{
    (void)unwinder;
}

bool unwinder_knows(const char *machine)
{
    (void)machine;
    return false;
}

size_t unwinder_frames(struct unwinder *unwinder, const struct recorded_sample *sample,
                       uint64_t *addresses, size_t max)
{
    (void)unwinder, (void)sample, (void)addresses, (void)max;
    return 0;
}
