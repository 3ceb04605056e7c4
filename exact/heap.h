/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heap blocks of the guest, told through objects/doorbell.h, and the allocation sites that name
 * them. Any thread.
 */
#ifndef REUSE_EXACT_HEAP_H
#define REUSE_EXACT_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/writer.h"

/* frames: guest address of return addresses, innermost first. */
void heap_allocated(uint64_t address, uint64_t size, uint32_t allocator, uint64_t frames,
                    uint64_t frame_count);
void heap_freed(uint64_t address);

/* Whether blocks are told at all: then unknown memory may become a block at any time. */
bool heap_is_told(void);

/* The block at address: its site and extent. */
bool heap_find(uint64_t address, uint32_t *site, uint64_t *low, uint64_t *size);

/* Blocks of at least so many bytes change objects_epoch() when they come and go; smaller ones do
 * not. */
enum { HEAP_LARGE = 32768 };

/* Appends contexts and sites that have not been written, and the totals of all sites. */
void heap_write(struct profile_writer *, uint64_t now_ns);

/* In a forked child: blocks stay, but everything has to be written again. */
void heap_after_fork(void);

#endif
