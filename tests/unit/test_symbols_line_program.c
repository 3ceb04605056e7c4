/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Line number programs written by hand from the DWARF standard (version 5, 6.2), and every way of
 * cutting and damaging them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dwarf.h>

#include "symbols/line_program.h"

enum { LINE_BASE = -3, LINE_RANGE = 12, OPCODE_BASE = 13 };

/* Header of a version 4 or 5 unit, up to the program; lengths are patched at the end. */
static size_t put_header(unsigned char *out, unsigned version)
{
    static const unsigned char operands[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    size_t at = 4, header_length;

    out[at++] = (unsigned char)version;
    out[at++] = 0;
    if (version >= 5) {
        out[at++] = 8; /* address size */
        out[at++] = 0;
    }
    header_length = at;
    at += 4;
    out[at++] = 1; /* minimum instruction length */
    if (version >= 4)
        out[at++] = 1; /* maximum operations */
    out[at++] = 1;
    out[at++] = (unsigned char)LINE_BASE;
    out[at++] = LINE_RANGE;
    out[at++] = OPCODE_BASE;
    memcpy(out + at, operands, sizeof(operands));
    at += sizeof(operands);
    at += 5; /* stands for tables of names, which are skipped by the header's length */
    uint32_t length = (uint32_t)(at - header_length - 4);
    memcpy(out + header_length, &length, 4);
    return at;
}

static const unsigned char program[] = {
    0,
    9,
    DW_LNE_set_address,
    0x00,
    0x10,
    0,
    0,
    0,
    0,
    0,
    0,
    DW_LNS_advance_line,
    9,           /* line 10 */
    DW_LNS_copy, /* 0x1000, file 1, line 10 */
    DW_LNS_set_file,
    2,
    DW_LNS_set_column,
    0x85,
    0x01,                                           /* column 133 */
    OPCODE_BASE + 4 * LINE_RANGE + (2 - LINE_BASE), /* +4 bytes, +2 lines: 0x1004, line 12 */
    DW_LNS_advance_pc,
    0x80,
    0x01, /* +128 */
    DW_LNS_advance_line,
    0x7b, /* -5 */
    DW_LNS_negate_stmt,
    DW_LNS_set_prologue_end,
    DW_LNS_copy,         /* 0x1084, line 7 */
    DW_LNS_const_add_pc, /* + (255 - 13) / 12 = 20 */
    DW_LNS_fixed_advance_pc,
    0x02,
    0x01, /* + 0x102 */
    DW_LNS_set_isa,
    3,
    0,
    2,
    DW_LNE_set_discriminator,
    7,
    0,
    1,
    DW_LNE_end_sequence, /* 0x1084 + 20 + 0x102 */
    DW_LNS_copy,         /* a new sequence starts over: 0, file 1, line 1 */
};

struct seen {
    struct line_row rows[64];
    size_t count;
};

static void remember(void *context, const struct line_row *row)
{
    struct seen *seen = context;

    if (seen->count < 64)
        seen->rows[seen->count++] = *row;
}

static size_t build(unsigned char *out, unsigned version)
{
    size_t at = put_header(out, version);
    uint32_t length;

    memcpy(out + at, program, sizeof(program));
    at += sizeof(program);
    length = (uint32_t)(at - 4);
    memcpy(out, &length, 4);
    return at;
}

static void expect(const struct line_row *row, uint64_t address, uint32_t file, uint32_t line,
                   uint32_t column, bool end)
{
    assert_int_equal(row->address, address);
    assert_int_equal(row->file, file);
    assert_int_equal(row->line, line);
    assert_int_equal(row->column, column);
    assert_int_equal(row->end_sequence, end);
}

static void test_every_opcode(void **state)
{
    (void)state;
    for (unsigned version = 4; version <= 5; version++) {
        unsigned char section[512] = {0};
        size_t size = build(section + 16, version);
        struct seen seen = {.count = 0};

        assert_true(line_program_run(section, 16 + size, 16, remember, &seen));
        assert_int_equal(seen.count, 5);
        expect(&seen.rows[0], 0x1000, 1, 10, 0, false);
        expect(&seen.rows[1], 0x1004, 2, 12, 133, false);
        expect(&seen.rows[2], 0x1084, 2, 7, 133, false);
        expect(&seen.rows[3], 0x1084 + 20 + 0x102, 2, 7, 133, true);
        expect(&seen.rows[4], 0, 1, 1, 0, false);
    }
}

static void test_what_is_cut_is_refused(void **state)
{
    unsigned char section[512] = {0};
    size_t size = build(section, 5);

    (void)state;
    for (size_t cut = 0; cut < size; cut++) {
        unsigned char *copy = malloc(cut + 1); /* exact size: readers beyond it are seen */
        struct seen seen = {.count = 0};

        memcpy(copy, section, cut);
        assert_false(line_program_run(copy, cut, 0, remember, &seen));
        free(copy);
    }
    assert_false(line_program_run(section, size, size, remember, NULL));
    assert_false(line_program_run(section, size, UINT64_MAX, remember, NULL));
}

static void test_any_damage_is_survived(void **state)
{
    unsigned char section[512] = {0};
    size_t size = build(section, 5);

    (void)state;
    for (size_t i = 0; i < size; i++) {
        for (unsigned value = 0; value < 256; value += 5) {
            unsigned char *copy = malloc(size);
            struct seen seen = {.count = 0};

            memcpy(copy, section, size);
            copy[i] = (unsigned char)value;
            line_program_run(copy, size, 0, remember, &seen);
            free(copy);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_opcode),
        cmocka_unit_test(test_what_is_cut_is_refused),
        cmocka_unit_test(test_any_damage_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
