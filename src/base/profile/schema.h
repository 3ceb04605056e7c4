/* SPDX-License-Identifier: BSD-3-Clause */
/* The payload of RECORD_SCHEMA: what a reader that knows nothing of format.h needs. */
#ifndef REUSE_PROFILE_SCHEMA_H
#define REUSE_PROFILE_SCHEMA_H

#include <stddef.h>

/* NUL-terminated, constant. One item per line; docs/profile-format.md has its grammar. */
extern const char profile_schema[];

/* Bytes of profile_schema with the NUL. */
extern const size_t profile_schema_size;

#endif
