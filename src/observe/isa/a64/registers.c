/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of an A64 program: taken over, run, and shown. Signal-safe. */
#include "isa/interpreter.h"

#include "isa/a64/execute.h"

#include "signal_safe.h"

enum {
    ALL_PREDICATES = (1 << (PREDICATES + 1)) - 1,
    LARGEST_SCALABLE = 256, /* bytes of the longest vector registers there can be */
};

static const uint64_t all_vectors = ~UINT64_C(0) << 32;

static uint32_t word_at(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static void load_vectors(struct interpreter *it, const uint8_t *record)
{
    enum { FPCR = 12, REGISTERS = 16 };
    it->fpcr = word_at(record + FPCR);
    it->fpcr_unknown = false;
    it->poison &= ~all_vectors;
    for (unsigned i = 0; i < 32; i++)
        memcpy(it->vector[i], record + REGISTERS + 16 * i, 16);
}

/* Without the registers the program has not used them yet: all zero but for the vectors above. */
static void load_scalable(struct interpreter *it, const uint8_t *record, uint32_t size)
{
    enum { LENGTH = 8, FLAGS = 10, REGISTERS = 16, STREAMING = 1 };
    uint16_t length, flags;
    memcpy(&length, record + LENGTH, sizeof length);
    memcpy(&flags, record + FLAGS, sizeof flags);
    if (length == 0 || length > VECTOR_BYTES || length % 16 != 0 || flags & STREAMING)
        return;
    it->vector_length = length;
    it->predicate_poison = 0;
    memset(it->predicate, 0, sizeof it->predicate);
    const uint8_t *registers = record + REGISTERS, *predicates = registers + 32u * length;
    if (size < REGISTERS + 32u * length + (PREDICATES + 1) * (length / 8u))
        return;
    for (unsigned i = 0; i < 32; i++)
        memcpy(it->vector[i] + 16, registers + i * length + 16, length - 16u);
    for (unsigned i = 0; i <= PREDICATES; i++)
        memcpy(&it->predicate[i], predicates + i * (length / 8u), length / 8u);
}

/*
 * The kernel's frame: records of a magic number, a size and contents, up to one that is zero. They
 * go on in one other place at most. (Linux, arch/arm64/include/uapi/asm/sigcontext.h.)
 */
static void load_extended(struct interpreter *it, const uint8_t *area)
{
    enum {
        AREA = 4096,
        HEADER = 8,
        VECTORS_MAGIC = 0x46508001,
        VECTORS_SIZE = 528,
        SCALABLE_MAGIC = 0x53564501,
        EXTRA_MAGIC = 0x45585401, /* the records go on elsewhere */
        EXTRA_SIZE = 32,
    };
    const uint8_t *end = area + AREA, *record = area;
    bool elsewhere = false;
    const uint32_t largest = AREA + 34 * LARGEST_SCALABLE;
    while ((size_t)(end - record) >= HEADER) {
        uint32_t magic = word_at(record), size = word_at(record + 4);
        if (magic == 0 || size < HEADER || size > (size_t)(end - record))
            break;
        if (magic == VECTORS_MAGIC && size >= VECTORS_SIZE) {
            load_vectors(it, record);
        } else if (magic == SCALABLE_MAGIC && size >= 2 * HEADER) {
            load_scalable(it, record, size);
        } else if (magic == EXTRA_MAGIC && size >= EXTRA_SIZE) {
            uint64_t address;
            if (elsewhere)
                break;
            elsewhere = true;
            uint32_t extent = word_at(record + 2 * HEADER);
            memcpy(&address, record + HEADER, sizeof address);
            record = (const uint8_t *)(uintptr_t)address;
            end = record + (extent < largest ? extent : largest);
            continue;
        }
        record += size;
    }
}

void interpreter_begin(struct interpreter *it, const struct interpreter_registers *registers,
                       const void *extended)
{
    store_buffer_clear(&it->store);
    memcpy(it->r, registers->general, sizeof registers->general);
    it->r[REGISTER_ZERO] = 0;
    it->ip = registers->ip;
    it->flags.nzcv = (uint32_t)(registers->flags >> NZCV_SHIFT) & 15;
    it->flags.unknown = it->flags.from_result = false;
    it->thread_pointer = registers->thread_pointer;
    it->instructions = 0;
    it->accesses = 0;
    it->monitor.width = 0;
    it->poison = all_vectors;
    it->fpcr_unknown = true;
    it->vector_length = 0;
    it->predicate_poison = ALL_PREDICATES;
    memset(it->vector, 0, sizeof it->vector);
    if (extended)
        load_extended(it, extended);
}

size_t interpreter_run(struct interpreter *it, struct access *out, size_t capacity,
                       uint64_t instruction_budget, enum interpreter_stop *why)
{
    size_t count;
    *why = a64_execute(it, out, capacity, instruction_budget, &count);
    return count;
}

void interpreter_get_registers(const struct interpreter *it,
                               struct interpreter_registers *registers)
{
    memcpy(registers->general, it->r, sizeof registers->general);
    registers->ip = it->ip;
    registers->flags = (uint64_t)it->flags.nzcv << NZCV_SHIFT;
    registers->thread_pointer = it->thread_pointer;
}

uint32_t interpreter_poisoned_registers(const struct interpreter *it)
{
    return (uint32_t)it->poison;
}

uint64_t interpreter_poisoned_flags(const struct interpreter *it)
{
    return it->flags.unknown ? UINT64_C(15) << NZCV_SHIFT : 0;
}

bool interpreter_get_vector(const struct interpreter *it, unsigned n, uint8_t bytes[64])
{
    memcpy(bytes, it->vector[n], VECTOR_BYTES);
    return !(it->poison & vector_bit(n));
}

/* Decoded words are kept by each interpreter, and nothing is run on the processor itself. */

void decode_cache_create(void *memory, size_t size, void *executable, size_t executable_size,
                         ptrdiff_t to_writable)
{
    (void)memory;
    (void)size;
    (void)executable;
    (void)executable_size;
    (void)to_writable;
}

void *decode_cache_ahead(size_t wanted, size_t *size)
{
    (void)wanted;
    *size = 0;
    return NULL;
}

void decode_cache_after_fork(void) {}

void decode_cache_lost_stubs(bool renewed)
{
    (void)renewed;
}

void interpreter_processor(void (*piece)(void *bytes, size_t size))
{
    (void)piece;
}

void decode_cache_statistics(struct decode_cache_statistics *statistics)
{
    memset(statistics, 0, sizeof *statistics);
}
