/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface: setting up, running, looking at the state. Signal-safe. */
#include "isa/interpreter.h"

#include "isa/state.h"
#include "isa/x86_processor.h"
#include "isa/x86_vector.h"
#include "isa/x86_x87.h"

#include "signal_safe.h"

enum { PAGE = 4096, MXCSR_DEFAULT = 0x1f80 };

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

/*
 * The kernel's frame: the 512 bytes of FXSAVE, whose last 48 are for software and hold two magic
 * numbers, the size and the mask of saved components; then the XSAVE header and components at the
 * offsets of CPUID leaf 0xD. (Linux, arch/x86/include/uapi/asm/sigcontext.h.)
 */
static void load_extended(struct interpreter *it, const uint8_t *area)
{
    enum {
        MXCSR = 24,
        XMM = 160,
        SOFTWARE = 464, /* uint32_t magic, uint32_t size, uint64_t components */
        HEADER = 512,   /* uint64_t components not in their initial state */
        MAGIC = 0x46505853,
        COMPONENT_X87 = 1 << 0,
        COMPONENT_SSE = 1 << 1,
        COMPONENT_YMM = 1 << 2,
        COMPONENT_OPMASK = 1 << 5,
        COMPONENT_ZMM_HIGH = 1 << 6,
        COMPONENT_ZMM_16_31 = 1 << 7,
    };
    uint32_t magic;
    uint64_t saved = COMPONENT_SSE, used = COMPONENT_X87 | COMPONENT_SSE;
    memcpy(&magic, area + SOFTWARE, sizeof magic);
    memcpy(&it->mxcsr, area + MXCSR, sizeof it->mxcsr);
    it->mxcsr &= MXCSR_WRITABLE;
    if (magic == MAGIC) {
        memcpy(&saved, area + SOFTWARE + 8, sizeof saved);
        memcpy(&used, area + HEADER, sizeof used);
        saved |= COMPONENT_SSE;
    }
    x87_begin(it, area, !(used & COMPONENT_X87));
    /* A component that is saved but not used is in its initial state: zeros. */
    memset(it->vector, 0, sizeof it->vector);
    memset(it->opmask, 0, sizeof it->opmask);
    const struct x86_processor *processor = &x86_processor;
    for (unsigned i = 0; i < 16; i++) {
        if (used & COMPONENT_SSE)
            memcpy(it->vector[i], area + XMM + 16 * i, 16);
        if (saved & used & COMPONENT_YMM && processor->ymm_high)
            memcpy(it->vector[i] + 16, area + processor->ymm_high + 16 * i, 16);
        if (saved & used & COMPONENT_ZMM_HIGH && processor->zmm_high)
            memcpy(it->vector[i] + 32, area + processor->zmm_high + 32 * i, 32);
        if (saved & used & COMPONENT_ZMM_16_31 && processor->zmm_16_31)
            memcpy(it->vector[16 + i], area + processor->zmm_16_31 + 64 * i, 64);
    }
    if (saved & used & COMPONENT_OPMASK && processor->opmask)
        memcpy(it->opmask, area + processor->opmask, sizeof it->opmask);
}

void interpreter_begin(struct interpreter *it, const struct interpreter_registers *registers,
                       const void *extended)
{
    store_buffer_clear(&it->store);
    memcpy(it->r, registers->general, sizeof registers->general);
    it->r[REGISTER_ZERO] = 0;
    it->r[REGISTER_FS] = registers->fs_base;
    it->r[REGISTER_GS] = registers->gs_base;
    it->ip = registers->ip;
    it->flags.value = registers->flags & FLAGS_ARITHMETIC;
    it->flags.kind = FLAGS_FROM_VALUE;
    it->flags.other = (uint32_t)registers->flags & ~(uint32_t)FLAGS_ARITHMETIC;
    it->instructions = 0;
    it->accesses = 0;
    it->saved.address = 0;
    it->mxcsr_poisoned = false;
    it->poison = 0;
    if (extended) {
        load_extended(it, extended);
    } else {
        x87_begin(it, NULL, false);
        it->mxcsr = MXCSR_DEFAULT;
        it->poison = ~UINT64_C(0) << REGISTER_OPMASK;
    }
}

void interpreter_avoid(struct interpreter *it, uint64_t address)
{
    if (store_buffer_room(&it->store) > 0)
        store_buffer_make(&it->store, address - address % STORE_LINE)->avoided = true;
}

size_t interpreter_run(struct interpreter *it, struct access *out, size_t capacity,
                       uint64_t instruction_budget, enum interpreter_stop *why)
{
    size_t count;
    uint32_t mxcsr = x86_enter_mxcsr(it);
    *why = x86_execute(it, out, capacity, instruction_budget, &count);
    x87_leave(it);
    x86_leave_mxcsr(it, mxcsr);
    return count;
}

void interpreter_get_registers(const struct interpreter *it,
                               struct interpreter_registers *registers)
{
    memcpy(registers->general, it->r, sizeof registers->general);
    registers->ip = it->ip;
    registers->flags = (lazy_flags_value(&it->flags) & FLAGS_ARITHMETIC) | it->flags.other;
    registers->fs_base = it->r[REGISTER_FS];
    registers->gs_base = it->r[REGISTER_GS];
}

const uint64_t *interpreter_general(const struct interpreter *it)
{
    return it->r;
}

uint32_t interpreter_poisoned_registers(const struct interpreter *it)
{
    return (uint32_t)it->poison & 0xffff;
}

uint64_t interpreter_poisoned_flags(const struct interpreter *it)
{
    return it->flags.kind & FLAGS_ARITHMETIC;
}

bool interpreter_get_vector(const struct interpreter *it, unsigned n, uint8_t bytes[64])
{
    memcpy(bytes, it->vector[n], VECTOR_BYTES);
    return !(it->poison >> (REGISTER_VECTOR + n) & 1);
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

/* Brings in the lines of an operand that were to be avoided, under what was written to them. */
static void fetch_avoided(struct interpreter *it, uint64_t address, unsigned size)
{
    for (uint64_t at = address - address % STORE_LINE; at < address + size; at += STORE_LINE) {
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
    if (one_line && !store_buffer_find(&it->store, address - offset))
        return memory_read_target(it, address, buffer, size) ? MEMORY_KNOWN : MEMORY_FAULT;
    if (!store_buffer_covers(&it->store, address, size)) {
        fetch_avoided(it, address, size);
        if (!store_buffer_covers(&it->store, address, size) &&
            !memory_read_target(it, address, buffer, size))
            return MEMORY_FAULT;
    }
    return store_buffer_overlay(&it->store, address, buffer, size) ? MEMORY_POISONED : MEMORY_KNOWN;
}
