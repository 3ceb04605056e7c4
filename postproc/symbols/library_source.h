/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of the language and the compiler: code in them is the caller's affair. */
#ifndef REUSE_POSTPROC_LIBRARY_SOURCE_H
#define REUSE_POSTPROC_LIBRARY_SOURCE_H

#include <stdbool.h>

/* True for files such as .../include/c++/12/bits/stl_vector.h and
 * /rustc/HASH/library/alloc/src/vec/mod.rs; NULL is no file. */
bool is_library_source(const char *file);

/* Whether a program or library is the distribution's, by its path. */
bool is_system_file(const char *path);

#endif
