/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the wrappers of this library find the functions that they stand in front of.
 */
#ifndef REUSE_RUNTIME_INTERPOSE_H
#define REUSE_RUNTIME_INTERPOSE_H

#include <stdbool.h>
#include <stddef.h>

/* Marks a function that takes the place of the C library's; nothing else is exported. */
#define INTERPOSED __attribute__((visibility("default")))

/*
 * The next definition of `name` after this library (the C library's, or that of another preloaded
 * one); NULL when there is none. Not signal-safe but for what interpose_prepare() has found: the
 * loader's lock is taken. May be called from the allocation wrappers: what
 * the loader allocates meanwhile comes from the start-up arena.
 */
void *interpose_real(const char *name);

/* The definition that the program itself is bound to: ours, or that of a library before us. */
void *interpose_first(const char *name);

/* Once at start-up: finds what the target may call first in a handler. */
void interpose_prepare(void);

/*
 * Between the two, what the loader allocates for the calling thread comes from the arena as well: a
 * leak checker would take it for the target's.
 */
void interpose_loading_begin(void);
void interpose_loading_end(void);

/* In real_allocator.c: the wrappers look the real functions up again, or use the arena. */
void interpose_allocation_forget_real(void);

/* True while the calling thread is inside interpose_real(). */
bool interpose_is_resolving(void);

/*
 * The start-up arena: serves allocations made while the real allocator is being looked up. Blocks
 * are zeroed, aligned to `alignment` (a power of two, at least 16), and never reused. NULL when it
 * is full.
 */
void *interpose_arena_allocate(size_t alignment, size_t size);

/* Whether the pointer lies in the arena, and how many bytes from it to the end of the used part. */
bool interpose_arena_contains(const void *pointer);
size_t interpose_arena_rest(const void *pointer);

#endif
