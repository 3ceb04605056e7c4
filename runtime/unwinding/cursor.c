/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. To the caller of any frame: by a rule, over a signal, by the frame pointer. */
#include "unwinding/cursor.h"

#include "arch/arch.h"
#include "isa/guarded_memory.h"
#include "unwinding/frame_rules.h"
#include "unwinding/unwind.h"

#include "signal_safe.h"

enum { UPWARD_PROBES = 16384 /* frames of more than 64 MiB end the walk */ };

static void cannot_be_remembered(struct cursor *cursor)
{
    if (cursor->walk != NULL)
        cursor->walk->is_complete = false;
}

UNWIND_READS_FRAMES bool cursor_read_word(struct cursor *cursor, uint64_t address, uint64_t *value)
{
    if (address % 8 != 0 || address < cursor->stack.low)
        return false;
    for (unsigned probes = 0; address >= cursor->stack.high; probes++) {
        if (probes == UPWARD_PROBES || !unwind_is_readable(cursor->stack.high))
            return false;
        cursor->stack.high += PAGE_BYTES;
    }
    if (guarded_load_64(address, value))
        return true;
    stack_range_forget(address);
    cursor->stack.high = address & -(uint64_t)PAGE_BYTES;
    return false;
}

bool cursor_use_frame_pointer(struct cursor *cursor)
{
    struct walk *walk = cursor->walk;
    if (!cursor->frame_pointer_known) {
        cannot_be_remembered(cursor);
        return false;
    }
    if (walk == NULL)
        return true;
    if (cursor->frame_pointer_word != IN_REGISTER)
        walk->word[cursor->frame_pointer_word].is_relied_on = true;
    for (unsigned i = cursor->frame_pointer_since; i <= cursor->frame; i++) {
        walk->frame[i].needs_frame_pointer = true;
        walk->frame[i].frame_pointer = cursor->frame_pointer;
    }
    return true;
}

/* Address of a saved register; false when it is not in memory. */
static bool saved_address(struct cursor *cursor, uint8_t place, int64_t offset, uint64_t cfa,
                          uint64_t *address)
{
    switch (place) {
    case PLACE_AT_CFA:
        *address = cfa + (uint64_t)offset;
        return true;
    case PLACE_AT_STACK:
        *address = cursor->stack_pointer + (uint64_t)offset;
        return true;
    case PLACE_AT_FRAME:
        *address = cursor->frame_pointer + (uint64_t)offset;
        return cursor_use_frame_pointer(cursor);
    default:
        return false;
    }
}

/* A place that an interrupt, a register or the stack tells need not be code at all. */
static bool code_is_readable(uint64_t ip, uint64_t bytes)
{
    return unwind_is_readable(ip & -8ull) && unwind_is_readable((ip + bytes - 1) & -8ull);
}

/* The walk goes on below the frame of a signal, which may have been taken on another stack. */
static void leave_signal_frame(struct cursor *cursor, uint64_t stack_pointer)
{
    cannot_be_remembered(cursor);
    cursor->is_call = false;
    cursor->stack_pointer = stack_pointer;
    if (stack_pointer >= cursor->stack.low && stack_pointer < cursor->stack.high)
        return;
    stack_range_remember(&cursor->stack);
    cursor->stack = stack_range_around(stack_pointer);
}

/* The kernel's code that ends a handler, where nothing but its instructions tells what it is: what
 * was interrupted has all its registers in the frame. */
static bool is_undescribed_signal_frame(const struct cursor *cursor, struct arch_saved *saved)
{
    return ARCH_SIGNAL_FRAMES_UNDESCRIBED &&
           code_is_readable(cursor->ip - ARCH_SIGNAL_RETURN_BYTES / 2,
                            ARCH_SIGNAL_RETURN_BYTES * 3 / 2) &&
           arch_signal_frame(cursor->ip, cursor->stack_pointer, saved);
}

static enum step step_over_signal_frame(struct cursor *cursor, const struct arch_saved *saved)
{
    uint64_t ip, stack_pointer, frame_pointer, link;

    if (!cursor_read_word(cursor, saved->ip, &ip) ||
        !cursor_read_word(cursor, saved->stack_pointer, &stack_pointer) ||
        !cursor_read_word(cursor, saved->frame_pointer, &frame_pointer) ||
        !cursor_read_word(cursor, saved->link, &link))
        return STEP_LOST;
    if (ip == 0)
        return STEP_OUTERMOST;
    cursor->ip = ip;
    cursor->frame_pointer = frame_pointer;
    cursor->frame_pointer_known = true;
    cursor->link = link;
    cursor->link_known = true;
    leave_signal_frame(cursor, stack_pointer);
    return STEP_DONE;
}

/* To the caller along the chain of frame pointers, where code says nothing of its frames (generated
 * code). If the frame pointer still is the caller's, the caller is passed over. A linkage stub has
 * no frame: its caller is where the link register says. */
static enum step step_by_frame_pointer(struct cursor *cursor)
{
    const uint64_t frame = cursor->frame_pointer;
    uint64_t caller_frame, return_address;

    if (!cursor->is_call && cursor->link_known && cursor->link != 0 &&
        code_is_readable(cursor->ip, ARCH_LINKAGE_STUB_BYTES) && arch_is_linkage_stub(cursor->ip)) {
        cursor->ip = arch_strip_signature(cursor->link);
        cursor->is_call = true;
        cursor->link_known = false;
        return STEP_DONE;
    }
    if (!cursor_use_frame_pointer(cursor) || frame < cursor->stack_pointer ||
        !cursor_read_word(cursor, frame, &caller_frame) ||
        !cursor_read_word(cursor, frame + 8, &return_address))
        return STEP_LOST;
    cursor_rely_on(cursor, frame + 8, return_address);
    return_address = arch_strip_signature(return_address);
    if (return_address < PAGE_BYTES || return_address >> 48 != 0)
        return STEP_LOST;
    cursor->ip = return_address;
    cursor->is_call = true;
    cursor->link_known = false;
    cursor->stack_pointer = frame + 16;
    cursor_take_frame_pointer(cursor, frame, caller_frame);
    return STEP_DONE;
}

enum step cursor_step(struct cursor *cursor)
{
    struct call_frame_rule rule;
    struct arch_saved saved;
    /* A call may be the last instruction of its function: the return address lies beyond. */
    const bool described = frame_rule_find(cursor->is_call ? cursor->ip - 1 : cursor->ip, &rule);
    if ((!described || (rule.flags & CALL_FRAME_SIGNAL) != 0) &&
        is_undescribed_signal_frame(cursor, &saved))
        return step_over_signal_frame(cursor, &saved);
    if (!described)
        return step_by_frame_pointer(cursor);
    if (rule.return_address == PLACE_UNDEFINED)
        return STEP_OUTERMOST;
    const bool by_stack = rule.cfa_register == CALL_FRAME_STACK_POINTER;
    if (!by_stack && !cursor_use_frame_pointer(cursor))
        return STEP_LOST;
    uint64_t cfa = (by_stack ? cursor->stack_pointer : cursor->frame_pointer) +
                   (uint64_t)(int64_t)rule.cfa_offset;
    if ((rule.flags & CALL_FRAME_DEREFERENCE) != 0) {
        const uint64_t place = cfa;
        if (!cursor_read_word(cursor, place, &cfa))
            return STEP_LOST;
        cursor_rely_on(cursor, place, cfa);
        cfa += (uint64_t)(int64_t)rule.cfa_addend;
    }

    uint64_t address, return_address;
    if (saved_address(cursor, rule.return_address, rule.return_address_offset, cfa, &address)) {
        if (!cursor_read_word(cursor, address, &return_address))
            return STEP_LOST;
        cursor_rely_on(cursor, address, return_address);
    } else if (rule.return_address == PLACE_SAME && cursor->link_known) {
        return_address = cursor->link;
    } else {
        return STEP_LOST;
    }
    return_address = arch_strip_signature(return_address);
    if (return_address == 0)
        return STEP_OUTERMOST;

    uint64_t frame_pointer;
    if (saved_address(cursor, rule.frame_pointer, rule.frame_pointer_offset, cfa, &address)) {
        if (!cursor_read_word(cursor, address, &frame_pointer))
            return STEP_LOST;
        cursor_take_frame_pointer(cursor, address, frame_pointer);
    } else if (rule.frame_pointer != PLACE_SAME) {
        cursor->frame_pointer_known = false;
    }

    cursor->link_known = false;
    cursor->ip = return_address;
    if ((rule.flags & CALL_FRAME_SIGNAL) != 0) {
        leave_signal_frame(cursor, cfa);
        return STEP_DONE;
    }
    /* Stacks grow down. Only a leaf function of aarch64 may have no frame at all. */
    if (cfa < cursor->stack_pointer ||
        (cfa == cursor->stack_pointer && rule.return_address != PLACE_SAME))
        return STEP_LOST;
    cursor->is_call = true;
    cursor->stack_pointer = cfa;
    return STEP_DONE;
}
