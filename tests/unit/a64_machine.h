/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random A64 instructions on random registers, the same on every machine: made from a word and a
 * seed alone. A processor's results are recorded once (tests/support/a64_recorder.c) and compared
 * with the interpreter's anywhere (test_isa_a64.c).
 *
 * The sandbox and the code page have fixed addresses. The instruction stands in the middle of the
 * code page, everything else there is brk.
 */
#ifndef REUSE_TESTS_A64_MACHINE_H
#define REUSE_TESTS_A64_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa/interpreter.h"

enum {
    A64_SANDBOX = 0x20000000,
    A64_SANDBOX_SIZE = 1 << 13,
    A64_CODE = 0x20010000,
    A64_CODE_SIZE = 1 << 12,
    A64_INSTRUCTION = A64_CODE + A64_CODE_SIZE / 2,
    A64_BRK = (int)0xd4200000,
    A64_EXTENDED_SIZE = 4096,
    A64_VECTOR_LENGTH = 64,
    A64_PREDICATES = 17, /* and the first-fault register */
};

struct a64_machine {
    struct interpreter_registers registers;
    uint8_t vector[32][A64_VECTOR_LENGTH];
    uint64_t predicate[A64_PREDICATES];
};

/* Maps both regions and makes an interpreter that reads them; NULL if they are taken or there is no
 * memory. For the rest of the process. */
struct interpreter *a64_machine_create(void);

/* The sandbox as it is before every instruction, and the code page around the word. */
void a64_machine_reset(uint32_t word);
uint8_t a64_machine_original(unsigned offset);

/* With an even seed scalable registers are zero above the 16 bytes of vector registers. */
void a64_machine_random(struct a64_machine *, uint32_t seed);

/* Vectors and predicates as Linux lays them out in a signal frame (uc_mcontext.__reserved). */
void a64_machine_to_frame(const struct a64_machine *, uint8_t frame[A64_EXTENDED_SIZE]);
void a64_machine_from_frame(struct a64_machine *, const uint8_t *frame);

/* Reads both regions, nothing else. */
bool a64_machine_read(void *context, uint64_t address, void *buffer, size_t size);

bool a64_machine_contains(uint64_t address, unsigned width);

/*
 * What one instruction changed: an entry for each register and byte, by rising key.
 * Keys: 0..31 general registers, then these.
 */
enum {
    A64_KEY_IP = 32,
    A64_KEY_FLAGS,
    A64_KEY_VECTOR = 64,
    A64_KEY_PREDICATE = 96,
    A64_KEY_MEMORY = 128, /* and the byte's offset in the sandbox */
};

/* A register's contents in 16 bits. */
uint16_t a64_digest(const void *bytes, size_t size);

#endif
