/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the runtime's own, straight from the kernel: never the target's heap. Signal-safe. */
#ifndef REUSE_RUNTIME_MEMORY_H
#define REUSE_RUNTIME_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Once, before the first static table is touched: they are to have small pages (own_place.h). */
void memory_begin_static(void);

/* Once, before the functions that follow: what it reserves is taken first. */
void memory_begin(void);

/* Zeroed, page-aligned, resident only where touched; NULL when the kernel refuses. Keeps errno. */
void *memory_map(size_t bytes);
void memory_unmap(void *memory, size_t bytes);

/* Room for a stack of so many bytes (whole pages), with a page below that cannot be touched. */
void *memory_map_stack(size_t bytes);

/* A child of a fork finds zeros in that memory, whole pages of memory_map(), instead of a copy: no
 * page of it costs the fork anything. False: the kernel refuses. Keeps errno. */
bool memory_keep_from_children(void *memory, size_t bytes);

/* Whole pages become resident, unchanged, for less than their faults would cost one by one. Keeps
 * errno. */
void memory_populate(void *memory, size_t bytes);

/* Sets large memory of ours, static or mapped, to zero; what was not touched stays untouched. */
void memory_clear(void *, size_t);

/* Why there was none the last time; 0: there always was. */
int memory_error(void);

#endif
