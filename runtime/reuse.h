/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libreuse: what a program may tell its profiler. Entirely optional.
 *
 * A program that uses it need not be linked with libreuse: declare the functions weak, as this
 * header does, and call them through the macros, which do nothing when no profiler is preloaded.
 * All functions may be called from any thread at any time, but not from signal handlers.
 */
#ifndef REUSE_H
#define REUSE_H

#include <stddef.h>

/* The version that a program was built with, as `reuse-run --version` tells it of a run: 10000
 * major + 100 minor + patch. */
#define REUSE_VERSION "0.2.0"
#define REUSE_VERSION_NUMBER 200

#ifdef __cplusplus
extern "C" {
#endif

/* From here on, this thread's accesses belong to the region called `name` (the text is copied; at
 * most 255 bytes count), until the matching end. Regions nest, up to 32 deep per thread. What the
 * sampled engines look at belongs to the region in which it begins, the up to 4096 accesses that
 * they look ahead included: regions that are not much longer than that are told apart by `exact`
 * only. */
void reuse_region_begin(const char *name) __attribute__((weak));
void reuse_region_end(void) __attribute__((weak));

/* The `size` bytes at `pointer` are one data object called `name` until they are freed, or until
 * the same call with size 0. 0, or -1 when there is no room for more names. */
int reuse_name_object(const void *pointer, size_t size, const char *name) __attribute__((weak));

/* Stops and restarts sampling in all threads. Calls do not nest. */
void reuse_pause(void) __attribute__((weak));
void reuse_resume(void) __attribute__((weak));

#define REUSE_REGION_BEGIN(name) (reuse_region_begin ? reuse_region_begin(name) : (void)0)
#define REUSE_REGION_END() (reuse_region_end ? reuse_region_end() : (void)0)
#define REUSE_NAME_OBJECT(pointer, size, name)                                                     \
    (reuse_name_object ? (void)reuse_name_object(pointer, size, name) : (void)0)
#define REUSE_PAUSE() (reuse_pause ? reuse_pause() : (void)0)
#define REUSE_RESUME() (reuse_resume ? reuse_resume() : (void)0)

#ifdef __cplusplus
}
#endif

#endif
