/* SPDX-License-Identifier: BSD-3-Clause */
/* How to have divisions counted that a profile of the exact engine can only be modelled for. */
#ifndef REUSE_POSTPROC_SECTOR_GROUPS_H
#define REUSE_POSTPROC_SECTOR_GROUPS_H

#include "report/sectors/sector_hints.h"

/*
 * The command that counts the rows which are worth it and were modelled, or which bursts leave
 * open; NULL: there are none, or the profile cannot name their objects. The caller frees it.
 */
char *sector_counting_command(const struct sector_hints *);

#endif
