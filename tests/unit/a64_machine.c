/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit/a64_machine.h"

#include <string.h>
#include <sys/mman.h>

enum {
    VECTORS_MAGIC = 0x46508001,
    VECTORS_SIZE = 528,
    SCALABLE_MAGIC = 0x53564501,
    SCALABLE_SIZE =
        (16 + 32 * A64_VECTOR_LENGTH + A64_PREDICATES * A64_VECTOR_LENGTH / 8 + 15) & ~15,
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

static unsigned below(uint64_t *state, unsigned limit)
{
    return (unsigned)(next_random(state) >> 33) % limit;
}

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static bool map_regions(void)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    return mmap(pointer(A64_SANDBOX), A64_SANDBOX_SIZE, PROT_READ | PROT_WRITE, flags, -1, 0) ==
               pointer(A64_SANDBOX) &&
           mmap(pointer(A64_CODE), A64_CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, flags, -1,
                0) == pointer(A64_CODE);
}

uint8_t a64_machine_original(unsigned offset)
{
    return (uint8_t)((offset * UINT32_C(0x9E3779B1)) >> 22);
}

void a64_machine_reset(uint32_t word)
{
    uint8_t *sandbox = pointer(A64_SANDBOX);
    const uint32_t brk = (uint32_t)A64_BRK;
    for (unsigned i = 0; i < A64_SANDBOX_SIZE; i++)
        sandbox[i] = a64_machine_original(i);
    for (unsigned at = 0; at < A64_CODE_SIZE; at += 4)
        memcpy(pointer(A64_CODE + at), &brk, sizeof brk);
    memcpy(pointer(A64_INSTRUCTION), &word, sizeof word);
}

static uint64_t random_general(uint64_t *state)
{
    uint64_t value;

    switch (below(state, 8)) {
    case 0:
    case 1:
    case 2:
        return A64_SANDBOX + A64_SANDBOX_SIZE / 2 + below(state, 16) * 16;
    case 3:
        return A64_SANDBOX + A64_SANDBOX_SIZE / 2 + below(state, 256);
    case 4:
        return A64_CODE + below(state, A64_CODE_SIZE / 4) * 4;
    case 5:
        return below(state, 256);
    default:
        value = next_random(state);
        return value >> below(state, 64);
    }
}

/* Elements that are small, equal, floating-point numbers, strings or random. */
static void random_vector(uint64_t *state, uint8_t *vector)
{
    unsigned kind = below(state, 6);
    for (unsigned at = 0; at < A64_VECTOR_LENGTH; at += 4) {
        uint32_t word = (uint32_t)next_random(state);
        float small = (float)below(state, 2000) - 1000;
        double wide = (double)below(state, 2000) / 16 - 50;
        if (kind == 1)
            word = below(state, 4) ? below(state, 512) : 0;
        else if (kind == 2)
            memcpy(&word, &small, 4);
        else if (kind == 3)
            memcpy(&word, (const uint8_t *)&wide + at % 8, 4);
        else if (kind == 4)
            word = below(state, 2) ? UINT32_MAX : 0;
        else if (kind == 5)
            word &= 0x03020103;
        memcpy(vector + at, &word, 4);
    }
}

void a64_machine_random(struct a64_machine *machine, uint32_t seed)
{
    uint64_t state = seed;
    memset(machine, 0, sizeof *machine);
    for (unsigned i = 0; i < INTERPRETER_REGISTERS; i++)
        machine->registers.general[i] = random_general(&state);
    machine->registers.general[INTERPRETER_STACK_POINTER] =
        A64_SANDBOX + A64_SANDBOX_SIZE / 2 + below(&state, 16) * 16;
    machine->registers.ip = A64_INSTRUCTION;
    machine->registers.flags = (uint64_t)below(&state, 16) << 28;
    for (unsigned i = 0; i < 32; i++) {
        random_vector(&state, machine->vector[i]);
        if (!(seed & 1))
            memset(machine->vector[i] + 16, 0, A64_VECTOR_LENGTH - 16);
    }
    for (unsigned i = 0; i < A64_PREDICATES; i++) {
        uint64_t bits = next_random(&state);
        unsigned kind = below(&state, 4);
        machine->predicate[i] = kind == 0   ? ~UINT64_C(0)
                                : kind == 1 ? bits & 0x1111111111111111
                                : kind == 2 ? (UINT64_C(1) << below(&state, 64)) - 1
                                            : bits;
    }
}

static void put_word(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

void a64_machine_to_frame(const struct a64_machine *machine, uint8_t frame[A64_EXTENDED_SIZE])
{
    uint8_t *scalable = frame + VECTORS_SIZE, *predicates;
    memset(frame, 0, A64_EXTENDED_SIZE);
    put_word(frame, VECTORS_MAGIC);
    put_word(frame + 4, VECTORS_SIZE);
    put_word(scalable, SCALABLE_MAGIC);
    put_word(scalable + 4, SCALABLE_SIZE);
    put_word(scalable + 8, A64_VECTOR_LENGTH);
    predicates = scalable + 16 + 32 * A64_VECTOR_LENGTH;
    for (unsigned i = 0; i < 32; i++) {
        memcpy(frame + 16 + 16 * i, machine->vector[i], 16);
        memcpy(scalable + 16 + A64_VECTOR_LENGTH * i, machine->vector[i], A64_VECTOR_LENGTH);
    }
    memcpy(predicates, machine->predicate, sizeof machine->predicate);
}

void a64_machine_from_frame(struct a64_machine *machine, const uint8_t *frame)
{
    const uint8_t *end = frame + A64_EXTENDED_SIZE;
    uint32_t head[2];
    for (; frame < end; frame += head[1]) {
        memcpy(head, frame, sizeof head);
        if (head[0] == 0 || head[1] == 0)
            return;
        for (unsigned i = 0; head[0] == VECTORS_MAGIC && i < 32; i++)
            memcpy(machine->vector[i], frame + 16 + 16 * i, 16);
        if (head[0] == SCALABLE_MAGIC && head[1] >= SCALABLE_SIZE) {
            memcpy(machine->vector, frame + 16, sizeof machine->vector);
            memcpy(machine->predicate, frame + 16 + sizeof machine->vector,
                   sizeof machine->predicate);
        }
    }
}

static bool within(uint64_t address, size_t size, uint64_t start, size_t extent)
{
    return address >= start && address + size <= start + extent;
}

bool a64_machine_contains(uint64_t address, unsigned width)
{
    return within(address, width, A64_SANDBOX, A64_SANDBOX_SIZE);
}

bool a64_machine_read(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    if (!a64_machine_contains(address, (unsigned)size) &&
        !within(address, size, A64_CODE, A64_CODE_SIZE))
        return false;
    memcpy(buffer, pointer(address), size);
    return true;
}

uint16_t a64_digest(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 16777619u;
    return (uint16_t)(hash ^ hash >> 16);
}

struct interpreter *a64_machine_create(void)
{
    const struct interpreter_options options = {.read = a64_machine_read};
    void *memory = mmap(NULL, interpreter_memory_size(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory != MAP_FAILED && map_regions() ? interpreter_create(memory, &options) : NULL;
}
