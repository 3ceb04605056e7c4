/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decoded blocks, shared by all interpreters of the process.
 *
 * The memory is two halves, called generations. Blocks are appended to the current one and found
 * through its hash table by their start address; nothing in it ever moves or changes, except hints.
 * When it is full, and nobody reads the other one any more, the other one is emptied and becomes
 * current. Lock-free: whoever cannot have what it needs at once goes on without.
 * Async-signal-safe.
 */
#ifndef REUSE_ISA_X86_DECODE_CACHE_H
#define REUSE_ISA_X86_DECODE_CACHE_H

#include "isa/interpreter.h"
#include "isa/x86/micro_op.h"

/* Begins reading; blocks found stay valid until decode_cache_leave(). Returns the generation. */
unsigned decode_cache_enter(void);
void decode_cache_leave(unsigned generation);

/* Block that starts at ip, or NULL. Its code may have changed since. */
struct block *decode_cache_find(unsigned generation, uint64_t ip);

/*
 * Keeps a copy of block, instead of any earlier one for the same address. NULL if there is no
 * room: the caller uses its own block.
 */
struct block *decode_cache_insert(unsigned generation, const struct block *block);

/*
 * Room for executable bytes: the address that they run at; NULL if there is none. Never freed; gone
 * with the generation.
 */
uint8_t *decode_cache_stub_room(unsigned generation, size_t size);

/* Where such bytes are written. */
uint8_t *decode_cache_stub_writable(uint8_t *stub);

#endif
