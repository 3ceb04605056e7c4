/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A64 instructions as a processor did them (a64_instructions.rec, made by tests/support/record-a64)
 * against the interpreter: all that it claims to know must agree.
 *
 * Environment: A64_RECORDING, another file.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa/state.h"
#include "unit/a64_machine.h"

enum { ENTRIES_MAX = 4096, MISMATCHES_SHOWN = 40, ACCESSES_MAX = 256 };

struct recorded {
    uint32_t word, seed;
    uint16_t count;
    uint16_t entries[ENTRIES_MAX][2];
};

static struct interpreter *interpreter;
static struct recorded recorded;
static struct a64_machine before;
static unsigned mismatches, tried[A64_CODES], known[A64_CODES];

static bool next_recorded(FILE *file)
{
    return fread(&recorded.word, 4, 1, file) == 1 && fread(&recorded.seed, 4, 1, file) == 1 &&
           fread(&recorded.count, 2, 1, file) == 1 && recorded.count <= ENTRIES_MAX &&
           fread(recorded.entries, 4, recorded.count, file) == recorded.count;
}

/* The recorded entry with this key, or NULL: unchanged. */
static const uint16_t *entry_of(unsigned key)
{
    for (unsigned i = 0; i < recorded.count; i++)
        if (recorded.entries[i][0] == key)
            return &recorded.entries[i][1];
    return NULL;
}

static void complain(const char *what, unsigned number, uint64_t mine)
{
    if (mismatches++ < MISMATCHES_SHOWN)
        fprintf(stderr, "# %08x, seed %u: %s %u differs, interpreted as %#llx\n", recorded.word,
                recorded.seed, what, number, (unsigned long long)mine);
}

/* Contents as recorded, or as they were if the instruction left them alone. */
static bool agrees(unsigned key, const void *mine, const void *old, size_t size)
{
    const uint16_t *entry = entry_of(key);
    return entry ? *entry == a64_digest(mine, size) : memcmp(mine, old, size) == 0;
}

static bool compare_registers(void)
{
    struct interpreter_registers mine;
    uint32_t poisoned = interpreter_poisoned_registers(interpreter);
    const uint16_t *flags = entry_of(A64_KEY_FLAGS);
    const uint64_t next = A64_INSTRUCTION + 4;
    bool all_known = poisoned == 0;

    interpreter_get_registers(interpreter, &mine);
    for (unsigned i = 0; i < INTERPRETER_REGISTERS; i++)
        if (!(poisoned >> i & 1) &&
            !agrees(i, &mine.general[i], &before.registers.general[i], sizeof mine.general[i]))
            complain("x", i, mine.general[i]);
    if (!agrees(A64_KEY_IP, &mine.ip, &next, sizeof mine.ip))
        complain("ip", 0, mine.ip);
    if (interpreter_poisoned_flags(interpreter))
        all_known = false;
    else if (mine.flags != (flags ? (uint64_t)*flags << 28 : before.registers.flags))
        complain("flags", 0, mine.flags);
    for (unsigned i = 0; i < 32; i++) {
        uint8_t vector[64];
        uint64_t low;
        if (!interpreter_get_vector(interpreter, i, vector)) {
            all_known = false;
        } else if (!agrees(A64_KEY_VECTOR + i, vector, before.vector[i], sizeof vector)) {
            memcpy(&low, vector, sizeof low);
            complain("v", i, low);
        }
    }
    for (unsigned i = 0; i < A64_PREDICATES; i++) {
        if (interpreter->predicate_poison >> i & 1)
            all_known = false;
        else if (!agrees(A64_KEY_PREDICATE + i, &interpreter->predicate[i], &before.predicate[i],
                         sizeof before.predicate[i]))
            complain("p", i, interpreter->predicate[i]);
    }
    return all_known;
}

static void compare_memory(void)
{
    for (unsigned offset = 0; offset < A64_SANDBOX_SIZE; offset++) {
        uint64_t mine;
        const uint16_t *entry = entry_of(A64_KEY_MEMORY + offset);
        uint8_t real = entry ? (uint8_t)*entry : a64_machine_original(offset);
        if (interpreter_peek(interpreter, A64_SANDBOX + offset, 1, &mine) && mine != real)
            complain("byte", offset, mine);
    }
}

/* Every byte that changed was in a reported store. */
static void compare_accesses(const struct access *accesses, size_t count)
{
    for (unsigned i = 0; i < recorded.count; i++) {
        uint64_t address = A64_SANDBOX + (uint64_t)recorded.entries[i][0] - A64_KEY_MEMORY;
        bool reported = recorded.entries[i][0] < A64_KEY_MEMORY;
        for (size_t k = 0; k < count && !reported; k++)
            reported = accesses[k].kind == ACCESS_STORE && address >= accesses[k].address &&
                       address < accesses[k].address + accesses[k].width;
        if (!reported)
            complain("unreported store", recorded.entries[i][0], address);
    }
}

/* Memory is compared where something may have been stored. */
static bool stores(const struct access *accesses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (accesses[i].kind == ACCESS_STORE)
            return true;
    return recorded.count && recorded.entries[recorded.count - 1][0] >= A64_KEY_MEMORY;
}

static void compare_one(void)
{
    struct access accesses[ACCESSES_MAX];
    uint8_t frame[A64_EXTENDED_SIZE] __attribute__((aligned(16)));
    enum interpreter_stop why;
    struct a64_operation op;

    a64_decode(recorded.word, &op);
    a64_machine_random(&before, recorded.seed);
    a64_machine_to_frame(&before, frame);
    memcpy((void *)(uintptr_t)A64_INSTRUCTION, &recorded.word, sizeof recorded.word);
    interpreter_begin(interpreter, &before.registers, frame);
    size_t count = interpreter_run(interpreter, accesses, ACCESSES_MAX, 1, &why);
    if (why != INTERPRETER_BUDGET)
        return;
    tried[op.code]++;
    known[op.code] += compare_registers();
    compare_accesses(accesses, count);
    if (stores(accesses, count))
        compare_memory();
}

static void recorded_instructions(void **state)
{
    const char *name = getenv("A64_RECORDING");
    unsigned total = 0, compared = 0, complete = 0;

    (void)state;
    FILE *file = fopen(name ? name : SOURCE_DIRECTORY "/tests/unit/a64_instructions.rec", "rb");
    assert_non_null(file);
    a64_machine_reset(0);
    while (next_recorded(file)) {
        compare_one();
        total++;
    }
    assert_true(feof(file));
    fclose(file);
    for (unsigned i = 0; i < A64_CODES; i++) {
        compared += tried[i];
        complete += known[i];
    }
    print_message("%u instructions recorded, %u compared, all registers known after %u\n", total,
                  compared, complete);
    assert_int_equal(mismatches, 0);
    assert_true(compared > total * 9 / 10);
}

static int setup(void **state)
{
    (void)state;
    interpreter = a64_machine_create();
    return interpreter ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded_instructions)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
