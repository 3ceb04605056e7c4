/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random bytes as code on random registers: the interpreter must neither crash nor read anything
 * but through its hook (there is no fault handler here: a stray read ends the process), must keep
 * to its limits and must come to an end.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fuzz/driver.h"
#include "isa/interpreter.h"

enum { CODE_BASE = 0x400000, CAPACITY = 256, ROUNDS = 16, SMALL_CACHE = 1 << 17 };

static const uint8_t *code;
static size_t code_size;

/* Code, repeated without end in one region; elsewhere, bytes made from the address; a quarter of
 * all pages is missing. */
static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    uint8_t *out = buffer;
    if (size == 0 || size > 64 || address / 4096 != (address + size - 1) / 4096)
        abort(); /* the contract of the hook */
    for (size_t i = 0; i < size; i++, address++) {
        if (address - CODE_BASE < 1 << 20)
            out[i] = code[(address - CODE_BASE) % code_size];
        else if ((address >> 12) * 0x9E3779B97F4A7C15 >> 62 == 0)
            return false;
        else
            out[i] = (uint8_t)(address * 0x9E3779B97F4A7C15 >> 56);
    }
    return true;
}

static struct interpreter *make_interpreter(void)
{
    const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS, rw = PROT_READ | PROT_WRITE;
    void *memory = mmap(NULL, interpreter_memory_size(), rw, anonymous, -1, 0);
    void *cache = mmap(NULL, SMALL_CACHE, rw, anonymous, -1, 0);
    void *stubs = mmap(NULL, SMALL_CACHE, rw | PROT_EXEC, anonymous, -1, 0);
    if (memory == MAP_FAILED || cache == MAP_FAILED || stubs == MAP_FAILED)
        abort();
    decode_cache_create(cache, SMALL_CACHE, stubs, SMALL_CACHE, 0);
    const struct interpreter_options options = {.read = read_memory};
    return interpreter_create(memory, &options);
}

#ifdef ISA_A64
/* The heads of the two records in a signal frame; what they hold stays as it is. */
static void set_heads(uint8_t *extended)
{
    const uint32_t vectors[2] = {0x46508001, 528}, scalable[3] = {0x53564501, 2208, 64};
    memcpy(extended, vectors, sizeof vectors);
    memcpy(extended + vectors[1], scalable, sizeof scalable);
}
#endif

/* Registers come from the first bytes, code is the rest. */
void fuzz_check(const uint8_t *input, size_t size)
{
    static struct interpreter *interpreter;
    static struct access out[CAPACITY];
    struct interpreter_registers registers;
    uint8_t extended[4096] __attribute__((aligned(64))) = {0};
    if (!interpreter)
        interpreter = make_interpreter();
    if (size < sizeof registers + 2)
        return;
    memcpy(&registers, input, sizeof registers);
    code = input + sizeof registers;
    code_size = size - sizeof registers;
    /* Some registers point to somewhere sensible. */
    for (unsigned i = 0; i < INTERPRETER_REGISTERS; i++) {
        if (registers.general[i] & 1)
            registers.general[i] = 0x7f0000000000 + (registers.general[i] >> 48);
    }
    registers.ip = CODE_BASE;
    memcpy(extended, code, code_size < 512 ? code_size : 512);
#ifdef ISA_A64
    set_heads(extended);
#endif
    interpreter_begin(interpreter, &registers, input[0] & 2 ? extended : NULL);
    for (unsigned round = 0; round < ROUNDS; round++) {
        enum interpreter_stop why = INTERPRETER_STOP_COUNT;
        size_t capacity = 64 + (input[1] & 127);
        uint64_t before = interpreter_instructions(interpreter);
        uint64_t budget = round % 4 == 3 ? 1 : 300;
        size_t count = interpreter_run(interpreter, out, capacity, budget, &why);
        if (count > capacity || why >= INTERPRETER_STOP_COUNT ||
            interpreter_instructions(interpreter) - before > budget)
            abort();
        for (size_t i = 0; i < count; i++) {
            if (out[i].width == 0 || out[i].width > 64 ||
                (out[i].kind != ACCESS_LOAD && out[i].kind != ACCESS_STORE))
                abort();
            uint64_t value;
            interpreter_peek(interpreter, out[i].address, 8, &value);
        }
        if (why != INTERPRETER_FULL && why != INTERPRETER_BUDGET)
            break;
    }
    unsigned length;
    instruction_accesses(code, code_size, &registers, out, CAPACITY, &length);
}

const char fuzz_target[] = "random bytes as code";

/* Prefixes and escapes more often than by chance, or most of the instruction set is never seen. */
static uint8_t random_byte(struct random *random)
{
    static const uint8_t frequent[] = {0x0f, 0x48, 0x66, 0xf2, 0xf3, 0x41, 0xc5, 0xc4, 0x62, 0x4c};
    uint64_t value = random_next(random) >> 20;

    return value % 4 == 0 ? frequent[(value >> 8) % sizeof frequent] : (uint8_t)(value >> 8);
}

size_t fuzz_make(struct random *random, uint8_t *input)
{
    size_t size = sizeof(struct interpreter_registers) + 64;

    for (size_t at = 0; at < size; at++)
        input[at] = random_byte(random);
    return size;
}
