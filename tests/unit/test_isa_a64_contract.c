/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A64: the accesses of instructions, by the manual, and the interpreter's contract on short
 * programs: stops, poison, hooks, exclusives, code that changes, the access that trapped. Words are
 * those of the GNU assembler.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "isa/trapped_access.h"
#include "unit/a64_machine.h"

enum { LOAD = ACCESS_LOAD, STORE = ACCESS_STORE, BOTH = LOAD | STORE, CAPACITY = 256 };
enum { BASE = 0x10000, IP = 0x400000, DATA = A64_SANDBOX + 256 };

/* x1 = BASE, x2 = 2; the vector length is 64 where the machine has no say. */
static const struct {
    uint32_t word;
    const char *text;
    unsigned kind;  /* 0: no access */
    int64_t offset; /* from x1 */
    unsigned width;
} operands[] = {
    {0x39400c20, "ldrb w0, [x1, #3]", LOAD, 3, 1},
    {0x789fc020, "ldursh x0, [x1, #-4]", LOAD, -4, 2},
    {0xb8408420, "ldr w0, [x1], #8", LOAD, 0, 4},
    {0xf8010c20, "str x0, [x1, #16]!", STORE, 16, 8},
    {0xf862d820, "ldr x0, [x1, w2, sxtw #3]", LOAD, 16, 8},
    {0x3dc00820, "ldr q0, [x1, #32]", LOAD, 32, 16},
    {0x3d000420, "str b0, [x1, #1]", STORE, 1, 1},
    {0xb8404820, "ldtr w0, [x1, #4]", LOAD, 4, 4},
    {0xa9410c20, "ldp x0, x3, [x1, #16]", LOAD, 16, 16},
    {0x697f0c20, "ldpsw x0, x3, [x1, #-8]", LOAD, -8, 8},
    {0xadbf0420, "stp q0, q1, [x1, #-32]!", STORE, -32, 32},
    {0x6c408420, "ldnp d0, d1, [x1, #8]", LOAD, 8, 16},
    {0x58000080, "ldr x0, .+16", LOAD, IP + 16 - BASE, 8},
    {0xf9800020, "prfm pldl1keep, [x1]", 0, 0, 0},
    {0x885f7c20, "ldxr w0, [x1]", LOAD, 0, 4},
    {0xc8239424, "stlxp w3, x4, x5, [x1]", STORE, 0, 16},
    {0xc8dffc20, "ldar x0, [x1]", LOAD, 0, 8},
    {0x089ffc20, "stlrb w0, [x1]", STORE, 0, 1},
    {0xd9408020, "ldapur x0, [x1, #8]", LOAD, 8, 8},
    {0x88a07c23, "cas w0, w3, [x1]", BOTH, 0, 4},
    {0x48247c26, "casp x4, x5, x6, x7, [x1]", BOTH, 0, 16},
    {0xf8200023, "ldadd x0, x3, [x1]", BOTH, 0, 8},
    {0xb820303f, "stset w0, [x1]", BOTH, 0, 4},
    {0x38208023, "swpb w0, w3, [x1]", BOTH, 0, 1},
    {0x4cdf7020, "ld1 {v0.16b}, [x1], #16", LOAD, 0, 16},
    {0x4c400820, "ld4 {v0.4s-v3.4s}, [x1]", LOAD, 0, 64},
    {0x0c828020, "st2 {v0.8b, v1.8b}, [x1], x2", STORE, 0, 16},
    {0x0d407020, "ld3 {v0.h-v2.h}[2], [x1]", LOAD, 0, 6},
    {0x4d40cc20, "ld1r {v0.2d}, [x1]", LOAD, 0, 8},
    {0xd50b7b21, "dc cvau, x1", 0, 0, 0},
    {0xd5033bbf, "dmb ish", 0, 0, 0},
    {0x8b020020, "add x0, x1, x2", 0, 0, 0},
#ifndef __aarch64__
    {0xd50b7421, "dc zva, x1", STORE, 0, 64},
    {0x85804420, "ldr z0, [x1, #1, mul vl]", LOAD, 64, 64},
    {0xe5800020, "str p0, [x1]", STORE, 0, 8},
    {0xa5e24020, "ld1d {z0.d}, p0/z, [x1, x2, lsl #3]", LOAD, 16, 64},
    {0xa461a020, "ld1b {z0.d}, p0/z, [x1, #1, mul vl]", LOAD, 8, 8},
    {0x8542c020, "ld1rw {z0.s}, p0/z, [x1, #8]", LOAD, 8, 4},
    {0xc5c2c020, "ld1d {z0.d}, p0/z, [x1, z2.d]", 0, 0, 0},
#endif
};

static struct interpreter *interpreter;
static struct access out[CAPACITY];
static size_t count;
static enum interpreter_stop why;
static struct interpreter_registers at;

static void accesses_of_instructions(void **state)
{
    struct interpreter_registers registers = {.ip = IP};
    struct access found[8];
    unsigned length;

    (void)state;
    registers.general[1] = BASE;
    registers.general[2] = 2;
    for (unsigned i = 0; i < sizeof operands / sizeof *operands; i++) {
        uint32_t word = operands[i].word;
        unsigned kind = operands[i].kind;
        int expected = kind == BOTH ? 2 : kind != 0;

        print_message("%s\n", operands[i].text);
        assert_int_equal(instruction_accesses(&word, 4, &registers, found, 8, &length), expected);
        assert_int_equal(length, 4);
        for (int k = 0; k < expected; k++) {
            assert_int_equal(found[k].ip, IP);
            assert_int_equal(found[k].address, (uint64_t)BASE + (uint64_t)operands[i].offset);
            assert_int_equal(found[k].width, operands[i].width);
            assert_int_equal(found[k].kind, kind != BOTH ? (int)kind : k ? STORE : LOAD);
            assert_int_equal(found[k].read_modify_write, kind == BOTH);
        }
    }
    assert_int_equal(instruction_accesses("\0\0\0", 3, &registers, found, 8, &length), -1);
    assert_int_equal(instruction_accesses("\0\0\0\0", 4, &registers, found, 8, &length), -1);
}

static void trapped(void **state)
{
    struct interpreter_registers registers = {.ip = IP};
    struct trapped_access found;
    const uint32_t ldp = 0xa9410c20, ldadd = 0xf8200023, load = 0xf9400021; /* ldr x1, [x1] */

    (void)state;
    registers.general[1] = BASE;
    assert_true(trapped_access_find(&ldp, 4, &registers, BASE + 24, 8, 0, &found));
    assert_int_equal(found.ip, IP);
    assert_int_equal(found.address, BASE + 16);
    assert_int_equal(found.width, 16);
    assert_int_equal(found.kind, LOAD);
    assert_false(trapped_access_find(&ldp, 4, &registers, BASE + 8, 8, 0, &found));
    assert_true(trapped_access_find(&ldadd, 4, &registers, BASE, 8, 0, &found));
    assert_int_equal(found.kind, BOTH);
    /* Its own base is still what it was. */
    assert_true(trapped_access_find(&load, 4, &registers, BASE, 8, 0, &found));
    assert_int_equal(TRAPPED_CODE_BEFORE, 0);
}

/* Runs the words with x1 = DATA, x3 = 3, x5 = 5. */
static void begin(const uint32_t *words, size_t size)
{
    struct interpreter_registers registers = {.ip = A64_INSTRUCTION};
    const struct interpreter_options options = {.read = a64_machine_read};

    a64_machine_reset((uint32_t)A64_BRK);
    memset((void *)(uintptr_t)DATA, 0, 256);
    memcpy((void *)(uintptr_t)A64_INSTRUCTION, words, size);
    registers.general[1] = DATA;
    registers.general[3] = 3;
    registers.general[5] = 5;
    interpreter_set_options(interpreter, &options);
    interpreter_begin(interpreter, &registers, NULL);
}

static void run(uint64_t budget)
{
    count = interpreter_run(interpreter, out, CAPACITY, budget, &why);
    interpreter_get_registers(interpreter, &at);
}

#define BEGIN(...)                                                                                 \
    do {                                                                                           \
        const uint32_t words[] = {__VA_ARGS__};                                                    \
        begin(words, sizeof words);                                                                \
    } while (0)

static void exclusives(void **state)
{
    uint64_t value;

    (void)state;
    /* ldxr x0, [x1]; add x0, x0, #1; stxr w2, x0, [x1]; cbnz w2, .-12; svc #0 */
    BEGIN(0xc85f7c20, 0x91000400, 0xc8027c20, 0x35ffffa2, 0xd4000001);
    run(100);
    assert_int_equal(why, INTERPRETER_SYSTEM_CALL);
    assert_int_equal(at.ip, A64_INSTRUCTION + 16);
    assert_int_equal(at.general[2], 0);
    assert_int_equal(count, 2);
    assert_int_equal(out[1].kind, STORE);
    assert_true(interpreter_peek(interpreter, DATA, 8, &value));
    assert_int_equal(value, 1);
    assert_int_equal(*(uint64_t *)(uintptr_t)DATA, 0);
    /* The store alone, the load was before: fails, and is no access. */
    BEGIN(0xc8027c20, 0xd4000001);
    run(100);
    assert_int_equal(why, INTERPRETER_SYSTEM_CALL);
    assert_int_equal(at.general[2], 1);
    assert_int_equal(count, 0);
}

static void stops(void **state)
{
    (void)state;
    BEGIN(0xd4200000); /* brk */
    run(10);
    assert_int_equal(why, INTERPRETER_UNKNOWN);
    assert_int_equal(at.ip, A64_INSTRUCTION);
    BEGIN(0xf9400120); /* ldr x0, [x9]: 0 */
    run(10);
    assert_int_equal(why, INTERPRETER_UNREADABLE);
    BEGIN(0x9e660001, 0xf9400020); /* fmov x1, d0; ldr x0, [x1] */
    run(10);
    assert_int_equal(why, INTERPRETER_POISONED_ADDRESS);
    assert_int_equal(at.ip, A64_INSTRUCTION + 4);
    assert_int_equal(interpreter_poisoned_registers(interpreter), 2);
    BEGIN(0x1e602000, 0x54000000); /* fcmp d0, d0; b.eq . */
    run(10);
    assert_int_equal(why, INTERPRETER_POISONED_BRANCH);
    assert_int_equal(interpreter_poisoned_flags(interpreter), 0xf0000000);
    BEGIN(0xa5e0a020); /* ld1d {z0.d}, p0/z, [x1] with nothing known of vectors */
    run(10);
    assert_int_equal(why, INTERPRETER_UNKNOWN);
    BEGIN(0xd61f0060); /* br x3: 3 */
    run(10);
    assert_int_equal(why, INTERPRETER_UNKNOWN);
    /* str w0, .+8 by way of x1: code that the program has just written */
    BEGIN(0xb9000020, 0xd503201f, 0xd503201f);
    struct interpreter_registers registers = {.ip = A64_INSTRUCTION};
    registers.general[1] = A64_INSTRUCTION + 8;
    interpreter_begin(interpreter, &registers, NULL);
    run(10);
    assert_int_equal(why, INTERPRETER_UNKNOWN);
    assert_int_equal(at.ip, A64_INSTRUCTION + 8);
}

static void poison_in_memory(void **state)
{
    uint64_t value;

    (void)state;
    /* fmov x0, d0; stp x0, x3, [x1]; ldr x0, [x1]; ldr x4, [x1, #8]; eor x0, x0, x0; mov x0, x3 */
    BEGIN(0x9e660000, 0xa9000c20, 0xf9400020, 0xf9400424, 0xca000000, 0xaa0303e0);
    run(4);
    assert_int_equal(why, INTERPRETER_BUDGET);
    assert_int_equal(interpreter_poisoned_registers(interpreter), 1);
    assert_int_equal(at.general[4], 3);
    assert_false(interpreter_peek(interpreter, DATA, 8, &value));
    assert_true(interpreter_peek(interpreter, DATA + 8, 8, &value));
    run(1);
    assert_int_equal(interpreter_poisoned_registers(interpreter), 1);
    run(1);
    assert_int_equal(interpreter_poisoned_registers(interpreter), 0);
}

struct seen {
    unsigned branches, conditions, calls, returns;
    uint64_t accesses, target, return_address;
    int64_t result;
};

static void on_branch(void *context, const struct interpreter *it, uint64_t target,
                      uint64_t accesses)
{
    struct seen *seen = context;

    seen->branches++;
    seen->target = target;
    seen->accesses = accesses;
    assert_int_equal(interpreter_general(it)[1], DATA + 8 * accesses);
}

static void on_condition(void *context, uint64_t ip, int64_t result)
{
    struct seen *seen = context;

    assert_int_equal(ip, A64_INSTRUCTION + 8);
    seen->conditions++;
    seen->result = result;
}

static void on_call(void *context, const struct interpreter *of, uint64_t accesses, uint64_t target,
                    uint64_t return_address)
{
    struct seen *seen = context;

    (void)accesses;
    assert_ptr_equal(of, interpreter);
    assert_int_equal(target, A64_INSTRUCTION + (return_address ? 20 : 16));
    seen->calls += return_address != 0;
    seen->returns += return_address == 0;
    if (return_address)
        seen->return_address = return_address;
}

static void hooks(void **state)
{
    struct seen seen = {0};
    const struct interpreter_options options = {.read = a64_machine_read,
                                                .backward_branch = on_branch,
                                                .condition = on_condition,
                                                .call = on_call,
                                                .branch_context = &seen};

    (void)state;
    /* loop: ldr x0, [x1], #8; subs x3, x3, #1; b.ne loop; bl .+8; svc #0; ret */
    BEGIN(0xf8408420, 0xf1000463, 0x54ffffc1, 0x94000002, 0xd4000001, 0xd65f03c0);
    interpreter_set_options(interpreter, &options);
    run(100);
    assert_int_equal(why, INTERPRETER_SYSTEM_CALL);
    assert_int_equal(at.ip, A64_INSTRUCTION + 16);
    assert_int_equal(count, 3);
    assert_int_equal(seen.branches, 2);
    assert_int_equal(seen.target, A64_INSTRUCTION);
    assert_int_equal(seen.accesses, 2);
    assert_int_equal(seen.conditions, 3);
    assert_int_equal(seen.result, 0);
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.returns, 1);
    assert_int_equal(seen.return_address, A64_INSTRUCTION + 16);
    assert_int_equal(interpreter_instructions(interpreter), 11);
}

static void full_and_budget(void **state)
{
    (void)state;
    /* ldr x0, [x1]; b .-4 */
    BEGIN(0xf9400020, 0x17ffffff);
    count = interpreter_run(interpreter, out, 64, 1000, &why);
    assert_int_equal(why, INTERPRETER_FULL);
    assert_int_equal(count, 64);
    count = interpreter_run(interpreter, out, 256, 9, &why);
    assert_int_equal(why, INTERPRETER_BUDGET);
    assert_int_equal(interpreter_instructions(interpreter), 128 + 9);
    assert_int_equal(interpreter_accesses(interpreter), 64 + count);
}

/* whilelo p0.d, xzr, x3; ld1d {z0.d}, p0/z, [x1]: three lanes of eight; ptrues p0.h, vl2. */
static void loop_predicate(void **state)
{
    struct a64_machine machine;
    uint8_t frame[A64_EXTENDED_SIZE] __attribute__((aligned(16)));
    struct interpreter_registers registers = {.ip = A64_INSTRUCTION};

    (void)state;
    BEGIN(0x25e31fe0, 0xa5e0a020, 0x2559e040);
    a64_machine_random(&machine, 1);
    a64_machine_to_frame(&machine, frame);
    registers.general[1] = DATA;
    registers.general[3] = 3;
    interpreter_begin(interpreter, &registers, frame);
    run(2);
    assert_int_equal(why, INTERPRETER_BUDGET);
    assert_int_equal(count, 1);
    assert_int_equal(out[0].address, DATA);
    assert_int_equal(out[0].width, 24);
    assert_int_equal(at.flags, 0xa0000000); /* the first lane is in, the last is out */
    run(1);
    assert_int_equal(at.flags, 0x80000000); /* of the two lanes both are */
}

/* Vectors that the frame keeps in another place are found there; that place leads nowhere else. */
static void frame_goes_on_elsewhere(void **state)
{
    enum { EXTRA_MAGIC = 0x45585401, EXTRA_BYTES = 32, VECTORS_BYTES = 528, LENGTH = 4096 };
    static uint8_t frame[A64_EXTENDED_SIZE], place[LENGTH];
    const uint32_t extra[2] = {EXTRA_MAGIC, EXTRA_BYTES}, size = LENGTH;
    uint8_t *address = place, found[64];
    struct a64_machine machine;
    struct interpreter_registers registers = {.ip = IP};

    (void)state;
    a64_machine_random(&machine, 2);
    a64_machine_to_frame(&machine, place);
    memcpy(place + VECTORS_BYTES, extra, sizeof extra);
    memcpy(place + VECTORS_BYTES + 8, &address, sizeof address);
    memcpy(place + VECTORS_BYTES + 16, &size, sizeof size);
    memcpy(frame, extra, sizeof extra);
    memcpy(frame + 8, &address, sizeof address);
    memcpy(frame + 16, &size, sizeof size);
    interpreter_begin(interpreter, &registers, frame);
    for (unsigned i = 0; i < 32; i++) {
        assert_true(interpreter_get_vector(interpreter, i, found));
        assert_memory_equal(found, machine.vector[i], 16);
    }
    /* Nothing was kept: nothing is known. */
    address = NULL;
    memcpy(frame + 8, &address, sizeof address);
    memset(frame + 16, 0, sizeof size);
    interpreter_begin(interpreter, &registers, frame);
    assert_false(interpreter_get_vector(interpreter, 0, found));
}

static int setup(void **state)
{
    (void)state;
    interpreter = a64_machine_create();
    return interpreter ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_of_instructions),
        cmocka_unit_test(trapped),
        cmocka_unit_test(exclusives),
        cmocka_unit_test(stops),
        cmocka_unit_test(poison_in_memory),
        cmocka_unit_test(hooks),
        cmocka_unit_test(full_and_budget),
        cmocka_unit_test(loop_predicate),
        cmocka_unit_test(frame_goes_on_elsewhere),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
