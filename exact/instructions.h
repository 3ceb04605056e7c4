/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guest's instructions that touch memory, by small numbers. Filled while QEMU translates, read
 * by everybody; entries never move nor change.
 */
#ifndef REUSE_EXACT_INSTRUCTIONS_H
#define REUSE_EXACT_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum instruction_role {
    ROLE_CALL = 1,   /* its store is the return address */
    ROLE_RETURN = 2, /* its load is the return address */
    ROLE_PUSH = 4,   /* stores through the stack pointer, calls included */
    ROLE_MODIFY = 8, /* loads an operand and stores to it: a read-modify-write */
};

struct instruction {
    uint64_t ip;
    /* Bytes of the widest memory operand, at most 64, when QEMU may report it in pieces; else 0. */
    uint8_t operand_bytes;
    uint8_t role; /* enum instruction_role */
    uint8_t length;
};

/*
 * Number of the instruction at ip, whose encoding is given, or INSTRUCTION_NONE if it cannot touch
 * memory. A number is 1 or more. Number 0 stands for all instructions that no longer fit in memory.
 * Takes a lock.
 */
#define INSTRUCTION_NONE UINT32_MAX
uint32_t instruction_number(uint64_t ip, const void *code, size_t size);

const struct instruction *instruction_at(uint32_t number);

/* All numbers are below this. */
uint32_t instruction_count(void);

/* In a forked child: the lock may have been held by a thread that no longer is. */
void instructions_after_fork(void);

#endif
