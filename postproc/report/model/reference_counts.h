/* SPDX-License-Identifier: BSD-3-Clause */
/* Code that counts the owners of an object: threads that copy one such pointer write to one word.
 */
#ifndef REUSE_POSTPROC_REFERENCE_COUNTS_H
#define REUSE_POSTPROC_REFERENCE_COUNTS_H

#include "report/model/model.h"

/* Whether a frame is a function that counts references: of std::shared_ptr in the two common C++
 * libraries, of Rust's Arc, of GObject and CPython. Known by name. */
bool is_reference_count(const struct calling_context *);

#endif
