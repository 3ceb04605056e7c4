/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface where no interpreter exists: every run stops at once. Signal-safe. */
#include "isa/guarded_memory.h"
#include "isa/interpreter.h"
#include "isa/trapped_access.h"

#include <string.h>

#include "signal_safe.h"

struct interpreter {
    struct interpreter_registers registers;
};

size_t interpreter_memory_size(void)
{
    return 4096;
}

struct interpreter *interpreter_create(void *memory, const struct interpreter_options *options)
{
    (void)options;
    return memory;
}

void interpreter_avoid(struct interpreter *it, uint64_t address)
{
    (void)it;
    (void)address;
}

void interpreter_set_options(struct interpreter *it, const struct interpreter_options *options)
{
    (void)it;
    (void)options;
}

void interpreter_begin(struct interpreter *it, const struct interpreter_registers *registers,
                       const void *extended)
{
    (void)extended;
    it->registers = *registers;
}

size_t interpreter_run(struct interpreter *it, struct access *out, size_t capacity,
                       uint64_t instruction_budget, enum interpreter_stop *why)
{
    (void)it;
    (void)out;
    (void)capacity;
    (void)instruction_budget;
    *why = INTERPRETER_UNKNOWN;
    return 0;
}

void interpreter_get_registers(const struct interpreter *it,
                               struct interpreter_registers *registers)
{
    *registers = it->registers;
}

const uint64_t *interpreter_general(const struct interpreter *it)
{
    return it->registers.general;
}

uint32_t interpreter_poisoned_registers(const struct interpreter *it)
{
    (void)it;
    return 0xffff;
}

uint64_t interpreter_poisoned_flags(const struct interpreter *it)
{
    (void)it;
    return UINT64_MAX;
}

bool interpreter_get_vector(const struct interpreter *it, unsigned n, uint8_t bytes[64])
{
    (void)it;
    (void)n;
    memset(bytes, 0, 64);
    return false;
}

uint64_t interpreter_instructions(const struct interpreter *it)
{
    (void)it;
    return 0;
}

uint64_t interpreter_accesses(const struct interpreter *it)
{
    (void)it;
    return 0;
}

bool interpreter_peek(struct interpreter *it, uint64_t address, unsigned size, uint64_t *value)
{
    (void)it;
    (void)address;
    (void)size;
    *value = 0;
    return false;
}

int instruction_accesses(const void *code, size_t size,
                         const struct interpreter_registers *registers, struct access *out,
                         size_t capacity, unsigned *length)
{
    (void)code;
    (void)size;
    (void)registers;
    (void)out;
    (void)capacity;
    *length = 0;
    return -1;
}

void decode_cache_create(void *memory, size_t size, void *executable, size_t executable_size)
{
    (void)memory;
    (void)size;
    (void)executable;
    (void)executable_size;
}

void decode_cache_after_fork(void) {}

void decode_cache_statistics(struct decode_cache_statistics *statistics)
{
    memset(statistics, 0, sizeof *statistics);
}

uint64_t guarded_memory_recover(uint64_t ip)
{
    (void)ip;
    return 0;
}

bool guarded_memory_read(uint64_t address, void *buffer, size_t size)
{
    (void)address;
    (void)buffer;
    (void)size;
    return false;
}

bool trapped_access_find(const void *code, size_t size, const struct interpreter_registers *after,
                         uint64_t word, uint32_t word_size, struct trapped_access *out)
{
    (void)code;
    (void)size;
    (void)after;
    (void)word;
    (void)word_size;
    (void)out;
    return false;
}

void interpreter_processor(void (*piece)(void *bytes, size_t size))
{
    (void)piece;
}
