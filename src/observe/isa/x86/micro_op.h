/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Micro-operations: what x86 instructions are decoded into, once, before they are interpreted.
 *
 * An instruction becomes zero or more micro-operations: a load into a temporary, the operation, a
 * store of the temporary. Architectural state other than flags changes only in the last of them
 * that can stop, so that a stop leaves the state before the instruction.
 */
#ifndef REUSE_ISA_X86_MICRO_OP_H
#define REUSE_ISA_X86_MICRO_OP_H

#include <stdint.h>

/*
 * Register numbers. 0..15 are the general registers in hardware order. The same numbers are bit
 * positions in poison masks (uint64_t); REGISTER_ZERO is never poisoned and stands for "none".
 */
enum {
    REGISTER_RAX = 0,
    REGISTER_RCX = 1,
    REGISTER_RDX = 2,
    REGISTER_RBX = 3,
    REGISTER_RSP = 4,
    REGISTER_RBP = 5,
    REGISTER_RSI = 6,
    REGISTER_RDI = 7,
    REGISTER_ZERO = 16,
    REGISTER_FS,          /* fs base */
    REGISTER_GS,          /* gs base */
    REGISTER_OPERAND,     /* value loaded from memory, or to be stored */
    REGISTER_ADDRESS,     /* computed address, where one base and one index do not do */
    REGISTER_HIGH,        /* copy of ah..bh, of an immediate, or a result on its way */
    REGISTER_HIGH_2,      /* the other such operand */
    REGISTER_SCRATCH,     /* poison bit of the scratch area; the register itself is unused */
    REGISTER_OPMASK,      /* k0..k7: poison bits only, values are elsewhere */
    REGISTER_VECTOR = 32, /* zmm0..zmm31: likewise */
    REGISTER_COUNT = 24,
};

#define REGISTER_BIT(r) (UINT64_C(1) << (r))

/* Traits: what a micro-operation reads and writes, for keeping track of poison. */
enum {
    READS_D = 1,
    READS_S = 2,
    WRITES_D = 4,
    WRITES_FLAGS = 8,
    ADDRESSES = 16,  /* uses base and index */
    BRANCHES = 32,   /* s decides where execution goes on */
    STORES_S = 64,   /* stores s to memory: stores poison if s is */
    BY_ITSELF = 128, /* keeps track of poison itself */
};

/* clang-format off */
#define MICRO_OPS_OF_WIDTHS(X, name, traits) \
    X(name##_8, traits) X(name##_16, traits) X(name##_32, traits) X(name##_64, traits)
/* Register and immediate source alternate: index = 2 * log2(width) + immediate. */
#define MICRO_OPS_OF_SOURCES(X, name, traits) \
    X(name##_8_R, traits) X(name##_8_I, traits) X(name##_16_R, traits) X(name##_16_I, traits) \
    X(name##_32_R, traits) X(name##_32_I, traits) X(name##_64_R, traits) X(name##_64_I, traits)
#define MICRO_OPS_OF_CONDITIONS(X, name, traits) \
    X(name##_O, traits) X(name##_NO, traits) X(name##_B, traits) X(name##_NB, traits) \
    X(name##_Z, traits) X(name##_NZ, traits) X(name##_BE, traits) X(name##_NBE, traits) \
    X(name##_S, traits) X(name##_NS, traits) X(name##_P, traits) X(name##_NP, traits) \
    X(name##_L, traits) X(name##_NL, traits) X(name##_LE, traits) X(name##_NLE, traits)

#define MICRO_OPS(X) \
    X(END, BY_ITSELF)                  /* go on at displacement (an address) */ \
    X(STOP, BY_ITSELF)                 /* immediate: enum interpreter_stop */ \
    /* d = s or immediate; narrow ones merge into d */ \
    X(MOVE_8, READS_D | READS_S | WRITES_D) X(MOVE_16, READS_D | READS_S | WRITES_D) \
    X(MOVE_32, READS_S | WRITES_D) X(MOVE_64, READS_S | WRITES_D) \
    X(IMMEDIATE, WRITES_D) \
    X(ZERO_EXTEND_8, READS_S | WRITES_D) X(ZERO_EXTEND_16, READS_S | WRITES_D) \
    X(SIGN_EXTEND_8_32, READS_S | WRITES_D) X(SIGN_EXTEND_8_64, READS_S | WRITES_D) \
    X(SIGN_EXTEND_16_32, READS_S | WRITES_D) X(SIGN_EXTEND_16_64, READS_S | WRITES_D) \
    X(SIGN_EXTEND_32_64, READS_S | WRITES_D) \
    X(GET_HIGH, READS_S | WRITES_D)    /* d = bits 15..8 of s */ \
    X(PUT_HIGH, READS_D | READS_S | WRITES_D) \
    X(ADDRESS_64, BY_ITSELF)           /* lea */ \
    X(ADDRESS_32, BY_ITSELF) \
    /* memory; base + (index << scale) + displacement */ \
    X(LOAD_8, ADDRESSES | WRITES_D) X(LOAD_16, ADDRESSES | WRITES_D) \
    X(LOAD_32, ADDRESSES | WRITES_D) X(LOAD_64, ADDRESSES | WRITES_D) \
    X(LOAD_SIGNED_8_32, ADDRESSES | WRITES_D) X(LOAD_SIGNED_8_64, ADDRESSES | WRITES_D) \
    X(LOAD_SIGNED_16_32, ADDRESSES | WRITES_D) X(LOAD_SIGNED_16_64, ADDRESSES | WRITES_D) \
    X(LOAD_SIGNED_32_64, ADDRESSES | WRITES_D) \
    X(STORE_8, ADDRESSES | READS_S | STORES_S) X(STORE_16, ADDRESSES | READS_S | STORES_S) \
    X(STORE_32, ADDRESSES | READS_S | STORES_S) X(STORE_64, ADDRESSES | READS_S | STORES_S) \
    X(STORE_IMMEDIATE, ADDRESSES)      /* width bytes */ \
    X(PUSH, ADDRESSES | READS_S | STORES_S) \
    X(POP, ADDRESSES | WRITES_D)       /* displacement 0: d = [rsp]; rsp += 8 */ \
    X(CALL, ADDRESSES)                 /* immediate: target; scale: length of the instruction */ \
    X(CALL_REGISTER, ADDRESSES | READS_S | BRANCHES) \
    X(RETURN, ADDRESSES)               /* immediate: bytes to add to rsp, 8 or more */ \
    X(JUMP, BY_ITSELF)                 /* immediate: target */ \
    X(JUMP_REGISTER, READS_S | BRANCHES) \
    MICRO_OPS_OF_CONDITIONS(X, JUMP_IF, BY_ITSELF) \
    X(JUMP_RCX_ZERO, READS_S | BRANCHES)   /* width 4 or 8; s = rcx */ \
    X(LOOP, READS_S | BRANCHES)            /* scale: 0 loop, 1 loope, 2 loopne */ \
    MICRO_OPS_OF_CONDITIONS(X, SET_IF, WRITES_D)      /* d = 0 or 1, all 64 bits */ \
    MICRO_OPS_OF_CONDITIONS(X, MOVE_IF_32, BY_ITSELF) \
    MICRO_OPS_OF_CONDITIONS(X, MOVE_IF_64, BY_ITSELF) \
    /* d = d op s or immediate, and flags */ \
    MICRO_OPS_OF_SOURCES(X, ADD, READS_D | READS_S | WRITES_D | WRITES_FLAGS) \
    MICRO_OPS_OF_SOURCES(X, SUB, READS_D | READS_S | WRITES_D | WRITES_FLAGS) \
    MICRO_OPS_OF_SOURCES(X, ADC, READS_D | READS_S | WRITES_D | WRITES_FLAGS) \
    MICRO_OPS_OF_SOURCES(X, SBB, READS_D | READS_S | WRITES_D | WRITES_FLAGS) \
    MICRO_OPS_OF_SOURCES(X, AND, READS_D | READS_S | WRITES_D | WRITES_FLAGS) \
    MICRO_OPS_OF_SOURCES(X, OR, READS_D | READS_S | WRITES_D | WRITES_FLAGS) \
    MICRO_OPS_OF_SOURCES(X, XOR, READS_D | READS_S | WRITES_D | WRITES_FLAGS) \
    MICRO_OPS_OF_SOURCES(X, CMP, READS_D | READS_S | WRITES_FLAGS) \
    MICRO_OPS_OF_SOURCES(X, TEST, READS_D | READS_S | WRITES_FLAGS) \
    X(CLEAR, WRITES_D | WRITES_FLAGS)  /* xor r,r and sub r,r; immediate: nonzero for sub */ \
    X(BORROW, WRITES_D | WRITES_FLAGS) /* sbb r,r of width 4 or 8 */ \
    MICRO_OPS_OF_WIDTHS(X, INC, READS_D | WRITES_D | WRITES_FLAGS) \
    MICRO_OPS_OF_WIDTHS(X, DEC, READS_D | WRITES_D | WRITES_FLAGS) \
    MICRO_OPS_OF_WIDTHS(X, NEG, READS_D | WRITES_D | WRITES_FLAGS) \
    MICRO_OPS_OF_WIDTHS(X, NOT, READS_D | WRITES_D) \
    /* shifts; count is s (rcx) or immediate */ \
    MICRO_OPS_OF_SOURCES(X, SHL, READS_D | READS_S | WRITES_D | WRITES_FLAGS) \
    MICRO_OPS_OF_SOURCES(X, SHR, READS_D | READS_S | WRITES_D | WRITES_FLAGS) \
    MICRO_OPS_OF_SOURCES(X, SAR, READS_D | READS_S | WRITES_D | WRITES_FLAGS) \
    MICRO_OPS_OF_SOURCES(X, ROL, READS_D | READS_S | WRITES_D | WRITES_FLAGS) \
    MICRO_OPS_OF_SOURCES(X, ROR, READS_D | READS_S | WRITES_D | WRITES_FLAGS) \
    X(ROTATE_CARRY, READS_D | READS_S | WRITES_D | WRITES_FLAGS) /* width; scale 0 rcl, 1 rcr */ \
    X(DOUBLE_SHIFT, BY_ITSELF)         /* d, s, index: count; width; scale 0 shld, 1 shrd */ \
    MICRO_OPS_OF_WIDTHS(X, BIT_TEST, READS_D | READS_S | WRITES_D | WRITES_FLAGS) \
    X(BIT_ADDRESS, ADDRESSES | READS_S | WRITES_D) /* d = address of the word with bit s */ \
    X(BIT_SCAN, READS_S | WRITES_D | WRITES_FLAGS) /* scale: enum bit_scan; width */ \
    MICRO_OPS_OF_WIDTHS(X, MULTIPLY, READS_D | READS_S | WRITES_D | WRITES_FLAGS) /* imul d, s */ \
    MICRO_OPS_OF_WIDTHS(X, MULTIPLY_BY, READS_S | WRITES_D | WRITES_FLAGS) /* imul d, s, imm */ \
    X(MULTIPLY_WIDE, BY_ITSELF)        /* rdx:rax = rax * s; width; scale: signed */ \
    X(DIVIDE, BY_ITSELF)               /* width; scale: signed */ \
    X(SIGN_TO_RDX, BY_ITSELF)          /* cwd, cdq, cqo by width */ \
    X(SWAP_BYTES, READS_S | WRITES_D)  /* width 2, 4, 8; zero-extends */ \
    X(COMPARE_EXCHANGE, BY_ITSELF)     /* after CMP rax, d: ZF ? (d = s) : (rax = d) */ \
    X(COMPARE_EXCHANGE_WIDE, ADDRESSES | BY_ITSELF) /* width 8 or 16 */ \
    X(FLAGS_TO_REGISTER, WRITES_D)     /* immediate: mask, scale: shift left */ \
    X(REGISTER_TO_FLAGS, READS_S | WRITES_FLAGS) /* immediate: mask, scale: shift right */ \
    X(FLAG_BITS, BY_ITSELF)            /* clear displacement, set immediate, flip width */ \
    X(STRING, BY_ITSELF)               /* d: enum string_operation; scale: repeat; s: segment */ \
    /* what is not modelled */ \
    X(POISON, BY_ITSELF)               /* immediate: registers; scale: flags; width: x87 */ \
    X(TOUCH, ADDRESSES)                /* load, or store of poison (scale), of immediate bytes */ \
    /* vectors and the scratch area; d, s: REGISTER_VECTOR + n or REGISTER_SCRATCH */ \
    X(VECTOR_LOAD, ADDRESSES | WRITES_D)  /* immediate: zeroes from width up to there */ \
    X(VECTOR_STORE, ADDRESSES | READS_S | STORES_S) /* immediate: offset in the register */ \
    X(VECTOR_MOVE, READS_S | WRITES_D)    /* width bytes; zeroes likewise */ \
    X(VECTOR_CLEAR, WRITES_D)             /* likewise */ \
    X(VECTOR_TO_GENERAL, READS_S | WRITES_D) /* width 4 or 8 */ \
    X(GENERAL_TO_VECTOR, READS_S | WRITES_D) /* width 4 or 8; zeroes to 16 at least */ \
    X(ZERO_UPPER, BY_ITSELF)              /* vzeroupper; scale: vzeroall */ \
    X(STUB, BY_ITSELF)                    /* runs one instruction; see STUB_MASKS */ \
    X(LOCK, BY_ITSELF)                    /* ends an atomic access; does nothing else */ \
    X(STUB_MASKS, BY_ITSELF)              /* data of the STUB before it, never executed */ \
    X(MASKED_LOAD, ADDRESSES | BY_ITSELF)  /* to the scratch area; see masked.h */ \
    X(MASKED_STORE, ADDRESSES | BY_ITSELF) \
    X(GATHER, BY_ITSELF) X(SCATTER, BY_ITSELF) \
    X(SAVE_STATE, ADDRESSES | BY_ITSELF)  /* xsave; s: compacted */ \
    X(RESTORE_STATE, ADDRESSES | BY_ITSELF) \
    X(X87_STUB, BY_ITSELF)                /* a STUB that works on the x87 state */ \
    X(X87_LOAD_CONTROL, BY_ITSELF) X(X87_STORE_CONTROL, BY_ITSELF) \
    X(LOAD_MXCSR, BY_ITSELF)              /* from s */ \
    X(STORE_MXCSR, BY_ITSELF)             /* to d */
/* clang-format on */

enum micro_op_code {
#define ENUMERATE(name, traits) OP_##name,
    MICRO_OPS(ENUMERATE)
#undef ENUMERATE
        OP_COUNT
};

enum bit_scan { SCAN_BSF, SCAN_BSR, SCAN_TZCNT, SCAN_LZCNT, SCAN_POPCNT };

enum string_operation { STRING_MOVS, STRING_STOS, STRING_LODS, STRING_CMPS, STRING_SCAS };

enum string_repeat { REPEAT_NONE, REPEAT_WHILE_EQUAL, REPEAT_WHILE_NOT_EQUAL };

/*
 * STUB: immediate is the function, displacement the flags that it reads, scale whether it leaves
 * sticky bits in MXCSR, width its latency in cycles. Of the next operation, STUB_MASKS,
 * displacement and immediate are the masks of registers that it reads and writes, access the flags
 * that it sets | those undefined << 16.
 */
struct micro_op {
    uint16_t code;
    uint8_t d, s, base, index, scale;
    uint8_t width;       /* bytes of the operand */
    uint16_t offset;     /* of the instruction from the block's start */
    uint8_t instruction; /* ordinal of the instruction in its block */
    uint8_t prior;       /* accesses that the instruction has reported before this operation */
    uint32_t access;     /* width, kind << 8, read_modify_write << 16: see struct access */
    int64_t displacement;
    int64_t immediate;
};

/* Limits of one block; an instruction that would exceed one starts the next block. */
enum {
    BLOCK_CODE_MAX = 256,
    BLOCK_INSTRUCTIONS_MAX = 48,
    BLOCK_OPS_MAX = 96,
    BLOCK_ACCESSES_MAX = 63, /* one less than the smallest output buffer */
    BLOCK_STORE_LINES_MAX = 128,
    VECTOR_BYTES = 64,
};

/* A run of instructions with one entry; ends with a branch, a stop or END. */
struct block {
    uint64_t ip;
    uint16_t code_size; /* bytes */
    uint16_t ops_count;
    uint8_t instructions;
    uint8_t accesses;    /* at most, string operations aside */
    uint8_t store_lines; /* 64-byte lines that its stores touch at most, string operations aside */
    uint8_t cached;      /* lives in the shared cache: may be chained */
    /* Blocks last seen to follow: [0] by falling through, [1] by a direct branch. Hints only,
     * written by any thread, atomically. */
    struct block *successor[2];
    uint8_t *code; /* copy of the code bytes */
    struct micro_op *ops;
};

#endif
