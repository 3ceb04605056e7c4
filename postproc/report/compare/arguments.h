/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of the profiles that --diff was given are those before and those after. */
#ifndef REUSE_POSTPROC_REPORT_COMPARE_ARGUMENTS_H
#define REUSE_POSTPROC_REPORT_COMPARE_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Two names, or any number on each side of a ':' of its own, which is taken out. *before: how many
 * come before. False: one side is empty, or there is no telling where it ends.
 */
bool arguments_split_sides(const char **names, size_t *count, size_t *before);

#endif
