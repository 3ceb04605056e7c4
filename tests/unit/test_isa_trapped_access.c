/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The access that trapped, found from the address after it: against the instructions of real code
 * decoded forwards, with random registers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "isa/trapped_access.h"
#include "sampling/random.h"

#if defined __clang__
#define OPTIMIZED /* as the whole file is */
#else
#define OPTIMIZED optimize("O2")
#endif

/* A function of this program to walk through, with operands of many kinds. */
__attribute__((noinline, OPTIMIZED)) static double mixed(double *a, int *b, char *c, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        a[i] += b[i % 7] * sum;
        b[(i * 5) % 11] ^= (int)c[i];
        c[i] = (char)(c[i / 2] + b[i % 3]);
        sum += a[n - i - 1] / (1 + (double)i);
    }
    return sum;
}

struct tally {
    unsigned seen, found, right_kind, right_address, right_place;
};

/* Walks code forwards: each operand of each instruction once as the one that trapped. */
static void walk(const unsigned char *code, size_t size, struct random *random, struct tally *tally)
{
    for (size_t at = 0; at + 16 < size;) {
        struct interpreter_registers registers;
        struct access accesses[8];
        unsigned length;
        int count;

        for (unsigned i = 0; i < INTERPRETER_REGISTERS; i++)
            registers.general[i] = random_next(random) >> 16;
        registers.ip = (uintptr_t)code + at;
        registers.fs_base = random_next(random) >> 16;
        registers.gs_base = registers.flags = 0;
        count = instruction_accesses(code + at, size - at, &registers, accesses, 8, &length);
        if (count < 0)
            return;
        for (int i = 0; i < count && at >= TRAPPED_CODE_BYTES; i++) {
            struct trapped_access found;
            uint8_t kind = 0;

            /* Calls end elsewhere; pushes, pops and strings move registers. */
            if (accesses[i].address + 8 == registers.general[INTERPRETER_STACK_POINTER] ||
                accesses[i].address == registers.general[INTERPRETER_STACK_POINTER])
                continue;
            for (int k = 0; k < count; k++)
                kind |= accesses[k].address == accesses[i].address ? accesses[k].kind : 0;
            registers.ip = (uintptr_t)code + at + length;
            tally->seen++;
            if (!trapped_access_find(code + at + length - TRAPPED_CODE_BYTES, TRAPPED_CODE_BYTES,
                                     &registers, accesses[i].address & ~UINT64_C(7), 8, 0, &found))
                continue;
            tally->found++;
            tally->right_kind += found.kind == kind;
            tally->right_address +=
                found.address == accesses[i].address && found.width == accesses[i].width;
            tally->right_place += found.ip == (uintptr_t)code + at;
        }
        at += length;
    }
}

static void real_code(void **state)
{
    struct random random;
    struct tally tally = {0};
    uint64_t seed = 4711;

    (void)state;
    random_seed(&random, seed);
    for (unsigned round = 0; round < 4; round++) {
        walk((const unsigned char *)(uintptr_t)mixed, 200, &random, &tally);
        walk((const unsigned char *)(uintptr_t)qsort, 2000, &random, &tally);
        walk((const unsigned char *)(uintptr_t)vfprintf, 6000, &random, &tally);
        walk((const unsigned char *)(uintptr_t)strtod, 6000, &random, &tally);
        walk((const unsigned char *)(uintptr_t)instruction_accesses, 1500, &random, &tally);
    }
    print_message(
        "seed %llu: %u operands, %u found, %u of the right kind, %u of the right address, "
        "%u of the right instruction\n",
        (unsigned long long)seed, tally.seen, tally.found, tally.right_kind, tally.right_address,
        tally.right_place);
    assert_true(tally.seen > 2000);
    assert_true(tally.found >= tally.seen * 99 / 100);
    assert_true(tally.right_kind >= tally.found * 995 / 1000);
    assert_true(tally.right_address >= tally.found * 97 / 100);
    assert_true(tally.right_place >= tally.found * 98 / 100);
}

static bool find(const unsigned char *code, size_t size, struct interpreter_registers *after,
                 uint64_t word, uint64_t expected, struct trapped_access *found)
{
    after->ip = 0x401000 + size;
    return trapped_access_find(code, size, after, word, 8, expected, found);
}

static void moved_registers(void **state)
{
    struct interpreter_registers after = {.general = {0}};
    struct trapped_access found;

    (void)state;
    after.general[INTERPRETER_STACK_POINTER] = 0x7000;
    after.general[6] = 0x5008;
    after.general[7] = 0x6008;
    /* push %rbp; pop %rbp; movsq; rep stosb under way (rdi has moved, the trap points to it). */
    assert_true(find((const unsigned char[]){0x90, 0x55}, 2, &after, 0x7000, 0, &found));
    assert_int_equal(found.kind, ACCESS_STORE);
    assert_true(find((const unsigned char[]){0x90, 0x5d}, 2, &after, 0x6ff8, 0, &found));
    assert_int_equal(found.kind, ACCESS_LOAD);
    assert_true(find((const unsigned char[]){0x48, 0xa5}, 2, &after, 0x5000, 0, &found));
    assert_int_equal(found.kind, ACCESS_LOAD);
    assert_true(find((const unsigned char[]){0x48, 0xa5}, 2, &after, 0x6000, 0, &found));
    assert_int_equal(found.kind, ACCESS_STORE);
    /* lock xadd %eax,(%rsi) */
    assert_true(
        find((const unsigned char[]){0xf0, 0x0f, 0xc1, 0x06}, 4, &after, 0x5008, 0, &found));
    assert_int_equal(found.kind, ACCESS_LOAD | ACCESS_STORE);
    assert_int_equal(found.width, 4);
    /* mov (%rax),%rax: the address is gone. */
    assert_false(find((const unsigned char[]){0x48, 0x8b, 0x00}, 3, &after, 0x9000, 0, &found));
}

/* The last byte of the instruction before may read as a prefix. */
static void prefixes_of_no_effect_are_no_part(void **state)
{
    enum { CODE = 0x401000 };
    struct interpreter_registers after = {.general = {[2] = 0x5008, [6] = 0x6008}};
    struct trapped_access found;

    (void)state;
    /* add %rsi,%rdx; mov %cl,(%rdx) */
    assert_true(
        find((const unsigned char[]){0x48, 0x01, 0xf2, 0x88, 0x0a}, 5, &after, 0x5008, 0, &found));
    assert_int_equal(found.ip, CODE + 3);
    assert_int_equal(found.address, 0x5008);
    /* ...; mov %ecx,(%rdx): 2e, then 48 before a legacy prefix */
    assert_true(
        find((const unsigned char[]){0x90, 0x2e, 0x89, 0x0a}, 4, &after, 0x5008, 0, &found));
    assert_int_equal(found.ip, CODE + 2);
    assert_true(
        find((const unsigned char[]){0x90, 0x48, 0x66, 0x89, 0x0a}, 5, &after, 0x5008, 0, &found));
    assert_int_equal(found.ip, CODE + 2);
    assert_int_equal(found.width, 2);
    /* movss %xmm0,(%rdx) has its f3; a movsb is repeated by its. */
    assert_true(
        find((const unsigned char[]){0x90, 0xf3, 0x0f, 0x11, 0x02}, 5, &after, 0x5008, 0, &found));
    assert_int_equal(found.ip, CODE + 1);
    assert_int_equal(found.width, 4);
    /* mov %rcx,(%rdx), or mov %ecx,(%rdx) after something that ends with 48: who knows says. */
    assert_true(
        find((const unsigned char[]){0x90, 0x48, 0x89, 0x0a}, 4, &after, 0x5008, 0, &found));
    assert_int_equal(found.ip, CODE + 1);
    assert_true(
        find((const unsigned char[]){0x90, 0x48, 0x89, 0x0a}, 4, &after, 0x5008, CODE + 2, &found));
    assert_int_equal(found.ip, CODE + 2);
    assert_int_equal(found.width, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes_of_no_effect_are_no_part),
        cmocka_unit_test(real_code),
        cmocka_unit_test(moved_registers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
