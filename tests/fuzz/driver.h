/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fuzz targets have in common. A target gives the three below; driver.c makes of it
 *
 * - with -DREUSE_LIBFUZZER and clang's -fsanitize=fuzzer, a libFuzzer target;
 * - otherwise a program that speaks TAP: `fuzz_X FILE...` runs these inputs, without arguments
 * random ones of fuzz_make(), FUZZ_COUNT of them (default 20000) or as many as FUZZ_SECONDS allow.
 * The seed is printed, and taken from FUZZ_SEED.
 *
 * Either way the number of inputs and bytes is printed at the end. What breaks a promise of the
 * code under test ends the process with abort().
 */
#ifndef REUSE_FUZZ_DRIVER_H
#define REUSE_FUZZ_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampling/random.h"

enum { FUZZ_INPUT_MAX = 1 << 16 }; /* bytes */

/* What is fuzzed, in words. */
extern const char fuzz_target[];

/* Runs the code on an input of at most FUZZ_INPUT_MAX bytes, none included. */
void fuzz_check(const uint8_t *input, size_t size);

/* A random input that is like enough to a good one to get beyond the first check. Returns its size.
 */
size_t fuzz_make(struct random *, uint8_t *input);

/* Ends the process if a promise is broken. */
void fuzz_require(bool condition);

/* Whether memory that a result points to lies in the input; NULL does. */
bool fuzz_points_inside(const uint8_t *pointer, uint64_t length, const uint8_t *bytes, size_t size);

#endif
