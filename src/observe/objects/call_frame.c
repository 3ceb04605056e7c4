/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the call frame instructions of a description up to the wanted address: what they leave is
 * the rule. Signal-safe.
 */
#include "objects/call_frame.h"

#include <stddef.h>
#include <string.h>

#include "objects/call_frame_description.h"
#include "objects/call_frame_expression.h"

#include "signal_safe.h"

/* What is known of the frame at one point of its function. */
struct row {
    struct frame_value cfa;
    struct frame_saved return_address;
    struct frame_saved frame_pointer;
};

/* A register whose history is kept, or NULL. */
static struct frame_saved *tracked(struct row *row, uint64_t reg)
{
    return reg == CALL_FRAME_RETURN_ADDRESS  ? &row->return_address
           : reg == CALL_FRAME_FRAME_POINTER ? &row->frame_pointer
                                             : NULL;
}

static void save(struct row *row, uint64_t reg, enum call_frame_place place, int64_t offset)
{
    struct frame_saved *saved = tracked(row, reg);
    if (saved != NULL)
        *saved = (struct frame_saved){.place = place, .offset = offset};
}

/* A register saved where an expression says. */
static void save_at_expression(struct row *row, uint64_t reg, struct frame_reader *reader,
                               uint64_t ip)
{
    const uint64_t length = frame_read_uleb128(reader);
    struct frame_reader expression = {.at = reader->at, .end = reader->at + length};
    reader->at += length;
    struct frame_saved *saved = tracked(row, reg);
    if (saved == NULL)
        return;
    const struct frame_value value = frame_evaluate(&expression, ip);
    saved->place = PLACE_UNKNOWN;
    saved->offset = value.offset;
    if (value.kind == FRAME_VALUE_REGISTER && value.reg == CALL_FRAME_STACK_POINTER)
        saved->place = PLACE_AT_STACK;
    if (value.kind == FRAME_VALUE_REGISTER && value.reg == CALL_FRAME_FRAME_POINTER)
        saved->place = PLACE_AT_FRAME;
}

static void skip_expression(struct frame_reader *reader)
{
    const uint64_t length = frame_read_uleb128(reader);
    reader->at += length;
}

/* Call frame instructions (DWARF 4, section 7.23). The first three carry an operand in the low
 * bits. */
enum {
    CFA_ADVANCE_LOC = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_NEGATE_RETURN_ADDRESS_STATE = 0x2d, /* aarch64; signatures are stripped wherever they are */
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum { REMEMBERED_MAX = 8 };

struct machine {
    struct row row;
    struct row initial; /* after the CIE's instructions, for restore */
    struct row remembered[REMEMBERED_MAX];
    unsigned remembered_count;
    uint64_t location;
};

static void restore(struct machine *machine, uint64_t reg)
{
    struct frame_saved *saved = tracked(&machine->row, reg);
    if (saved != NULL)
        *saved = *tracked(&machine->initial, reg);
}

static void define_cfa(struct machine *machine, uint64_t reg, int64_t offset)
{
    machine->row.cfa =
        (struct frame_value){.kind = FRAME_VALUE_REGISTER, .reg = reg, .offset = offset};
}

/* Runs instructions until they end or reach an address beyond ip. False on what is unknown. */
static bool run(struct machine *machine, struct frame_reader program,
                const struct frame_description *description, uint64_t ip)
{
    struct frame_reader *reader = &program;
    struct row *row = &machine->row;
    const int64_t factor = description->data_alignment;
    while (reader->at < reader->end && !reader->failed) {
        const uint8_t opcode = frame_read_byte(reader);
        const uint64_t low_bits = opcode & 0x3f;
        uint64_t advance = 0, reg;
        switch ((opcode & 0xc0) != 0 ? opcode & 0xc0 : opcode) {
        case CFA_ADVANCE_LOC:
            advance = low_bits;
            break;
        case CFA_OFFSET:
            save(row, low_bits, PLACE_AT_CFA, (int64_t)frame_read_uleb128(reader) * factor);
            break;
        case CFA_RESTORE:
            restore(machine, low_bits);
            break;
        case CFA_NOP:
        case CFA_NEGATE_RETURN_ADDRESS_STATE:
            break;
        case CFA_SET_LOC:
            return false; /* no compiler for our machines emits it */
        case CFA_ADVANCE_LOC1:
            advance = frame_read_byte(reader);
            break;
        case CFA_ADVANCE_LOC2:
            advance = frame_read_unsigned(reader, 2);
            break;
        case CFA_ADVANCE_LOC4:
            advance = frame_read_unsigned(reader, 4);
            break;
        case CFA_OFFSET_EXTENDED:
            reg = frame_read_uleb128(reader);
            save(row, reg, PLACE_AT_CFA, (int64_t)frame_read_uleb128(reader) * factor);
            break;
        case CFA_OFFSET_EXTENDED_SF:
            reg = frame_read_uleb128(reader);
            save(row, reg, PLACE_AT_CFA, frame_read_sleb128(reader) * factor);
            break;
        case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
            reg = frame_read_uleb128(reader);
            save(row, reg, PLACE_AT_CFA, -(int64_t)frame_read_uleb128(reader) * factor);
            break;
        case CFA_RESTORE_EXTENDED:
            restore(machine, frame_read_uleb128(reader));
            break;
        case CFA_UNDEFINED:
            save(row, frame_read_uleb128(reader), PLACE_UNDEFINED, 0);
            break;
        case CFA_SAME_VALUE:
            save(row, frame_read_uleb128(reader), PLACE_SAME, 0);
            break;
        case CFA_REGISTER:
        case CFA_VAL_OFFSET:
            save(row, frame_read_uleb128(reader), PLACE_UNKNOWN, 0);
            frame_read_uleb128(reader);
            break;
        case CFA_VAL_OFFSET_SF:
            save(row, frame_read_uleb128(reader), PLACE_UNKNOWN, 0);
            frame_read_sleb128(reader);
            break;
        case CFA_VAL_EXPRESSION:
            save(row, frame_read_uleb128(reader), PLACE_UNKNOWN, 0);
            skip_expression(reader);
            break;
        case CFA_EXPRESSION:
            save_at_expression(row, frame_read_uleb128(reader), reader, ip);
            break;
        case CFA_REMEMBER_STATE:
            if (machine->remembered_count == REMEMBERED_MAX)
                return false;
            machine->remembered[machine->remembered_count++] = *row;
            break;
        case CFA_RESTORE_STATE:
            if (machine->remembered_count == 0)
                return false;
            *row = machine->remembered[--machine->remembered_count];
            break;
        case CFA_DEF_CFA:
            reg = frame_read_uleb128(reader);
            define_cfa(machine, reg, (int64_t)frame_read_uleb128(reader));
            break;
        case CFA_DEF_CFA_SF:
            reg = frame_read_uleb128(reader);
            define_cfa(machine, reg, frame_read_sleb128(reader) * factor);
            break;
        case CFA_DEF_CFA_REGISTER:
            row->cfa.reg = frame_read_uleb128(reader);
            break;
        case CFA_DEF_CFA_OFFSET:
            row->cfa.offset = (int64_t)frame_read_uleb128(reader);
            break;
        case CFA_DEF_CFA_OFFSET_SF:
            row->cfa.offset = frame_read_sleb128(reader) * factor;
            break;
        case CFA_DEF_CFA_EXPRESSION: {
            const uint64_t length = frame_read_uleb128(reader);
            struct frame_reader expression = {.at = reader->at, .end = reader->at + length};
            reader->at += length;
            row->cfa = frame_evaluate(&expression, ip);
            break;
        }
        case CFA_GNU_ARGS_SIZE:
            frame_read_uleb128(reader);
            break;
        default:
            return false;
        }
        machine->location += advance * description->code_alignment;
        if (machine->location > ip)
            break;
    }
    return !reader->failed;
}

/* Puts the row into the rule's narrow fields. */
static bool make_rule(const struct row *row, bool is_signal, struct call_frame_rule *rule)
{
    const struct frame_value *cfa = &row->cfa;
    memset(rule, 0, sizeof *rule);
    rule->flags = is_signal ? CALL_FRAME_SIGNAL : 0;
    if (cfa->kind == FRAME_VALUE_DEREFERENCE)
        rule->flags |= CALL_FRAME_DEREFERENCE;
    else if (cfa->kind != FRAME_VALUE_REGISTER)
        return false;
    if (cfa->reg != CALL_FRAME_STACK_POINTER && cfa->reg != CALL_FRAME_FRAME_POINTER)
        return false;
    rule->cfa_register = (uint8_t)cfa->reg;
    rule->cfa_offset = (int32_t)cfa->offset;
    rule->cfa_addend = (int16_t)cfa->addend;
    rule->return_address = row->return_address.place;
    rule->return_address_offset = (int16_t)row->return_address.offset;
    rule->frame_pointer = row->frame_pointer.place;
    rule->frame_pointer_offset = (int32_t)row->frame_pointer.offset;
    if (!is_signal && cfa->kind == FRAME_VALUE_REGISTER && cfa->offset > 0 &&
        cfa->reg == CALL_FRAME_STACK_POINTER && rule->return_address == PLACE_AT_CFA &&
        (rule->frame_pointer == PLACE_AT_CFA || rule->frame_pointer == PLACE_SAME))
        rule->flags |= CALL_FRAME_PLAIN;
    return rule->return_address != PLACE_UNKNOWN && rule->cfa_offset == cfa->offset &&
           rule->cfa_addend == cfa->addend &&
           rule->return_address_offset == row->return_address.offset &&
           rule->frame_pointer_offset == row->frame_pointer.offset;
}

bool call_frame_find(const void *eh_frame_header, uint64_t ip, struct call_frame_rule *rule)
{
    struct frame_description description;
    if (!frame_description_find(eh_frame_header, ip, &description))
        return false;
    struct machine machine;
    memset(&machine.row, 0, sizeof machine.row);
    machine.remembered_count = 0;
    machine.location = 0;
    if (!run(&machine, description.initial, &description, UINT64_MAX))
        return false;
    machine.initial = machine.row;
    machine.location = description.start;
    return run(&machine, description.program, &description, ip) &&
           make_rule(&machine.row, description.is_signal, rule);
}
