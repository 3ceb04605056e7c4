/* SPDX-License-Identifier: BSD-3-Clause */
/* Code that allocates and frees blocks, recognised by module, file and function. */
#ifndef REUSE_POSTPROC_ALLOCATOR_CODE_H
#define REUSE_POSTPROC_ALLOCATOR_CODE_H

#include <stdbool.h>

#include "report/model/model.h"

/* An allocator, and what only allocators call; a program's own free_nodes() is none. */
bool allocator_code_is(const struct code_line *frame);

/* With which containers move to a larger block: libstdc++, libc++, Rust's. */
bool allocator_code_grows(const struct code_line *frame);

#endif
