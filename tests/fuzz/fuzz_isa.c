/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random bytes as code on random registers: the interpreter must neither crash nor read anything
 * but through its hook (there is no fault handler here: a stray read ends the process), must keep
 * to its limits and must come to an end.
 *
 * Built with -fsanitize=fuzzer and -DREUSE_LIBFUZZER it is a libFuzzer target. Otherwise a program:
 * fuzz_isa [FILE...] runs these inputs, without arguments as many random ones as FUZZ_ISA_COUNT
 * says (seed: FUZZ_ISA_SEED). Speaks TAP.
 */
#include "config.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "isa/interpreter.h"

enum { CODE_BASE = 0x400000, CODE_MAX = 4096, CAPACITY = 256, ROUNDS = 16, SMALL_CACHE = 1 << 17 };

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
    decode_cache_create(cache, SMALL_CACHE, stubs, SMALL_CACHE);
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
static void check(const uint8_t *input, size_t size)
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

#ifdef REUSE_LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    check(input, size);
    return 0;
}
#else
static void check_file(const char *name)
{
    static uint8_t input[sizeof(struct interpreter_registers) + CODE_MAX];
    FILE *file = fopen(name, "rb");
    if (!file) {
        perror(name);
        exit(1);
    }
    check(input, fread(input, 1, sizeof input, file));
    fclose(file);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1D;
}

/* Prefixes and escapes more often than by chance, or most of the instruction set is never seen. */
static uint8_t random_byte(uint64_t *state)
{
    static const uint8_t frequent[] = {0x0f, 0x48, 0x66, 0xf2, 0xf3, 0x41, 0xc5, 0xc4, 0x62, 0x4c};
    uint64_t random = next_random(state) >> 20;
    return random % 4 == 0 ? frequent[(random >> 8) % sizeof frequent] : (uint8_t)(random >> 8);
}

int main(int argc, char **argv)
{
    printf("1..1\n");
    for (int i = 1; i < argc; i++)
        check_file(argv[i]);
    if (argc == 1) {
        const char *seed = getenv("FUZZ_ISA_SEED"), *count = getenv("FUZZ_ISA_COUNT");
        uint64_t state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
        unsigned long inputs = count ? strtoul(count, NULL, 0) : 20000;
        fprintf(stderr, "# FUZZ_ISA_SEED=%llu\n", (unsigned long long)state);
        state |= 1;
        for (unsigned long i = 0; i < inputs; i++) {
            uint8_t input[sizeof(struct interpreter_registers) + 64];
            for (size_t at = 0; at < sizeof input; at++)
                input[at] = random_byte(&state);
            check(input, sizeof input);
        }
    }
    printf("ok 1 - random bytes as code\n");
    return 0;
}
#endif
