/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How to get from one stack frame to its caller's: the rule for one code address, read from the
 * call frame information (.eh_frame) that every loaded object carries for exceptions.
 * Format: DWARF 4, section 6.4; Linux Standard Base Core 5.0, sections 10.6 (.eh_frame,
 * .eh_frame_hdr).
 *
 * Only what a calling context needs is kept: the canonical frame address (CFA: the stack pointer
 * before the call), the return address and the frame pointer. So a rule has 16 bytes and can be
 * cached. Expressions are evaluated symbolically; what does not fit the rule (a CFA from another
 * computed value) yields no rule rather than a guess.
 *
 * Why not a library at run time: see runtime/unwinding/unwind.h.
 */
#ifndef REUSE_OBJECTS_CALL_FRAME_H
#define REUSE_OBJECTS_CALL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/* DWARF register numbers of the machine that we run on. */
#if defined(__x86_64__)
enum {
    CALL_FRAME_FRAME_POINTER = 6,
    CALL_FRAME_STACK_POINTER = 7,
    CALL_FRAME_RETURN_ADDRESS = 16, /* as a register in an expression: the instruction pointer */
};
#elif defined(__aarch64__)
enum {
    CALL_FRAME_FRAME_POINTER = 29,
    CALL_FRAME_STACK_POINTER = 31,
    CALL_FRAME_RETURN_ADDRESS = 30,
};
#else
#error "unwinding is implemented for x86_64 and aarch64"
#endif

/* Where the caller's value of a register is. */
enum call_frame_place {
    PLACE_SAME = 0,  /* still in the register */
    PLACE_AT_CFA,    /* in memory at CFA + offset */
    PLACE_AT_STACK,  /* in memory at this frame's stack pointer + offset */
    PLACE_AT_FRAME,  /* in memory at this frame's frame pointer + offset */
    PLACE_UNDEFINED, /* lost; of the return address: this is the outermost frame */
    PLACE_UNKNOWN,   /* not expressible here */
};

enum call_frame_flags {
    CALL_FRAME_SIGNAL = 1, /* a signal trampoline: the caller was interrupted, it did not call */
    CALL_FRAME_DEREFERENCE = 2, /* CFA = *(register + offset) + addend, else register + offset */
    /* An ordinary frame by far most often: CFA = stack pointer + offset, more than 0, the return
     * address at CFA + offset and the frame pointer there or untouched. */
    CALL_FRAME_PLAIN = 4,
};

struct call_frame_rule {
    int32_t cfa_offset;
    int32_t frame_pointer_offset;
    int16_t return_address_offset;
    int16_t cfa_addend;
    uint8_t cfa_register;   /* DWARF number */
    uint8_t return_address; /* enum call_frame_place */
    uint8_t frame_pointer;  /* enum call_frame_place */
    uint8_t flags;          /* enum call_frame_flags */
};

/*
 * Finds the rule for the instruction at ip. eh_frame_header: the loaded PT_GNU_EH_FRAME segment of
 * the object that contains ip. False when the object does not describe ip, or describes it in a way
 * that a rule cannot hold. Signal-safe; reads the object's memory, which must stay mapped
 * meanwhile.
 */
bool call_frame_find(const void *eh_frame_header, uint64_t ip, struct call_frame_rule *rule);

#endif
