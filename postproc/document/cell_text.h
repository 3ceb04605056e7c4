/* SPDX-License-Identifier: BSD-3-Clause */
/* A cell as text shows it: the value with its unit and its interval, in the shorter of two forms.
 */
#ifndef REUSE_POSTPROC_CELL_TEXT_H
#define REUSE_POSTPROC_CELL_TEXT_H

#include "document/document.h"

/* 12.3+-0.5, 0 to 3, < 32 KiB, or a dash where there is nothing; a star behind it if the cell is
 * marked. The sign is a single character where the locale is UTF-8. The caller frees it. */
char *cell_string(const struct cell *);

#endif
