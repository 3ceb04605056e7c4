/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The decoder as a handler loads it against the one that the dynamic loader has loaded into this
 * test: the same code gives the same instructions. Files that are no such library are refused.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <Zydis/Zydis.h>

#include "own/late_library.h"

static void failed(void)
{
    abort();
}

static const struct late_import imports[] = {
    {"memcpy", (void *)memcpy},           {"memset", (void *)memset},
    {"strlen", (void *)strlen},           {"__assert_fail", (void *)failed},
    {"__stack_chk_fail", (void *)failed},
};
enum { IMPORTS = sizeof imports / sizeof *imports };

typedef ZyanStatus init_function(ZydisDecoder *, ZydisMachineMode, ZydisStackWidth);
typedef ZyanStatus decode_function(const ZydisDecoder *, const void *, ZyanUSize,
                                   ZydisDecodedInstruction *, ZydisDecodedOperand *);

static bool load(struct late_library *library, const char *path, const struct late_import *list,
                 size_t count)
{
    return late_library_map(library, path) && late_library_link(library, list, count);
}

static void decodes_the_same(void **state)
{
    (void)state;
    struct late_library library;
    ZydisDecoder ours, theirs;
    ZydisDecodedInstruction our_instruction, their_instruction;
    ZydisDecodedOperand our_operands[ZYDIS_MAX_OPERAND_COUNT],
        their_operands[ZYDIS_MAX_OPERAND_COUNT];
    uint64_t random = 88172645463325252u;
    unsigned decoded = 0;
    assert_true(load(&library, REUSE_ZYDIS_PATH, imports, IMPORTS));
    /* As in a child that was forked before its parent had noted that it is done. */
    assert_true(late_library_link(&library, imports, IMPORTS));
    init_function *init = (init_function *)late_library_function(&library, "ZydisDecoderInit");
    decode_function *decode =
        (decode_function *)late_library_function(&library, "ZydisDecoderDecodeFull");
    assert_non_null(init);
    assert_non_null(decode);
    assert_ptr_not_equal(decode, ZydisDecoderDecodeFull);
    assert_true(ZYAN_SUCCESS(init(&ours, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)));
    assert_true(
        ZYAN_SUCCESS(ZydisDecoderInit(&theirs, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)));
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t code[2];
        for (unsigned k = 0; k < 2; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            code[k] = random;
        }
        const ZyanStatus our_status =
            decode(&ours, code, sizeof code, &our_instruction, our_operands);
        const ZyanStatus their_status =
            ZydisDecoderDecodeFull(&theirs, code, sizeof code, &their_instruction, their_operands);
        assert_int_equal(our_status, their_status);
        if (!ZYAN_SUCCESS(our_status))
            continue;
        decoded++;
        assert_int_equal(our_instruction.mnemonic, their_instruction.mnemonic);
        assert_int_equal(our_instruction.length, their_instruction.length);
        assert_int_equal(our_instruction.operand_count, their_instruction.operand_count);
        assert_int_equal(our_instruction.attributes, their_instruction.attributes);
        for (unsigned k = 0; k < our_instruction.operand_count; k++) {
            assert_int_equal(our_operands[k].type, their_operands[k].type);
            assert_int_equal(our_operands[k].size, their_operands[k].size);
            assert_int_equal(our_operands[k].actions, their_operands[k].actions);
        }
    }
    assert_in_range(decoded, 40000, 100000);
    assert_null(late_library_function(&library, "memcpy"));
    assert_null(late_library_function(&library, "ZydisDecoder"));
}

/* A copy of the decoder's file, cut off there. */
static void write_cut(const char *path, size_t bytes)
{
    char buffer[4096];
    FILE *from = fopen(REUSE_ZYDIS_PATH, "r"), *to = fopen(path, "w");
    size_t n;
    assert_non_null(from);
    assert_non_null(to);
    while (bytes > 0 && (n = fread(buffer, 1, sizeof buffer, from)) > 0) {
        n = n < bytes ? n : bytes;
        assert_int_equal(fwrite(buffer, 1, n, to), n);
        bytes -= n;
    }
    fclose(from);
    fclose(to);
}

static void refuses_others(void **state)
{
    (void)state;
    struct late_library library;
    char path[] = "/tmp/late_library.XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    const size_t cuts[] = {0, 10, 63, 64, 100, 500};
    for (unsigned i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        write_cut(path, cuts[i]);
        assert_false(load(&library, path, imports, IMPORTS));
    }
    unlink(path);
    assert_false(load(&library, path, imports, IMPORTS));
    assert_false(load(&library, "/proc/self/status", imports, IMPORTS));
    /* What it calls is not there. */
    assert_false(load(&library, REUSE_ZYDIS_PATH, imports, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_the_same),
        cmocka_unit_test(refuses_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
