/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hot loop: runs micro-operations block after block. Signal-safe.
 *
 * Dispatch goes through a table of labels. While anything is poisoned the table in use sends every
 * operation through propagate first, which settles what poison means for it; while nothing is,
 * poison costs nothing.
 */
#include "isa/memory.h"
#include "isa/report.h"
#include "isa/x86/arithmetic.h"
#include "isa/x86/decode_cache.h"
#include "isa/x86/fetch.h"
#include "isa/x86/integer.h"
#include "isa/x86/masked.h"
#include "isa/x86/pace.h"
#include "isa/x86/save.h"
#include "isa/x86/traits.h"
#include "isa/x86/vector.h"
#include "isa/x86/x87.h"

#include "signal_safe.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

typedef void stub_function(struct interpreter *);

#define BIT(x) REGISTER_BIT(x)
#define NEXT                                                                                       \
    do {                                                                                           \
        op++;                                                                                      \
        goto *table[op->code];                                                                     \
    } while (0)
#define STOP(cause)                                                                                \
    do {                                                                                           \
        why = (cause);                                                                             \
        goto stop;                                                                                 \
    } while (0)
#define SET_POISON(bits)                                                                           \
    do {                                                                                           \
        poison |= (bits);                                                                          \
        table = poisoned_table;                                                                    \
    } while (0)
/* Around what keeps track of poison in the interpreter itself. */
#define WITH_STATE(statement)                                                                      \
    do {                                                                                           \
        it->poison = poison;                                                                       \
        statement;                                                                                 \
        poison = it->poison;                                                                       \
        table = poison ? poisoned_table : clean_table;                                             \
    } while (0)
/* The same, with the output pointer as at: its address must not escape, or it lives in memory. */
#define WITH_OUTPUT(statement)                                                                     \
    do {                                                                                           \
        struct access *at = out;                                                                   \
        WITH_STATE(statement);                                                                     \
        out = at;                                                                                  \
    } while (0)
#define ADDRESS() (r[op->base] + (r[op->index] << op->scale) + (uint64_t)op->displacement)
#define IP() (block->ip + op->offset)
#define REPORT(address) report_access(&out, IP(), address, op->access)

enum interpreter_stop x86_execute(struct interpreter *it, struct access *out, size_t capacity,
                                  uint64_t instruction_budget, size_t *count)
{
    static const void *const clean_table[OP_COUNT] = {
#define LABEL(name, value) [OP_##name] = &&do_##name,
        MICRO_OPS(LABEL)
#undef LABEL
    };
    static const void *const poisoned_table[OP_COUNT] = {
#define LABEL(name, value) [OP_##name] = &&propagate,
        MICRO_OPS(LABEL)
#undef LABEL
    };
    struct access *const start = out;
    struct access *const end = out + capacity;
    uint64_t *const r = it->r;
    struct lazy_flags *const flags = &it->flags;
    uint64_t poison = it->poison;
    const void *const *table = poison ? poisoned_table : clean_table;
    uint64_t ip = it->ip;
    const uint64_t before = it->instructions;
    struct block *block = NULL, *next = NULL;
    const struct block *executed = NULL; /* for the model of a processor: to its end, all of it */
    struct access *made = out;           /* its accesses */
    const struct micro_op *op = NULL;
    enum interpreter_stop why;
    bool taken, carry;
    unsigned link = 0;
    const unsigned generation = decode_cache_enter();

    goto enter_block;

branch: /* to ip by a jump: link says which; op is the branch, block the block it is in */
    it->instructions += op->instruction + 1u;
    if (unlikely(it->options.backward_branch != NULL) && ip < IP()) {
        it->poison = poison;
        it->ip = ip;
        it->options.backward_branch(it->options.branch_context, it, ip,
                                    it->accesses + (uint64_t)(out - start));
    }
follow:
    if (link < 2) {
        next = __atomic_load_n(&block->successor[link], __ATOMIC_ACQUIRE);
        if (likely(next && next->ip == ip)) {
            block = next;
            goto check_block;
        }
        next = decode_cache_find(generation, ip);
        if (next && block->cached)
            __atomic_store_n(&block->successor[link], next, __ATOMIC_RELEASE);
        block = next;
        goto check_block;
    }
enter_block:
    block = decode_cache_find(generation, ip);
check_block:
    op = NULL;
    if (unlikely(it->options.pipeline != NULL)) {
        if (executed)
            x86_pace_block(it->options.pipeline, it->options.provenance, executed, made, out, ip);
        executed = NULL;
    }
    if (unlikely(it->instructions - before >= instruction_budget)) {
        why = INTERPRETER_BUDGET;
        goto leave;
    }
    if (unlikely(!block || !x86_block_is_current(it, block)))
        block = x86_fetch_block(it, ip, generation);
    if (unlikely(store_buffer_page_written(&it->store, ip) ||
                 store_buffer_page_written(&it->store, ip + block->code_size)) &&
        store_buffer_touches(&it->store, ip, block->code_size)) {
        why = INTERPRETER_UNKNOWN; /* the program is about to run code that it has just written */
        goto leave;
    }
    if (unlikely((uintptr_t)end - (uintptr_t)out < block->accesses * sizeof *out)) {
        why = INTERPRETER_FULL;
        goto leave;
    }
    if (unlikely(store_buffer_room(&it->store) < block->store_lines)) {
        why = INTERPRETER_STORE_BUFFER;
        goto leave;
    }
    if (unlikely(instruction_budget - (it->instructions - before) < block->instructions))
        block = x86_shorten_block(it, block,
                                  (unsigned)(instruction_budget - (it->instructions - before)));
    op = block->ops;
    executed = block;
    made = out;
    goto *table[op->code];

propagate : {
    unsigned trait = traits[op->code];
    uint64_t d = BIT(op->d), s = BIT(op->s);
    if ((trait & ADDRESSES) && poison & (BIT(op->base) | BIT(op->index)))
        STOP(INTERPRETER_POISONED_ADDRESS);
    if ((trait & BRANCHES) && poison & s)
        STOP(INTERPRETER_POISONED_BRANCH);
    if ((trait & STORES_S) && poison & s) {
        uint64_t address = ADDRESS();
        REPORT(address);
        store_buffer_write(&it->store, address, NULL, op->width);
        if (op->code == OP_PUSH)
            r[REGISTER_RSP] -= 8;
        NEXT;
    }
    if (!(trait & BY_ITSELF)) {
        if (poison & ((trait & READS_D ? d : 0) | (trait & READS_S ? s : 0))) {
            if (trait & WRITES_D)
                poison |= d;
            if (trait & WRITES_FLAGS)
                lazy_flags_poison(flags);
            NEXT;
        }
        if (trait & WRITES_D)
            poison &= ~d;
        if (poison == 0)
            table = clean_table;
    }
    goto *clean_table[op->code];
}

do_END:
    it->instructions += op->instruction;
    ip = (uint64_t)op->displacement;
    link = 0;
    goto follow;
do_STOP:
    STOP((enum interpreter_stop)op->immediate);

do_MOVE_8:
    WRITE_8(r[op->s]);
    NEXT;
do_MOVE_16:
    WRITE_16(r[op->s]);
    NEXT;
do_MOVE_32:
    WRITE_32(r[op->s]);
    NEXT;
do_MOVE_64:
    r[op->d] = r[op->s];
    NEXT;
do_IMMEDIATE:
    r[op->d] = (uint64_t)op->immediate;
    NEXT;
do_ZERO_EXTEND_8:
    r[op->d] = (uint8_t)r[op->s];
    NEXT;
do_ZERO_EXTEND_16:
    r[op->d] = (uint16_t)r[op->s];
    NEXT;
do_SIGN_EXTEND_8_32:
    r[op->d] = (uint32_t)(int8_t)r[op->s];
    NEXT;
do_SIGN_EXTEND_8_64:
    r[op->d] = (uint64_t)(int8_t)r[op->s];
    NEXT;
do_SIGN_EXTEND_16_32:
    r[op->d] = (uint32_t)(int16_t)r[op->s];
    NEXT;
do_SIGN_EXTEND_16_64:
    r[op->d] = (uint64_t)(int16_t)r[op->s];
    NEXT;
do_SIGN_EXTEND_32_64:
    r[op->d] = (uint64_t)(int32_t)r[op->s];
    NEXT;
do_GET_HIGH:
    r[op->d] = (uint8_t)(r[op->s] >> 8);
    NEXT;
do_PUT_HIGH:
    r[op->d] = (r[op->d] & ~UINT64_C(0xff00)) | (r[op->s] & 0xff) << 8;
    NEXT;
do_ADDRESS_64:
do_ADDRESS_32:
    if (unlikely(poison)) {
        if (poison & (BIT(op->base) | BIT(op->index))) {
            poison |= BIT(op->d);
            NEXT;
        }
        poison &= ~BIT(op->d);
    }
    r[op->d] = op->code == OP_ADDRESS_64 ? ADDRESS() : (uint32_t)ADDRESS();
    NEXT;

#define LOAD(name, bits, convert)                                                                  \
    do_##name:                                                                                     \
    {                                                                                              \
        uint64_t address = ADDRESS(), value;                                                       \
        enum memory_outcome outcome = memory_load_##bits(it, address, &value);                     \
        if (unlikely(outcome != MEMORY_KNOWN)) {                                                   \
            if (outcome == MEMORY_FAULT)                                                           \
                STOP(INTERPRETER_UNREADABLE);                                                      \
            SET_POISON(BIT(op->d));                                                                \
        }                                                                                          \
        REPORT(address);                                                                           \
        r[op->d] = convert;                                                                        \
        NEXT;                                                                                      \
    }
    LOAD(LOAD_8, 8, value)
    LOAD(LOAD_16, 16, value)
    LOAD(LOAD_32, 32, value)
    LOAD(LOAD_64, 64, value)
    LOAD(LOAD_SIGNED_8_32, 8, (uint32_t)(int8_t)value)
    LOAD(LOAD_SIGNED_8_64, 8, (uint64_t)(int8_t)value)
    LOAD(LOAD_SIGNED_16_32, 16, (uint32_t)(int16_t)value)
    LOAD(LOAD_SIGNED_16_64, 16, (uint64_t)(int16_t)value)
    LOAD(LOAD_SIGNED_32_64, 32, (uint64_t)(int32_t)value)

#define STORE(bits)                                                                                \
    do_STORE_##bits:                                                                               \
    {                                                                                              \
        uint64_t address = ADDRESS();                                                              \
        REPORT(address);                                                                           \
        memory_store(it, address, r[op->s], bits / 8);                                             \
        NEXT;                                                                                      \
    }
    FOR_WIDTHS(STORE)
do_STORE_IMMEDIATE : {
    uint64_t address = ADDRESS();
    REPORT(address);
    memory_store(it, address, (uint64_t)op->immediate, op->width);
    NEXT;
}
do_PUSH : {
    uint64_t address = r[REGISTER_RSP] - 8;
    REPORT(address);
    memory_store(it, address, r[op->s], 8);
    r[REGISTER_RSP] = address;
    NEXT;
}
do_POP : {
    uint64_t address = r[REGISTER_RSP], value;
    enum memory_outcome outcome = memory_load_64(it, address, &value);
    if (unlikely(outcome != MEMORY_KNOWN)) {
        if (outcome == MEMORY_FAULT)
            STOP(INTERPRETER_UNREADABLE);
        SET_POISON(BIT(op->d));
    }
    REPORT(address);
    r[REGISTER_RSP] = address + 8;
    r[op->d] = value;
    NEXT;
}
do_CALL_REGISTER:
    ip = r[op->s];
    link = 2;
    goto call;
do_CALL:
    ip = (uint64_t)op->immediate;
    link = 1;
call : {
    uint64_t address = r[REGISTER_RSP] - 8;
    REPORT(address);
    memory_store(it, address, IP() + op->scale, 8);
    r[REGISTER_RSP] = address;
    it->instructions += op->instruction + 1u;
    if (unlikely(it->options.call != NULL)) {
        it->poison = poison;
        it->options.call(it->options.branch_context, it, it->accesses + (uint64_t)(out - start), ip,
                         IP() + op->scale);
    }
    goto follow;
}
do_RETURN : {
    uint64_t address = r[REGISTER_RSP], value;
    enum memory_outcome outcome = memory_load_64(it, address, &value);
    if (unlikely(outcome != MEMORY_KNOWN))
        STOP(outcome == MEMORY_FAULT ? INTERPRETER_UNREADABLE : INTERPRETER_POISONED_BRANCH);
    REPORT(address);
    r[REGISTER_RSP] = address + (uint64_t)op->immediate;
    it->instructions += op->instruction + 1u;
    if (unlikely(it->options.call != NULL)) {
        it->poison = poison;
        it->options.call(it->options.branch_context, it, it->accesses + (uint64_t)(out - start),
                         value, 0);
    }
    ip = value;
    goto enter_block;
}
do_JUMP:
    ip = (uint64_t)op->immediate;
    link = 1;
    goto branch;
do_JUMP_REGISTER:
    ip = r[op->s];
    link = 2;
    goto branch;

#define JUMP_IF(name, number, expression)                                                          \
    do_JUMP_IF_##name                                                                              \
        : EVALUATE(number, expression, STOP(INTERPRETER_POISONED_BRANCH)) goto jump_if;
    FOR_CONDITIONS(JUMP_IF)
jump_if:
    if (unlikely(it->options.condition != NULL) && !(flags->kind & FLAGS_FROM_VALUE))
        it->options.condition(it->options.branch_context, IP(), (int64_t)flags->result);
    link = taken;
    if (taken) {
        ip = (uint64_t)op->immediate;
        goto branch;
    }
    ip = block->ip + block->code_size;
    it->instructions += op->instruction + 1u;
    goto follow;
do_JUMP_RCX_ZERO:
    taken = op->width == 8 ? r[REGISTER_RCX] == 0 : (uint32_t)r[REGISTER_RCX] == 0;
    goto jump_if;
do_LOOP : {
    uint64_t left = r[REGISTER_RCX] - 1;
    if (op->width == 4)
        left = (uint32_t)left;
    taken = left != 0;
    if (op->scale) {
        if (flags->kind & FLAG_ZF)
            STOP(INTERPRETER_POISONED_BRANCH);
        taken = taken && !(lazy_flags_value(flags) & FLAG_ZF) == (op->scale == 2);
    }
    r[REGISTER_RCX] = left;
    goto jump_if;
}
#define SET_IF(name, number, expression)                                                           \
    do_SET_IF_##name : EVALUATE(number, expression, goto set_unknown) r[op->d] = taken;            \
    NEXT;
    FOR_CONDITIONS(SET_IF)
set_unknown:
    SET_POISON(BIT(op->d));
    NEXT;
#define MOVE_IF(name, number, expression)                                                          \
    do_MOVE_IF_32_##name : do_MOVE_IF_64_##name                                                    \
        : EVALUATE(number, expression, goto set_unknown) goto move_if;
    FOR_CONDITIONS(MOVE_IF)
move_if:
    if (taken) {
        r[op->d] = r[op->s];
        if (unlikely(poison))
            poison = (poison & ~BIT(op->d)) | (poison >> op->s & 1) << op->d;
    }
    if (op->code <= OP_MOVE_IF_32_NLE)
        r[op->d] = (uint32_t)r[op->d];
    NEXT;

    FOR_SOURCES(ADD)
    FOR_SOURCES(SUB)
    FOR_SOURCES(CMP)
    FOR_SOURCES(ADC)
    FOR_SOURCES(SBB)
result_unknown:
    SET_POISON(BIT(op->d));
    lazy_flags_poison(flags);
    NEXT;
    FOR_SOURCES(AND)
    FOR_SOURCES(OR)
    FOR_SOURCES(XOR)
    FOR_SOURCES(TEST)
do_CLEAR:
    r[op->d] = 0;
    SET_FLAGS(64, 0, 0, op->immediate ? 0 : FLAG_AF);
    NEXT;
do_BORROW:
    EVALUATE_CARRY(goto result_unknown)
    r[op->d] = carry ? (op->width == 4 ? UINT32_MAX : UINT64_MAX) : 0;
    SET_FLAGS(64, carry ? UINT64_MAX : 0, carry ? UINT64_MAX : 0, 0);
    NEXT;
    FOR_WIDTHS(INC)
    FOR_WIDTHS(DEC)
    FOR_WIDTHS(NEG)
    FOR_WIDTHS(NOT)

    FOR_SOURCES(SHL)
    FOR_SOURCES(SHR)
    FOR_SOURCES(SAR)
    FOR_SOURCES(ROL)
    FOR_SOURCES(ROR)
    FOR_WIDTHS(BIT_TEST)
do_BIT_ADDRESS : {
    int64_t bit = (int64_t)sign_extend(r[op->s], op->width);
    unsigned bits = 8u * op->width;
    r[op->d] = ADDRESS() + (uint64_t)((bit & -(int64_t)bits) / 8);
    NEXT;
}
    FOR_WIDTHS(MULTIPLY_D)
    FOR_WIDTHS(MULTIPLY_S)

#define OUT_OF_LINE(name, function)                                                                \
    do_##name : WITH_STATE(function(it, op));                                                      \
    NEXT;
    OUT_OF_LINE(ROTATE_CARRY, x86_rotate_carry)
    OUT_OF_LINE(DOUBLE_SHIFT, x86_double_shift)
    OUT_OF_LINE(BIT_SCAN, x86_bit_scan)
    OUT_OF_LINE(MULTIPLY_WIDE, x86_multiply_wide)
    OUT_OF_LINE(SIGN_TO_RDX, x86_sign_to_rdx)
    OUT_OF_LINE(COMPARE_EXCHANGE, x86_compare_exchange)
    OUT_OF_LINE(ZERO_UPPER, x86_zero_upper)
    OUT_OF_LINE(LOAD_MXCSR, x86_load_mxcsr)
    OUT_OF_LINE(STORE_MXCSR, x86_store_mxcsr)
    OUT_OF_LINE(POISON, x86_poison)
    OUT_OF_LINE(X87_LOAD_CONTROL, x87_load_control)
    OUT_OF_LINE(X87_STORE_CONTROL, x87_store_control)
do_DIVIDE:
    WITH_STATE(taken = x86_divide(it, op));
    if (!taken)
        STOP(INTERPRETER_UNKNOWN); /* the program is about to get SIGFPE */
    NEXT;
do_SWAP_BYTES : {
    uint64_t value = r[op->s];
    r[op->d] = op->width == 8   ? __builtin_bswap64(value)
               : op->width == 4 ? __builtin_bswap32((uint32_t)value)
                                : __builtin_bswap16((uint16_t)value);
    NEXT;
}
do_COMPARE_EXCHANGE_WIDE : {
    uint64_t address = ADDRESS(), value[2] = {0, 0};
    enum memory_outcome outcome = memory_read(it, address, value, op->width);
    if (outcome == MEMORY_FAULT)
        STOP(INTERPRETER_UNREADABLE);
    WITH_STATE(taken = x86_compare_exchange_wide(it, op, value, outcome == MEMORY_KNOWN));
    REPORT(address);
    report_access(&out, IP(), address,
                  (op->access & ~UINT64_C(0xff00)) | (uint64_t)ACCESS_STORE << 8);
    store_buffer_write(&it->store, address, taken ? NULL : value, op->width);
    NEXT;
}
do_FLAGS_TO_REGISTER:
    if (flags->kind & (uint64_t)op->immediate & FLAGS_ARITHMETIC)
        SET_POISON(BIT(op->d));
    r[op->d] = (lazy_flags_value(flags) & FLAGS_ARITHMETIC) |
               (flags->other & ~(uint32_t)FLAGS_ARITHMETIC) | 2;
    NEXT;
do_REGISTER_TO_FLAGS:
    lazy_flags_assign(flags, r[op->s], (uint32_t)op->immediate & FLAGS_ARITHMETIC, 0);
    flags->other = (flags->other & ~(uint32_t)(op->immediate & ~FLAGS_ARITHMETIC)) |
                   (uint32_t)(r[op->s] & (uint64_t)op->immediate & ~(uint64_t)FLAGS_ARITHMETIC);
    NEXT;
do_FLAG_BITS:
    if (op->width) {
        uint32_t unknown = flags->kind & FLAG_CF;
        lazy_flags_assign(flags, ~lazy_flags_value(flags), FLAG_CF, unknown);
    } else if ((op->displacement | op->immediate) & FLAG_CF) {
        lazy_flags_assign(flags, (uint64_t)op->immediate,
                          (uint32_t)(op->displacement | op->immediate), 0);
    } else {
        flags->other = (flags->other & ~(uint32_t)FLAG_DF) | (uint32_t)op->immediate;
    }
    NEXT;
do_STRING : {
    struct output output = {out, end,
                            instruction_budget - (it->instructions - before) - op->instruction};
    WITH_STATE(taken = x86_string(it, op, IP(), &output, &why));
    out = output.next;
    if (!taken)
        goto stop;
    NEXT;
}
do_TOUCH : {
    uint64_t address = ADDRESS(), size = (uint64_t)op->immediate, tail = op->access;
    for (uint64_t done = 0; done < size; done += 64) {
        uint64_t piece = size - done < 64 ? size - done : 64;
        report_access(&out, IP(), address + done, (tail & ~UINT64_C(0xff)) | piece);
        if (op->s)
            store_buffer_write(&it->store, address + done, NULL, (unsigned)piece);
    }
    NEXT;
}

do_VECTOR_LOAD : {
    uint64_t address = ADDRESS();
    enum memory_outcome outcome = x86_vector_load(it, op, address);
    if (unlikely(outcome != MEMORY_KNOWN)) {
        if (outcome == MEMORY_FAULT)
            STOP(INTERPRETER_UNREADABLE);
        SET_POISON(BIT(op->d));
    }
    REPORT(address);
    NEXT;
}
do_VECTOR_STORE : {
    uint64_t address = ADDRESS();
    REPORT(address);
    store_buffer_write(&it->store, address, vector_bytes(it, op->s) + op->immediate, op->width);
    NEXT;
}
do_VECTOR_MOVE:
    x86_vector_set(it, op, vector_bytes(it, op->s));
    NEXT;
do_VECTOR_CLEAR : {
    static const uint8_t zeros[VECTOR_BYTES];
    x86_vector_set(it, op, zeros);
    NEXT;
}
do_VECTOR_TO_GENERAL:
    memcpy(&r[op->d], vector_bytes(it, op->s), 8);
    if (op->width == 4)
        r[op->d] = (uint32_t)r[op->d];
    NEXT;
do_GENERAL_TO_VECTOR : {
    const uint64_t value[2] = {op->width == 4 ? (uint32_t)r[op->s] : r[op->s], 0};
    uint8_t *to = vector_bytes(it, op->d);
    memcpy(to, value, 16);
    if (op->immediate)
        memset(to + 16, 0, VECTOR_BYTES - 16);
    NEXT;
}
do_STUB : {
    const struct micro_op *masks = op + 1;
    uint32_t set = masks->access & 0xffff, undefined = masks->access >> 16;
    if (unlikely(poison)) {
        if (poison & (uint64_t)masks->displacement)
            goto stub_unknown;
        poison &= ~(uint64_t)masks->immediate;
        if (poison == 0)
            table = clean_table;
    }
    if (unlikely(op->displacement)) {
        if (flags->kind & (uint64_t)op->displacement)
            goto stub_unknown;
        it->stub_flags = lazy_flags_value(flags) & FLAGS_ARITHMETIC;
    }
    ((stub_function *)(uintptr_t)op->immediate)(it);
    if (set | undefined)
        lazy_flags_assign(flags, it->stub_flags, set, undefined);
    op++;
    NEXT;
stub_unknown:
    SET_POISON((uint64_t)masks->immediate);
    if (set | undefined)
        lazy_flags_assign(flags, 0, 0, set | undefined);
    if (op->scale)
        it->mxcsr_poisoned = true;
    op++;
    NEXT;
}
do_X87_STUB:
    WITH_STATE(x87_stub(it, op));
    op++;
    NEXT;
do_SAVE_STATE:
    WITH_OUTPUT(taken = x86_save_state(it, op, IP(), ADDRESS(), &at));
    if (!taken)
        STOP(INTERPRETER_UNKNOWN);
    NEXT;
do_RESTORE_STATE:
    WITH_OUTPUT(taken = x86_restore_state(it, op, IP(), ADDRESS(), &at));
    if (!taken)
        STOP(INTERPRETER_UNKNOWN);
    NEXT;
do_MASKED_LOAD : {
    enum memory_outcome outcome;
    WITH_OUTPUT(outcome = x86_masked_load(it, op, IP(), ADDRESS(), &at));
    if (outcome == MEMORY_FAULT)
        STOP(INTERPRETER_UNREADABLE);
    NEXT;
}
do_MASKED_STORE:
    WITH_OUTPUT(x86_masked_store(it, op, IP(), ADDRESS(), &at));
    NEXT;
do_GATHER:
    WITH_OUTPUT(why = x86_gather(it, op, IP(), &at));
    if (why != INTERPRETER_FULL)
        goto stop;
    NEXT;
do_SCATTER:
    WITH_OUTPUT(why = x86_scatter(it, op, IP(), &at));
    if (why != INTERPRETER_FULL)
        goto stop;
    NEXT;
do_LOCK: /* one thread at a time is interpreted here: its accesses were made as others' are */
    NEXT;
do_STUB_MASKS: /* data */
    STOP(INTERPRETER_UNKNOWN);

stop: /* before the instruction of op is complete: out of its accesses, none are kept */
    ip = IP();
    it->instructions += op->instruction;
    out -= op->prior;
leave:
    decode_cache_leave(generation);
    it->poison = poison;
    it->ip = ip;
    it->accesses += (uint64_t)(out - start);
    *count = (size_t)(out - start);
    return why;
}
