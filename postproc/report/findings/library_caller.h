/* SPDX-License-Identifier: BSD-3-Clause */
/* Code of libraries that came with the system, and who in the program calls it: its functions are
 * no news to a reader, who cannot change them. */
#ifndef REUSE_POSTPROC_LIBRARY_CALLER_H
#define REUSE_POSTPROC_LIBRARY_CALLER_H

#include "report/model/model.h"

/* Whether the module (NULL: unknown) is a shared library that came with the system. */
bool is_system_library(struct model *, const char *module);

/* The innermost frame of the program's own; context->count: there is none. */
size_t innermost_own_frame(struct model *, const struct calling_context *);

/* The line of the program that most of these accesses are made under; function NULL: their code is
 * not a system library's, or nobody's own is known to call it. The accesses are listed. */
struct code_line library_caller_of(struct model *, struct subset accesses);

#endif
