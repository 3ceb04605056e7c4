/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that processes of an exact run have in common: reuse-run makes it, plugins map it. */
#ifndef REUSE_EXACT_MEMORY_H
#define REUSE_EXACT_MEMORY_H

#include <stdint.h>

#define EXACT_MEMORY_NAME "libreuse-exact"
/* What /proc/PID/fd has of it. */
#define EXACT_MEMORY_PATH "/memfd:" EXACT_MEMORY_NAME
/* Sparse. At least exact_processes_bytes(). */
#define EXACT_MEMORY_BYTES (UINT64_C(64) << 20)

/* Out of the way of descriptors that programs count on. */
enum { EXACT_MEMORY_DESCRIPTOR = 700 };

#endif
