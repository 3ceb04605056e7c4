/* SPDX-License-Identifier: BSD-3-Clause */
/* Material for tests and the fuzz driver of the profile reader. */
#ifndef REUSE_TESTS_PROFILE_MUTATOR_H
#define REUSE_TESTS_PROFILE_MUTATOR_H

#include <stddef.h>
#include <stdint.h>

#include "sampling/random.h"

/* Writes a small profile that holds every type of record. */
void write_every_record(const char *path);

/* The bytes of a file; the caller frees them. NULL when it cannot be read. */
unsigned char *read_whole_file(const char *path, size_t *size);

/* A changed copy of a profile, in an allocation of exactly *changed_size bytes (the caller frees
 * it): bytes set, runs copied, removed or repeated, the end cut; in half of them the records'
 * checksums are put right again. */
unsigned char *mutate_profile(struct random *, const unsigned char *data, size_t size,
                              size_t *changed_size);

/* Puts the checksum of every record right, as far as lengths lead from one to the next. */
void repair_checksums(unsigned char *data, size_t size);

/* Parses the bytes and walks through all that a caller may touch; aborts when a guarantee of
 * reader.h does not hold. */
void profile_mutator_check(const unsigned char *data, size_t size);

#endif
