/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC-32C (Castagnoli polynomial 0x1EDC6F41, reflected, initial value and final inversion of all
 * ones: RFC 3720, appendix B.4), the checksum of records. Signal-safe, thread-safe.
 */
#ifndef REUSE_PROFILE_CHECKSUM_H
#define REUSE_PROFILE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/*
 * Continues the checksum of what came before (0 at the start) over size more bytes. Takes the
 * processor's instruction where there is one, else a table; both give the same result.
 */
uint32_t checksum_crc32c(uint32_t checksum, const void *data, size_t size);

/* The table's way, for processors without the instruction and for tests. */
uint32_t checksum_crc32c_portable(uint32_t checksum, const void *data, size_t size);

#endif
