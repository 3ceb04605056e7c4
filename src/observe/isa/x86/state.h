/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interpreter's state, shared by the files of this folder only (through isa/state.h).
 *
 * Poison: bit r of poison says that register r (micro_op.h's numbers) is unknown; unknown flags are
 * in flags.kind, unknown bytes of memory in the store buffer.
 */
#ifndef REUSE_ISA_X86_STATE_H
#define REUSE_ISA_X86_STATE_H

#include "isa/guarded_memory.h"
#include "isa/interpreter.h"
#include "isa/store_buffer.h"
#include "isa/x86/lazy_flags.h"
#include "isa/x86/micro_op.h"

enum {
    MXCSR_ALL_MASKED = 0x1f80,
    MXCSR_WRITABLE = 0xffff,
};

struct interpreter {
    uint64_t r[REGISTER_COUNT];
    uint64_t opmask[8];
    uint64_t stub_flags; /* rflags into and out of a stub */
    struct lazy_flags flags;
    uint64_t poison;
    uint64_t ip;
    uint64_t instructions;
    uint64_t accesses;
    uint32_t mxcsr;       /* the target's, exception masks included */
    bool mxcsr_poisoned;  /* a floating-point operation was skipped: its sticky flags are unknown */
    bool x87_poisoned;    /* all of the x87 state is unknown */
    bool x87_live;        /* it is in the processor, not in x87_area */
    uint16_t x87_control; /* the target's control word, exception masks included */
    struct interpreter_options options;
    uint8_t x87_area[512] __attribute__((aligned(64))); /* FXSAVE layout, no vector registers */
    struct {
        uint64_t address; /* of the last xsave; 0 for none */
        uint64_t components, poison;
        uint32_t mxcsr, target_mxcsr;
        bool mxcsr_poisoned;
        uint64_t opmask[8];
        uint8_t vector[32][VECTOR_BYTES];
    } saved;
    /* Memory operand of the instruction in a stub. */
    uint8_t scratch[VECTOR_BYTES] __attribute__((aligned(64)));
    uint8_t vector[32][VECTOR_BYTES] __attribute__((aligned(64)));
    struct store_buffer store;
    /* A block that could not be cached, or that must end early. */
    uint8_t own_code[BLOCK_CODE_MAX];
    struct block own_block;
    struct micro_op own_ops[BLOCK_OPS_MAX + 1];
};

/* String instructions: see string.c. */
struct output {
    struct access *next; /* where the next access goes */
    struct access *end;
    uint64_t budget; /* elements that may still be done */
};
/* Returns whether the instruction is complete; *why is set if it must stop (else INTERPRETER_FULL
 * with false: the output is full or the budget used up, in the midst of the repetition). */
bool x86_string(struct interpreter *, const struct micro_op *, uint64_t ip, struct output *,
                enum interpreter_stop *why);

/* The hot loop. */
enum interpreter_stop x86_execute(struct interpreter *, struct access *out, size_t capacity,
                                  uint64_t instruction_budget, size_t *count);

#endif
