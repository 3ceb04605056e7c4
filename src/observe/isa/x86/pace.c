/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/x86/pace.h"

#include <stdbool.h>
#include <stddef.h>

#include "isa/x86/traits.h"

#include "signal_safe.h"

/* Bits of registers that micro-operations have no number for: nothing reads REGISTER_ZERO, and user
 * code has no use for gs. */
#define FLAGS REGISTER_BIT(REGISTER_ZERO)
#define X87 REGISTER_BIT(REGISTER_GS)
#define BIT(r) REGISTER_BIT(r)

/* Cycles (Fog, Instruction tables, 2023: alike from Skylake to Zen 4). */
enum {
    SIMPLE = 1,
    MULTIPLY = 3,
    SCAN = 2,
    DIVIDE = PIPELINE_DIVISION + 1,
    EXCHANGE = 8,
    X87_ADD = 5,
    CONTROL = 5,
    ELEMENTS = 12, /* of a gather */
    SLOW = 20,     /* what is not modelled */
    LOCK = 20,     /* an atomic access, in a cache of its own core (24 on Zen 5, measured) */
};

/* What is being walked. */
struct walk {
    struct pipeline *pipeline;
    struct provenance *provenance;   /* or NULL */
    const struct access *next, *end; /* accesses not looked at yet */
    uint64_t ip;                     /* of the instruction under way */
    const struct micro_op *op;       /* likewise */
};

/* The stack pointer moves between accesses by one name: processors follow it, so the address alone
 * tells such places apart. */
static uint32_t name_of(const struct micro_op *op)
{
    uint64_t displacement = op->base == REGISTER_RSP ? 0 : (uint64_t)op->displacement;

    if (op->index != REGISTER_ZERO || op->base >= REGISTER_ZERO)
        return 0;
    return (uint32_t)((displacement * REGISTER_COUNT + op->base) * VECTOR_BYTES + op->width) << 1 |
           1;
}

/* The next access of the instruction; NULL: it has no more. */
static const struct access *take(struct walk *walk)
{
    return walk->next < walk->end && walk->next->ip == walk->ip ? walk->next++ : NULL;
}

static void compute(const struct walk *walk, uint64_t reads, uint64_t writes, unsigned latency)
{
    pipeline_compute(walk->pipeline, (struct pipeline_operands){reads, writes}, latency);
    if (walk->provenance)
        provenance_compute(walk->provenance, reads & ~FLAGS, writes & ~FLAGS);
}

/* base: registers that the address is made of. */
static void load(struct walk *walk, uint64_t base, uint64_t reads, uint64_t writes)
{
    const struct access *access = take(walk);

    if (!access)
        return;
    pipeline_load(walk->pipeline, (struct pipeline_operands){base | reads, writes}, access->address,
                  name_of(walk->op));
    if (walk->provenance)
        provenance_load(walk->provenance, walk->ip, base, writes & ~FLAGS, access->address);
}

static void store(struct walk *walk, uint64_t base, uint64_t data)
{
    const struct access *access = take(walk);

    if (!access)
        return;
    pipeline_store(walk->pipeline, (struct pipeline_operands){base | data, 0}, access->address,
                   name_of(walk->op));
    if (walk->provenance)
        provenance_store(walk->provenance, walk->ip, base, data & ~FLAGS, access->address);
}

static void touch_rest(struct walk *walk)
{
    for (const struct access *access; (access = take(walk)) != NULL;)
        pipeline_touch(walk->pipeline, access->address, access->width);
}

static uint64_t addresses(const struct micro_op *op)
{
    return (BIT(op->base) | BIT(op->index)) & ~FLAGS;
}

static bool between(unsigned code, unsigned first, unsigned last)
{
    return code - first <= last - first;
}

static unsigned latency_of(unsigned code)
{
    if (between(code, OP_MULTIPLY_8, OP_MULTIPLY_BY_64))
        return MULTIPLY;
    if (code == OP_BIT_SCAN || code == OP_ROTATE_CARRY)
        return SCAN;
    return SIMPLE;
}

static bool reads_flags(unsigned code)
{
    return between(code, OP_SET_IF_O, OP_SET_IF_NLE) || between(code, OP_ADC_8_R, OP_SBB_64_I) ||
           code == OP_BORROW || code == OP_ROTATE_CARRY || code == OP_FLAGS_TO_REGISTER;
}

/* One whose traits say all. */
static void plain(struct walk *walk, const struct micro_op *op)
{
    unsigned trait = traits[op->code];
    uint64_t d = BIT(op->d) & ~FLAGS, s = BIT(op->s) & ~FLAGS;
    uint64_t reads = (trait & READS_D ? d : 0) | (trait & READS_S ? s : 0);
    uint64_t writes = (trait & WRITES_D ? d : 0) | (trait & WRITES_FLAGS ? FLAGS : 0);

    if (trait & ADDRESSES && trait & WRITES_D)
        load(walk, addresses(op), reads, writes);
    else if (trait & ADDRESSES)
        store(walk, addresses(op), reads);
    else
        compute(walk, reads | (reads_flags(op->code) ? FLAGS : 0), writes, latency_of(op->code));
}

static void stub(const struct walk *walk, const struct micro_op *op)
{
    const struct micro_op *masks = op + 1;
    bool x87 = op->code == OP_X87_STUB;
    uint64_t reads = (uint64_t)masks->displacement & ~FLAGS;
    uint64_t writes = (uint64_t)masks->immediate & ~FLAGS;

    compute(walk, reads | (op->displacement ? FLAGS : 0) | (x87 ? X87 : 0),
            writes | (masks->access ? FLAGS : 0) | (x87 ? X87 : 0), x87 ? X87_ADD : op->width);
}

/* Leaves the block. */
static bool leave(struct walk *walk, const struct micro_op *op, const struct block *block,
                  uint64_t next)
{
    uint64_t s = BIT(op->s) & ~FLAGS;

    if (between(op->code, OP_JUMP_IF_O, OP_JUMP_IF_NLE)) {
        pipeline_branch(walk->pipeline, FLAGS, walk->ip, next != block->ip + block->code_size);
        return true;
    }
    switch (op->code) {
    case OP_JUMP_RCX_ZERO:
    case OP_LOOP:
        pipeline_branch(walk->pipeline, s, walk->ip, next != block->ip + block->code_size);
        return true;
    case OP_CALL_REGISTER:
        store(walk, 0, 0);
        pipeline_jump(walk->pipeline, s, walk->ip, next);
        return true;
    case OP_JUMP_REGISTER:
        pipeline_jump(walk->pipeline, s, walk->ip, next);
        return true;
    case OP_RETURN: /* foreseen by a stack of its own */
        load(walk, 0, 0, 0);
        return true;
    case OP_JUMP:
        return true;
    default:
        return false;
    }
}

static void one(struct walk *walk, const struct micro_op *op)
{
    const uint64_t rax = BIT(REGISTER_RAX), rdx = BIT(REGISTER_RDX);
    const uint64_t strings = BIT(REGISTER_RSI) | BIT(REGISTER_RDI) | BIT(REGISTER_RCX);
    uint64_t d = BIT(op->d) & ~FLAGS, s = BIT(op->s) & ~FLAGS;

    if (between(op->code, OP_MOVE_IF_32_O, OP_MOVE_IF_64_NLE)) {
        compute(walk, d | s | FLAGS, d, SIMPLE);
        return;
    }
    switch (op->code) {
    case OP_ADDRESS_64:
    case OP_ADDRESS_32:
        compute(walk, addresses(op), d, SIMPLE);
        break;
    case OP_BIT_ADDRESS:
        compute(walk, addresses(op) | s, d, SIMPLE);
        break;
    case OP_DOUBLE_SHIFT:
        compute(walk, d | s, d | FLAGS, MULTIPLY);
        break;
    case OP_MULTIPLY_WIDE:
        compute(walk, rax | s, rax | rdx | FLAGS, MULTIPLY);
        break;
    case OP_DIVIDE:
        compute(walk, rax | rdx | s, rax | rdx | FLAGS, DIVIDE);
        break;
    case OP_SIGN_TO_RDX:
        compute(walk, rax, rdx, SIMPLE);
        break;
    case OP_COMPARE_EXCHANGE:
        compute(walk, d | s | rax | FLAGS, d | rax, EXCHANGE);
        break;
    case OP_FLAG_BITS:
        compute(walk, 0, FLAGS, SIMPLE);
        break;
    case OP_STRING:
        compute(walk, strings, strings, SIMPLE);
        touch_rest(walk);
        break;
    case OP_STUB:
    case OP_X87_STUB:
        stub(walk, op);
        break;
    case OP_MASKED_LOAD:
        load(walk, addresses(op), 0, BIT(REGISTER_SCRATCH));
        break;
    case OP_MASKED_STORE:
        store(walk, addresses(op), BIT(REGISTER_SCRATCH));
        break;
    case OP_GATHER:
    case OP_SCATTER:
        touch_rest(walk);
        compute(walk, addresses(op), d, ELEMENTS);
        break;
    case OP_LOAD_MXCSR:
    case OP_STORE_MXCSR:
    case OP_X87_LOAD_CONTROL:
    case OP_X87_STORE_CONTROL:
        compute(walk, 0, 0, CONTROL);
        break;
    case OP_POISON:
        compute(walk, 0, (uint64_t)op->immediate & ~FLAGS, SLOW);
        break;
    case OP_LOCK:
        pipeline_lock(walk->pipeline, LOCK);
        break;
    case OP_ZERO_UPPER:
    case OP_STUB_MASKS:
        break;
    default:
        if (traits[op->code] & BY_ITSELF)
            touch_rest(walk);
        else
            plain(walk, op);
    }
}

/* Makes lines and branches known. */
static void warm(struct pipeline *pipeline, const struct block *block, const struct access *made,
                 const struct access *end, uint64_t next)
{
    const struct micro_op *last = &block->ops[block->ops_count - 1];
    uint64_t ip = block->ip + last->offset;

    for (; made < end; made++)
        pipeline_warm(pipeline, made->address);
    if (between(last->code, OP_JUMP_IF_O, OP_JUMP_IF_NLE))
        pipeline_branch(pipeline, 0, ip, next != block->ip + block->code_size);
    else if (last->code == OP_CALL_REGISTER || last->code == OP_JUMP_REGISTER)
        pipeline_jump(pipeline, 0, ip, next);
    if (next != block->ip + block->code_size)
        pipeline_taken(pipeline, ip);
}

void x86_pace_block(struct pipeline *pipeline, struct provenance *provenance,
                    const struct block *block, const struct access *made, const struct access *end,
                    uint64_t next)
{
    struct walk walk = {.pipeline = pipeline, .provenance = provenance, .next = made, .end = end};
    unsigned instruction = UINT32_MAX;

    if (!pipeline->timing) {
        warm(pipeline, block, made, end, next);
        return;
    }
    for (unsigned i = 0; i < block->ops_count; i++) {
        const struct micro_op *op = &block->ops[i];

        if (op->code == OP_END || op->code == OP_STOP)
            break;
        if (op->instruction != instruction) {
            if (instruction != UINT32_MAX) {
                touch_rest(&walk);
                pipeline_retire(pipeline);
            }
            instruction = op->instruction;
            walk.ip = block->ip + op->offset;
            /* With the comparison before it. */
            pipeline_instruction(pipeline, between(op->code, OP_JUMP_IF_O, OP_JUMP_IF_NLE));
        }
        walk.op = op;
        if (!leave(&walk, op, block, next))
            one(&walk, op);
    }
    if (instruction != UINT32_MAX) {
        touch_rest(&walk);
        pipeline_retire(pipeline);
    }
    if (next != block->ip + block->code_size)
        pipeline_taken(pipeline, block->ip + block->ops[block->ops_count - 1].offset);
}
