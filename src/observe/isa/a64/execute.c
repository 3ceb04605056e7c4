/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hot loop: instruction after instruction, each fetched anew and looked up by its word among
 * those decoded before. Signal-safe.
 */
#include "isa/a64/arithmetic.h"
#include "isa/a64/system.h"
#include "isa/memory.h"
#include "isa/report.h"

#include "signal_safe.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

static inline bool fetch(const struct interpreter *it, uint64_t ip, uint32_t *word)
{
    uint64_t value;
    if (unlikely(it->options.read != NULL))
        return it->options.read(it->options.read_context, ip, word, sizeof *word);
    if (unlikely(!guarded_load_32(ip, &value)))
        return false;
    *word = (uint32_t)value;
    return true;
}

static inline const struct a64_operation *decoded(struct interpreter *it, uint32_t word)
{
    struct a64_operation *op =
        &it->decoded[(word * UINT32_C(0x9E3779B1)) >> (32 - __builtin_ctz(DECODED_MAX))];
    if (unlikely(op->word != word))
        a64_decode(word, op);
    return op;
}

#define STOP(cause)                                                                                \
    do {                                                                                           \
        why = (cause);                                                                             \
        goto leave;                                                                                \
    } while (0)
#define EFFECTIVE() a64_address(op, r, ip)
#define REPORT(address, bytes, kind)                                                               \
    report_access(&out, ip, address, access_tail(bytes, kind, false))
#define WRITE_BACK()                                                                               \
    do {                                                                                           \
        if (op->mode == ADDRESSING_PRE || op->mode == ADDRESSING_POST)                             \
            r[op->n] += (uint64_t)op->immediate;                                                   \
    } while (0)
#define NEED_STORE_ROOM()                                                                          \
    do {                                                                                           \
        if (unlikely(store_buffer_room(&it->store) < 2))                                           \
            STOP(INTERPRETER_STORE_BUFFER);                                                        \
    } while (0)
/* Out of the loop; the state that it works on is in step. */
#define STEP(statement)                                                                            \
    do {                                                                                           \
        struct a64_step step = {ip, EFFECTIVE(), poison, 0, out};                                  \
        why = (statement);                                                                         \
        if (unlikely(why != INTERPRETER_FULL))                                                     \
            goto leave;                                                                            \
        fresh = step.fresh;                                                                        \
        out = step.out;                                                                            \
    } while (0)

#define LOAD(code, bits, convert)                                                                  \
    case code: {                                                                                   \
        uint64_t address = EFFECTIVE(), value;                                                     \
        enum memory_outcome outcome = memory_load_##bits(it, address, &value);                     \
        if (unlikely(outcome != MEMORY_KNOWN)) {                                                   \
            if (outcome == MEMORY_FAULT)                                                           \
                STOP(INTERPRETER_UNREADABLE);                                                      \
            fresh = op->writes;                                                                    \
        }                                                                                          \
        REPORT(address, bits / 8, ACCESS_LOAD);                                                    \
        WRITE_BACK();                                                                              \
        r[op->d] = convert;                                                                        \
        break;                                                                                     \
    }
#define STORE(bits)                                                                                \
    case A64_STORE_##bits: {                                                                       \
        uint64_t address = EFFECTIVE();                                                            \
        NEED_STORE_ROOM();                                                                         \
        REPORT(address, bits / 8, ACCESS_STORE);                                                   \
        store(it, address, op->d, bits / 8, poison);                                               \
        WRITE_BACK();                                                                              \
        break;                                                                                     \
    }

static inline void store(struct interpreter *it, uint64_t address, unsigned reg, unsigned width,
                         uint64_t poison)
{
    if (unlikely(poison & general_bit(reg)))
        store_buffer_write(&it->store, address, NULL, width);
    else
        memory_store(it, address, it->r[reg], width);
}

/* One of a pair. */
static enum memory_outcome load(struct interpreter *it, uint64_t address, unsigned width,
                                uint64_t *value)
{
    return width == 8 ? memory_load_64(it, address, value) : memory_load_32(it, address, value);
}

static enum interpreter_stop load_signed(struct interpreter *it, const struct a64_operation *op,
                                         struct a64_step *step)
{
    uint64_t value;
    enum memory_outcome outcome = memory_load_any(it, step->address, &value, op->width);
    if (outcome == MEMORY_FAULT)
        return INTERPRETER_UNREADABLE;
    if (outcome == MEMORY_POISONED)
        step->fresh = op->writes;
    value = (uint64_t)bytes_signed(value, op->width);
    it->r[op->d] = op->code == A64_LOAD_SIGNED_32 ? (uint32_t)value : value;
    report_access(&step->out, step->ip, step->address, access_tail(op->width, ACCESS_LOAD, false));
    return INTERPRETER_FULL;
}

static enum interpreter_stop load_pair(struct interpreter *it, const struct a64_operation *op,
                                       struct a64_step *step)
{
    uint64_t first, second;
    enum memory_outcome outcome[2] = {
        load(it, step->address, op->width, &first),
        load(it, step->address + op->width, op->width, &second),
    };
    if (outcome[0] == MEMORY_FAULT || outcome[1] == MEMORY_FAULT)
        return INTERPRETER_UNREADABLE;
    bool is_signed = op->code == A64_LOAD_PAIR_SIGNED;
    it->r[op->d] = is_signed ? (uint64_t)bytes_signed(first, op->width) : first;
    it->r[op->a] = is_signed ? (uint64_t)bytes_signed(second, op->width) : second;
    step->fresh = (outcome[0] != MEMORY_KNOWN ? general_bit(op->d) : 0) |
                  (outcome[1] != MEMORY_KNOWN ? general_bit(op->a) : 0);
    report_access(&step->out, step->ip, step->address,
                  access_tail(2 * op->width, ACCESS_LOAD, false));
    return INTERPRETER_FULL;
}

/* Every word of code that the program has written itself is code that nobody else can see yet. */
static inline bool runs_own_stores(struct interpreter *it, uint64_t ip)
{
    return unlikely(store_buffer_page_written(&it->store, ip)) &&
           store_buffer_touches(&it->store, ip, 4);
}

enum interpreter_stop a64_execute(struct interpreter *it, struct access *out, size_t capacity,
                                  uint64_t instruction_budget, size_t *count)
{
    struct access *const start = out;
    struct access *const end = out + capacity;
    uint64_t *const r = it->r;
    struct a64_flags *const flags = &it->flags;
    const uint64_t last = it->instructions + instruction_budget;
    uint64_t poison = it->poison, ip = it->ip, next, fresh, flag_result;
    int64_t flag_extended, tested;
    bool taken;
    enum interpreter_stop why;
    const struct a64_operation *op;

    for (;; poison = (poison & ~op->writes) | fresh, ip = next, it->instructions++) {
        uint32_t word;
        if (unlikely(it->instructions == last))
            STOP(INTERPRETER_BUDGET);
        if (unlikely(!fetch(it, ip, &word)))
            STOP(INTERPRETER_UNREADABLE);
        if (runs_own_stores(it, ip))
            STOP(INTERPRETER_UNKNOWN);
        op = decoded(it, word);
        if (unlikely((uintptr_t)end - (uintptr_t)out < op->accesses * sizeof *out))
            STOP(INTERPRETER_FULL);
        next = ip + 4;
        fresh = 0;
        if (unlikely(poison & op->reads)) {
            if (op->unknown == UNKNOWN_ADDRESS)
                STOP(INTERPRETER_POISONED_ADDRESS);
            if (op->unknown == UNKNOWN_BRANCH)
                STOP(INTERPRETER_POISONED_BRANCH);
            fresh = op->writes;
            flags->unknown |= op->unknown == UNKNOWN_RESULT_AND_FLAGS;
            continue;
        }
        switch ((enum a64_code)op->code) {
        case A64_UNKNOWN:
        case A64_CODES:
            STOP(INTERPRETER_UNKNOWN);
        case A64_NOTHING:
            break;
        case A64_POISON:
            fresh = op->writes;
            flags->unknown |= op->mode != 0;
            break;
        case A64_SYSTEM_CALL:
            STOP(INTERPRETER_SYSTEM_CALL);
        case A64_MOVE:
            r[op->d] = (uint64_t)op->immediate;
            break;
        case A64_ADDRESS:
            r[op->d] = ip + (uint64_t)op->immediate;
            break;
        case A64_PAGE_ADDRESS:
            r[op->d] = (ip & ~UINT64_C(0xfff)) + (uint64_t)op->immediate;
            break;
            ARITHMETIC(32)
            ARITHMETIC(64)
            OF_WIDTH(32)
            OF_WIDTH(64)
        case A64_EXTRACT:
            r[op->d] = r[op->n] >> op->shift & store_buffer_mask(op->width);
            break;
        case A64_PLACE:
            r[op->d] = (r[op->n] & store_buffer_mask(op->width)) << op->shift;
            break;
        case A64_MULTIPLY_LONG: {
            uint64_t product = op->mode & 2
                                   ? (uint64_t)((int64_t)(int32_t)r[op->n] * (int32_t)r[op->m])
                                   : (uint64_t)(uint32_t)r[op->n] * (uint32_t)r[op->m];
            r[op->d] = op->mode & 1 ? r[op->a] - product : r[op->a] + product;
            break;
        }
        case A64_MULTIPLY_HIGH:
            r[op->d] = a64_multiply_high(r[op->n], r[op->m], op->mode);
            break;
        case A64_CRC32:
            r[op->d] = a64_crc32(op, (uint32_t)r[op->n], r[op->m]);
            break;
        case A64_ONE_SOURCE:
            r[op->d] = a64_one_source(op, r[op->n]);
            break;
        case A64_ROTATE_FLAGS: {
            uint32_t bits = (uint32_t)rotate_64(r[op->n], op->shift) & 15;
            flags->nzcv = (flags->nzcv & ~(uint32_t)op->mode) | (bits & op->mode);
            flags->from_result = false;
            break;
        }
        case A64_SET_FLAGS_OF: {
            uint32_t value = (uint32_t)r[op->n], top = op->width - 1u;
            flags->nzcv = (flags->nzcv & FLAG_C) | (value >> top & 1 ? FLAG_N : 0) |
                          (value << (31 - top) == 0 ? FLAG_Z : 0) |
                          ((value >> (top + 1) ^ value >> top) & 1 ? FLAG_V : 0);
            flags->from_result = false;
            break;
        }
        case A64_INVERT_CARRY:
            flags->nzcv ^= FLAG_C;
            break;
        case A64_READ_SYSTEM:
            if (!a64_read_system(it, op))
                fresh = op->writes;
            break;
        case A64_WRITE_SYSTEM:
            if (!a64_write_system(it, op, !(poison & general_bit(op->n))))
                STOP(INTERPRETER_UNKNOWN);
            break;
        case A64_AUTHENTICATE:
            r[op->d] = op->mode == AUTHENTICATE_OR_STRIP
                           ? a64_strip(r[op->d])
                           : a64_sign(r[op->d], r[op->n], op->mode == SIGN_B);
            break;
        case A64_CLEAR_MONITOR:
            it->monitor.width = 0;
            break;

        case A64_BRANCH:
            next = ip + (uint64_t)op->immediate;
            goto branched;
        case A64_BRANCH_IF:
            if (flags->unknown && op->shift < 14)
                STOP(INTERPRETER_POISONED_BRANCH);
            taken = a64_condition(op->shift, flags->nzcv);
            tested = flags->result;
            if (likely(flags->from_result))
                goto compared;
            goto decided;
        case A64_BRANCH_BIT_CLEAR:
            taken = !(r[op->n] >> op->shift & 1);
            goto decided;
        case A64_BRANCH_BIT_SET:
            taken = r[op->n] >> op->shift & 1;
            goto decided;
        compared:
            if (unlikely(it->options.condition != NULL))
                it->options.condition(it->options.branch_context, ip, tested);
        decided:
            if (!taken)
                break;
            next = ip + (uint64_t)op->immediate;
            goto branched;
        case A64_BRANCH_REGISTER:
            next = op->mode ? a64_strip(r[op->n]) : r[op->n];
            if (next & 3)
                STOP(INTERPRETER_UNKNOWN);
        branched:
            if (unlikely(it->options.backward_branch != NULL) && next < ip) {
                it->poison = poison;
                it->ip = next;
                it->options.backward_branch(it->options.branch_context, it, next,
                                            it->accesses + (uint64_t)(out - start));
            }
            break;
        case A64_BRANCH_LINK:
            next = ip + (uint64_t)op->immediate;
            goto called;
        case A64_CALL_REGISTER:
            next = op->mode ? a64_strip(r[op->n]) : r[op->n];
            if (next & 3)
                STOP(INTERPRETER_UNKNOWN);
        called:
            r[INTERPRETER_LINK_REGISTER] = ip + 4;
            if (unlikely(it->options.call != NULL)) {
                it->poison = poison;
                it->options.call(it->options.branch_context, it,
                                 it->accesses + (uint64_t)(out - start), next, ip + 4);
            }
            break;
        case A64_RETURN:
            next = op->mode ? a64_strip(r[op->n]) : r[op->n];
            if (next & 3)
                STOP(INTERPRETER_UNKNOWN);
            if (unlikely(it->options.call != NULL)) {
                it->poison = poison;
                it->options.call(it->options.branch_context, it,
                                 it->accesses + (uint64_t)(out - start), next, 0);
            }
            break;

            LOAD(A64_LOAD_8, 8, value)
            LOAD(A64_LOAD_16, 16, value)
            LOAD(A64_LOAD_32, 32, value)
            LOAD(A64_LOAD_64, 64, value)
            STORE(8)
            STORE(16)
            STORE(32)
            STORE(64)
        case A64_LOAD_SIGNED_32:
        case A64_LOAD_SIGNED_64:
            STEP(load_signed(it, op, &step));
            WRITE_BACK();
            break;
        case A64_LOAD_PAIR:
        case A64_LOAD_PAIR_SIGNED:
            STEP(load_pair(it, op, &step));
            WRITE_BACK();
            break;
        case A64_STORE_PAIR: {
            uint64_t address = EFFECTIVE();
            NEED_STORE_ROOM();
            REPORT(address, 2 * op->width, ACCESS_STORE);
            store(it, address, op->d, op->width, poison);
            store(it, address + op->width, op->a, op->width, poison);
            WRITE_BACK();
            break;
        }
        case A64_VECTOR_LOAD:
        case A64_VECTOR_LOAD_PAIR:
            STEP(a64_vector_load(it, op, &step));
            WRITE_BACK();
            break;
        case A64_VECTOR_STORE:
        case A64_VECTOR_STORE_PAIR:
            STEP(a64_vector_store(it, op, &step));
            WRITE_BACK();
            break;
        case A64_STRUCTURE:
            STEP(a64_structure(it, op, &step));
            WRITE_BACK();
            if (op->mode == ADDRESSING_POST_BY)
                r[op->n] += r[op->m];
            break;
        case A64_ZERO_BLOCK:
            STEP(a64_zero_block(it, &step));
            break;
        case A64_LOAD_EXCLUSIVE:
            STEP(a64_load_exclusive(it, op, &step));
            break;
        case A64_STORE_EXCLUSIVE:
            STEP(a64_store_exclusive(it, op, &step));
            break;
        case A64_COMPARE_AND_SWAP:
            STEP(a64_compare_and_swap(it, op, &step));
            break;
        case A64_ATOMIC:
            STEP(a64_atomic(it, op, &step));
            break;
        case A64_VECTOR:
            STEP(a64_vector(it, op, &step));
            break;
        case A64_SCALABLE:
            STEP(a64_scalable(it, op, &step));
            break;
        }
    }
leave:
    it->poison = poison;
    it->ip = ip;
    it->accesses += (uint64_t)(out - start);
    *count = (size_t)(out - start);
    return why;
}
