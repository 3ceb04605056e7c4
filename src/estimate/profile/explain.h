/* SPDX-License-Identifier: BSD-3-Clause */
/* One line for the user in the caller's buffer. */
#ifndef REUSE_PROFILE_EXPLAIN_H
#define REUSE_PROFILE_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

/* Formats as snprintf does, cutting what does not fit. Returns false, for `return
 * profile_explain(...)`. */
__attribute__((format(printf, 3, 4))) bool profile_explain(char *message, size_t size,
                                                           const char *format, ...);

#endif
