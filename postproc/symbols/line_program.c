/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/line_program.h"

#include <dwarf.h>
#include <string.h>

struct cursor {
    const unsigned char *at, *end;
    bool good; /* false once something was read beyond the end */
};

static uint64_t fixed(struct cursor *cursor, size_t bytes)
{
    uint64_t value = 0;

    if ((size_t)(cursor->end - cursor->at) < bytes) {
        cursor->good = false;
        cursor->at = cursor->end;
        return 0;
    }
    memcpy(&value, cursor->at, bytes < sizeof(value) ? bytes : sizeof(value));
    cursor->at += bytes;
    return value;
}

static uint64_t unsigned_leb(struct cursor *cursor)
{
    uint64_t value = 0;

    for (unsigned shift = 0; cursor->good; shift += 7) {
        uint64_t byte = fixed(cursor, 1);

        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            break;
    }
    return value;
}

static int64_t signed_leb(struct cursor *cursor)
{
    uint64_t value = 0, byte = 0;
    unsigned shift = 0;

    do {
        byte = fixed(cursor, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while (cursor->good && (byte & 0x80) != 0);
    if (shift < 64 && (byte & 0x40) != 0)
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

static int sign_extended(uint64_t byte)
{
    return byte < 128 ? (int)byte : (int)byte - 256;
}

struct program {
    unsigned minimum_length, maximum_operations;
    int line_base;
    unsigned line_range, opcode_base;
    unsigned char lengths[256]; /* operands of standard opcodes */
};

/* Reads the header and leaves the cursor on the program, whose end it then has. */
static bool read_header(struct cursor *cursor, struct program *program)
{
    uint64_t length = fixed(cursor, 4), header_length;
    size_t offset_size = 4;
    unsigned version;

    if (length == 0xffffffff) {
        length = fixed(cursor, 8);
        offset_size = 8;
    }
    if (length > (size_t)(cursor->end - cursor->at))
        return false;
    cursor->end = cursor->at + length;
    version = (unsigned)fixed(cursor, 2);
    if (version < 2 || version > 5)
        return false;
    if (version >= 5)
        fixed(cursor, 2); /* sizes of an address and a segment selector */
    header_length = fixed(cursor, offset_size);
    if (!cursor->good || header_length > (size_t)(cursor->end - cursor->at))
        return false;
    struct cursor header = {cursor->at, cursor->at + header_length, true};
    cursor->at += header_length;
    program->minimum_length = (unsigned)fixed(&header, 1);
    program->maximum_operations = version >= 4 ? (unsigned)fixed(&header, 1) : 1;
    fixed(&header, 1); /* whether rows are statements by default */
    program->line_base = sign_extended(fixed(&header, 1));
    program->line_range = (unsigned)fixed(&header, 1);
    program->opcode_base = (unsigned)fixed(&header, 1);
    for (unsigned i = 1; i < program->opcode_base; i++)
        program->lengths[i] = (unsigned char)fixed(&header, 1);
    return header.good && program->line_range != 0 && program->maximum_operations != 0;
}

struct machine {
    const struct program *program;
    struct line_row row;
    unsigned operation; /* within an instruction of a VLIW machine */
    line_row_visitor visit;
    void *context;
};

static void start_sequence(struct machine *machine)
{
    machine->row = (struct line_row){.file = 1, .line = 1};
    machine->operation = 0;
}

static void advance(struct machine *machine, uint64_t operations)
{
    uint64_t sum = machine->operation + operations;

    machine->row.address +=
        machine->program->minimum_length * (sum / machine->program->maximum_operations);
    machine->operation = (unsigned)(sum % machine->program->maximum_operations);
}

static void emit(struct machine *machine)
{
    machine->visit(machine->context, &machine->row);
}

static bool run_extended(struct machine *machine, struct cursor *cursor)
{
    uint64_t length = unsigned_leb(cursor);
    struct cursor operands;

    if (!cursor->good || length == 0 || length > (size_t)(cursor->end - cursor->at))
        return false;
    operands = (struct cursor){cursor->at, cursor->at + length, true};
    cursor->at += length;
    switch (fixed(&operands, 1)) {
    case DW_LNE_end_sequence:
        machine->row.end_sequence = true;
        emit(machine);
        start_sequence(machine);
        break;
    case DW_LNE_set_address:
        machine->row.address = fixed(&operands, length - 1 < 8 ? (size_t)length - 1 : 8);
        machine->operation = 0;
        break;
    default:
        break; /* names of files, discriminators, extensions of vendors */
    }
    return operands.good;
}

static void run_standard(struct machine *machine, struct cursor *cursor, unsigned opcode)
{
    switch (opcode) {
    case DW_LNS_copy:
        emit(machine);
        break;
    case DW_LNS_advance_pc:
        advance(machine, unsigned_leb(cursor));
        break;
    case DW_LNS_advance_line:
        machine->row.line += (uint32_t)signed_leb(cursor);
        break;
    case DW_LNS_set_file:
        machine->row.file = (uint32_t)unsigned_leb(cursor);
        break;
    case DW_LNS_set_column:
        machine->row.column = (uint32_t)unsigned_leb(cursor);
        break;
    case DW_LNS_const_add_pc:
        advance(machine, (255 - machine->program->opcode_base) / machine->program->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        machine->row.address += fixed(cursor, 2);
        machine->operation = 0;
        break;
    default:
        for (unsigned i = 0; i < machine->program->lengths[opcode]; i++)
            unsigned_leb(cursor);
        break;
    }
}

bool line_program_run(const unsigned char *section, size_t size, uint64_t offset,
                      line_row_visitor visit, void *context)
{
    struct program program = {0};
    struct machine machine = {.program = &program, .visit = visit, .context = context};
    struct cursor cursor = {section, section + size, true};

    if (offset >= size)
        return false;
    cursor.at += offset;
    if (!read_header(&cursor, &program))
        return false;
    start_sequence(&machine);
    while (cursor.good && cursor.at < cursor.end) {
        unsigned opcode = (unsigned)fixed(&cursor, 1);

        if (opcode >= program.opcode_base) {
            unsigned adjusted = opcode - program.opcode_base;

            advance(&machine, adjusted / program.line_range);
            machine.row.line +=
                (uint32_t)(program.line_base + (int)(adjusted % program.line_range));
            emit(&machine);
        } else if (opcode != 0) {
            run_standard(&machine, &cursor, opcode);
        } else if (!run_extended(&machine, &cursor)) {
            return false;
        }
    }
    return cursor.good;
}
