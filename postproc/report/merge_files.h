/* SPDX-License-Identifier: BSD-3-Clause */
/* reuse-report --merge: many files, of which some may be bad, to one profile. */
#ifndef REUSE_REPORT_MERGE_FILES_H
#define REUSE_REPORT_MERGE_FILES_H

#include <stddef.h>

/*
 * Writes what the files say as one profile. A file that cannot be read, or that holds nothing, is
 * left out; of one that is cut short or damaged, what is whole is merged. Each of them gets one
 * line on stderr. If the rest is merged, the output is written all the same.
 *
 * Returns the exit status: 0 if every file is merged whole, else 1. No output is written, and an
 * old one stays, if no file could be merged, if files disagree on engine or line size (neither of
 * them is the bad one), and if the output cannot be written.
 */
int merge_files(const char *const *names, size_t count, const char *output);

/*
 * Of files that are to be reported on together: those that can be read and hold a run, in their
 * order, to kept[count]. Each other one gets a line on stderr. Returns how many are kept.
 */
size_t usable_files(const char *const *names, size_t count, const char **kept);

#endif
