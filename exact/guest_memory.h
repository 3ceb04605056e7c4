/* SPDX-License-Identifier: BSD-3-Clause */
/* The guest's address space, seen from inside QEMU: host address = guest address + guest_base. */
#ifndef REUSE_EXACT_GUEST_MEMORY_H
#define REUSE_EXACT_GUEST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What QEMU adds to guest addresses. Valid once the guest's program is loaded. */
uint64_t guest_memory_base(void);

/* Copies guest memory. False when it cannot be read. */
bool guest_memory_read(uint64_t address, void *into, size_t size);

/* Copies text up to its NUL, cut to size - 1 bytes. False when its start cannot be read. */
bool guest_memory_text(uint64_t address, char *text, size_t size);

/* The mapping that contains a guest address, as guest addresses; false if there is none. */
bool guest_memory_mapping(uint64_t address, uint64_t *low, uint64_t *high);

#endif
