/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the interface that is the same for all instruction sets. Signal-safe. */
#include "isa/interpreter.h"

#include "isa/line_times.h"
#include "isa/state.h"

#include "signal_safe.h"

enum { PAGE = 4096 };

size_t interpreter_memory_size(void)
{
    return (sizeof(struct interpreter) + PAGE - 1) & ~(size_t)(PAGE - 1);
}

struct interpreter *interpreter_create(void *memory, const struct interpreter_options *options)
{
    struct interpreter *it = memory;
    interpreter_set_options(it, options);
    return it;
}

void interpreter_set_options(struct interpreter *it, const struct interpreter_options *options)
{
    it->options = *options;
}

void interpreter_tell(struct interpreter *it, struct pipeline *pipeline,
                      struct provenance *provenance)
{
    it->options.pipeline = pipeline;
    it->options.provenance = provenance;
}

void interpreter_time(struct interpreter *it, struct line_times *times)
{
    it->options.times = times;
}

void interpreter_avoid(struct interpreter *it, uint64_t address)
{
    if (store_buffer_room(&it->store) > 0)
        store_buffer_make(&it->store, address - address % STORE_LINE)->avoided = true;
}

const uint64_t *interpreter_general(const struct interpreter *it)
{
    return it->r;
}

uint64_t interpreter_instructions(const struct interpreter *it)
{
    return it->instructions;
}

uint64_t interpreter_accesses(const struct interpreter *it)
{
    return it->accesses;
}

bool interpreter_peek(struct interpreter *it, uint64_t address, unsigned size, uint64_t *value)
{
    *value = 0;
    return memory_read(it, address, value, size) == MEMORY_KNOWN;
}

bool interpreter_peek_memory(const struct interpreter *it, uint64_t address, unsigned size,
                             uint64_t *value)
{
    *value = 0;
    return memory_read_target(it, address, value, size);
}

bool interpreter_has_written(struct interpreter *it, uint64_t address, uint64_t size)
{
    return store_buffer_touches(&it->store, address, size);
}

const char *interpreter_stop_name(enum interpreter_stop why)
{
    static const char *const names[INTERPRETER_STOP_COUNT] = {
        [INTERPRETER_FULL] = "full",
        [INTERPRETER_BUDGET] = "instruction budget",
        [INTERPRETER_SYSTEM_CALL] = "system call",
        [INTERPRETER_POISONED_BRANCH] = "poisoned branch",
        [INTERPRETER_POISONED_ADDRESS] = "poisoned address",
        [INTERPRETER_UNREADABLE] = "unreadable memory",
        [INTERPRETER_UNKNOWN] = "unknown instruction",
        [INTERPRETER_STORE_BUFFER] = "store buffer full",
    };
    return (unsigned)why < INTERPRETER_STOP_COUNT ? names[why] : "unknown stop";
}

bool memory_read_target(const struct interpreter *it, uint64_t address, void *buffer, size_t size)
{
    if (!it->options.read)
        return guarded_memory_read(address, buffer, size);
    uint8_t *out = buffer;
    while (size > 0) {
        size_t piece = PAGE - address % PAGE;
        if (piece > size)
            piece = size;
        if (piece > 64)
            piece = 64;
        if (!it->options.read(it->options.read_context, address, out, piece))
            return false;
        address += piece;
        out += piece;
        size -= piece;
    }
    return true;
}

/* Brings in the lines of an operand that were to be avoided, under what was written to them. The
 * lines are counted: after the last one of all addresses comes the first. */
static void fetch_avoided(struct interpreter *it, uint64_t address, unsigned size)
{
    unsigned offset = address % STORE_LINE, lines = (offset + size + STORE_LINE - 1) / STORE_LINE;

    for (unsigned k = 0; k < lines; k++) {
        uint64_t at = address - offset + (uint64_t)k * STORE_LINE;
        struct store_line *line = store_buffer_find(&it->store, at);
        uint8_t bytes[STORE_LINE];
        if (!line || !line->avoided)
            continue;
        line->avoided = false;
        if (!it->options.read_avoided(it->options.read_context, at, bytes, STORE_LINE))
            continue;
        for (uint64_t left = ~line->written; left != 0; left &= left - 1) {
            unsigned i = (unsigned)__builtin_ctzll(left);
            line->data[i] = bytes[i];
        }
        line->poisoned &= line->written;
        line->written = ~UINT64_C(0);
    }
}

enum memory_outcome memory_read(struct interpreter *it, uint64_t address, void *buffer,
                                unsigned size)
{
    unsigned offset = address % STORE_LINE;
    bool one_line = offset + size <= STORE_LINE;
    if (one_line && !store_buffer_find(&it->store, address - offset)) {
        if (it->options.times && !it->options.read)
            line_times_load(it->options.times, address);
        return memory_read_target(it, address, buffer, size) ? MEMORY_KNOWN : MEMORY_FAULT;
    }
    if (!store_buffer_covers(&it->store, address, size)) {
        fetch_avoided(it, address, size);
        if (!store_buffer_covers(&it->store, address, size) &&
            !memory_read_target(it, address, buffer, size))
            return MEMORY_FAULT;
    }
    return store_buffer_overlay(&it->store, address, buffer, size) ? MEMORY_POISONED : MEMORY_KNOWN;
}
