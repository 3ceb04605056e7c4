/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which data object an address belongs to, by small numbers: globals by symbol, stacks by thread,
 * heap blocks and mappings by allocation site, everything else by kind of memory.
 */
#ifndef REUSE_EXACT_OBJECTS_H
#define REUSE_EXACT_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/format.h"

enum { OBJECT_NUMBER_UNKNOWN = 0 };

struct object_identity {
    uint32_t kind;      /* enum object_kind */
    uint32_t reference; /* as the kind says */
    uint64_t symbol;    /* run-time address of a global, else 0 */
};

/* Addresses [low, low + size) around one that was asked for, all of the same object. */
struct object_range {
    uint64_t low, size;
    bool lasting; /* valid until objects_epoch() changes; else only until heap_version() does */
};

/* Number of the object at address. Any thread. */
uint32_t object_at(uint64_t address, struct object_range *);

struct object_identity object_identity(uint32_t number);

/* Grows when ranges given out earlier may no longer hold (a block was freed, a library unloaded).
 */
extern uint32_t objects_epoch_value;
static inline uint32_t objects_epoch(void)
{
    return __atomic_load_n(&objects_epoch_value, __ATOMIC_ACQUIRE);
}

void objects_new_epoch(void);

/* [low, high) became a thread's stack. */
void objects_add_stack(uint32_t thread_id, uint64_t low, uint64_t high);
void objects_remove_stack(uint32_t thread_id);

/* [low, high) became part of a module (its loaded extent), or no longer is. */
void objects_add_module(uint32_t module_id, const char *path, uint64_t low, uint64_t high,
                        uint64_t load_bias);
void objects_remove_module(uint32_t module_id);

void objects_after_fork(void);

#endif
